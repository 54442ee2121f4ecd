package platform

import (
	"encoding/json"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"bflow.dev/bflow/runplan"
)

// Release is what the objects of one run are made from.
type Release struct {
	Plan     *runplan.RunPlan
	Name     string                              // prefix of the names of all objects
	Runtime  Runtime                             // settings of the pods
	Meta     func(name string) metav1.ObjectMeta // of an object: labels, namespace and owner of the release
	Selector map[string]string                   // by which objects find the model pods
	Pod      corev1.PodTemplateSpec              // of a model server, as its engine runs
	Beside   corev1.PodTemplateSpec              // of another program of the release, without its containers
}

// Names of ports that pods and Services have.
const (
	PortName        = "http"
	MetricsPortName = "metrics"
)

// RuntimeOf returns the settings of the pods of a plan.
func RuntimeOf(plan *runplan.RunPlan) (Runtime, error) {
	var r Runtime
	if len(plan.Deployment.Runtime) == 0 {
		return r, nil
	}
	if err := json.Unmarshal(plan.Deployment.Runtime, &r); err != nil {
		return r, fmt.Errorf("reading the pod settings of %q: %w", plan.Name, err)
	}
	return r, nil
}

// ReadOwn reads the block that a platform has of its own in a plan.
func ReadOwn(d *runplan.Deployment, platform string, into any) error {
	var all map[string]json.RawMessage
	err := readOptions(d, &all)
	if own := all[platform]; err == nil && own != nil {
		err = json.Unmarshal(own, into)
	}
	if err != nil {
		return fmt.Errorf("reading the fields of platform %s: %w", platform, err)
	}
	return nil
}

// readOptions reads the options of a plan, as far as into has them.
func readOptions(d *runplan.Deployment, into any) error {
	if len(d.Options) == 0 {
		return nil
	}
	if err := json.Unmarshal(d.Options, into); err != nil {
		return fmt.Errorf("reading the options of the platform: %w", err)
	}
	return nil
}

// DropOwn takes the block that a platform has of its own out of a plan, for its Identity.
func DropOwn(d *runplan.Deployment, platform string) {
	var all map[string]json.RawMessage
	if json.Unmarshal(d.Options, &all) != nil {
		return
	}
	delete(all, platform)
	d.Options = nil
	if len(all) > 0 {
		d.Options, _ = json.Marshal(all) // what was JSON is JSON again
	}
}

// Port is the port on which a model server listens in its pod.
func Port(d *runplan.Deployment) int {
	if d.Engine.Port == 0 {
		return 8000
	}
	return d.Engine.Port
}

// ServiceName is the name of the Service of a release. Such a name starts with a letter.
func ServiceName(release string) string {
	if release[0] >= '0' && release[0] <= '9' {
		return "s-" + release
	}
	return release
}

// Restricted is what a container may at most be at the level restricted of Pod Security: it may do nothing, and write
// only where a volume is.
func Restricted() *corev1.SecurityContext {
	return &corev1.SecurityContext{
		AllowPrivilegeEscalation: new(false), ReadOnlyRootFilesystem: new(true),
		Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
}
