package detect

import (
	"context"
	"fmt"

	"bflow.dev/bflow/internal/kube"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Platform is what the cluster is.
type Platform struct {
	Kubernetes string `json:"kubernetes"`          // version as the server reports it
	OpenShift  string `json:"openshift,omitempty"` // its version, "unknown" if it is hidden, "" on other clusters
	Hub        string `json:"hub"`                 // UID of namespace kube-system
	// served since Kubernetes 1.30: the server itself enforces our rules for runs
	AdmissionPolicy bool `json:"admissionPolicy"`
}

// IsOpenShift reports whether the platform assigns users to pods.
func (p Platform) IsOpenShift() bool { return p.OpenShift != "" }

// Platform reads versions and the identity of the cluster.
func (c Cluster) Platform(ctx context.Context, api API) (Platform, error) {
	p := Platform{AdmissionPolicy: api.Serves("admissionregistration.k8s.io/v1", "validatingadmissionpolicies")}
	version, err := c.Client.Version(ctx)
	if err != nil {
		return p, fmt.Errorf("reading the version of the cluster: %w", err)
	}
	p.Kubernetes = version.GitVersion
	if len(api.Versions("security.openshift.io")) > 0 {
		p.OpenShift = c.openShift(ctx)
	}
	system, err := c.Get(ctx, kube.Core("namespaces", "", "kube-system"))
	if err != nil {
		return p, err
	}
	p.Hub = string(system.GetUID())
	return p, nil
}

// openShift returns the version of OpenShift. The object may be hidden from an account, or missing (MicroShift).
func (c Cluster) openShift(ctx context.Context) string {
	at := kube.In("config.openshift.io", "v1", "clusterversions")
	at.Name = "version"
	o, err := c.Get(ctx, at)
	if err != nil {
		return "unknown"
	}
	version, _, _ := unstructured.NestedString(o.Object, "status", "desired", "version")
	if version == "" {
		return "unknown"
	}
	return version
}
