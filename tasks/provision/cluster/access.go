package cluster

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"bflow.dev/bflow/platform"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/tasks/step"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
)

// Cluster is a namespace of a cluster as provision uses it.
type Cluster struct {
	Namespace string
	Local     bool // it is the cluster that this process runs in

	Kinds []platform.Kind   // of the objects of the run, in the order of removal; nil for all that platforms make
	Part  map[string]string // labels of the nodes that are the target, nil for all
	Nodes map[string]string // on which tasks run there, nil for any

	// Redaction takes the secrets that the step knows out of what is kept; where Unknown, the step was not given all of
	// them, and what stands behind the name of one goes too.
	Redaction *step.Redaction
	Unknown   bool

	core, apps, batch *rest.RESTClient
}

// ErrNoAccess means that a plan names a remote target and nobody handed over the way to it.
var ErrNoAccess = errors.New(
	"there are no credentials for it; start the run through its queue, so that bflow-controller provides them")

// ErrOutside means that this process runs in no cluster.
var ErrOutside = rest.ErrNotInCluster

// Connect returns the target whose credentials lie in one of dirs: the first that has a kubeconfig. Without one it is
// the cluster of this process, as its service account, which only target contract.TargetLocal may be.
func Connect(dirs []string, target, namespace string, env func(string) string) (*Cluster, error) {
	for _, dir := range dirs {
		path := filepath.Join(dir, contract.KeyKubeconfig)
		if _, err := os.Stat(path); dir == "" || err != nil {
			continue
		}
		c, err := fromFolder(dir, namespace)
		if err != nil {
			return nil, fmt.Errorf("reading the credentials of target %q: %w", target, err)
		}
		return c, nil
	}
	if target != contract.TargetLocal && !inCluster(dirs) {
		return nil, fmt.Errorf("connecting to target %q: %w", target, ErrNoAccess)
	}
	return Here(namespace, env)
}

// inCluster says whether the controller marked the cluster of this process as the target.
func inCluster(dirs []string) bool {
	for _, dir := range dirs {
		if _, err := os.Stat(filepath.Join(dir, contract.KeyInCluster)); dir != "" && err == nil {
			return true
		}
	}
	return false
}

// Here returns the cluster that this process runs in, in the namespace of its pod, else in fallback.
func Here(fallback string, env func(string) string) (*Cluster, error) {
	cfg, err := rest.InClusterConfig()
	if err != nil {
		return nil, fmt.Errorf("connecting to the cluster of this pod: %w", err)
	}
	namespace := env(contract.EnvNamespace)
	if namespace == "" {
		namespace = fallback
	}
	c, err := New(cfg, namespace)
	if err == nil {
		c.Local = true
	}
	return c, err
}

// New returns namespace of the cluster that cfg leads to.
func New(cfg *rest.Config, namespace string) (*Cluster, error) {
	scheme := runtime.NewScheme()
	if err := errors.Join(corev1.AddToScheme(scheme), appsv1.AddToScheme(scheme),
		batchv1.AddToScheme(scheme)); err != nil {
		return nil, err
	}
	codecs := serializer.NewCodecFactory(scheme).WithoutConversion()
	client := func(path string, gv schema.GroupVersion) (*rest.RESTClient, error) {
		cfg := rest.CopyConfig(cfg)
		cfg.APIPath, cfg.GroupVersion, cfg.NegotiatedSerializer = path, &gv, codecs
		cfg.ContentType, cfg.QPS, cfg.Burst = runtime.ContentTypeJSON, 50, 100
		cfg.UserAgent, cfg.WarningHandler = "bflow-provision", rest.NoWarnings{}
		return rest.RESTClientFor(cfg)
	}
	core, err := client("/api", corev1.SchemeGroupVersion)
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	apps, err := client("/apis", appsv1.SchemeGroupVersion)
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	batch, err := client("/apis", batchv1.SchemeGroupVersion)
	if err != nil {
		return nil, fmt.Errorf("making a client: %w", err)
	}
	return &Cluster{Namespace: namespace, core: core, apps: apps, batch: batch}, nil
}

// openShift says whether the platform assigns users to pods. Every authenticated account may ask.
func (c *Cluster) openShift(ctx context.Context) bool {
	return c.core.Get().AbsPath("/apis/security.openshift.io/v1").Do(ctx).Error() == nil
}
