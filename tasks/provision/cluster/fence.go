package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"bflow.dev/bflow/runplan/contract"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
)

// FenceHolds is how long what Fenced has found may be acted on: half as long as another hub waits before it uses a
// platform that it has taken over.
const FenceHolds = 30 * time.Second

// Fenced returns an error where the run must leave the shared platform of the target alone: another hub has taken it
// over, or a run with another setup was let start. fence is what the run was let start by, contract.AnnotationFence; a
// run with none shares nothing. It is asked before each change of the platform, and before what runs on it is made.
func (c *Cluster) Fenced(ctx context.Context, hub, fence string) error {
	if fence == "" {
		return nil
	}
	const path = "/apis/coordination.k8s.io/v1/namespaces/" + contract.NamespaceSystem + "/leases/" +
		contract.LeasePlatform
	answer := c.core.Get().AbsPath(path).SetHeader("Accept", runtime.ContentTypeJSON).Do(ctx)
	err := answer.Error()
	if apierrors.IsNotFound(err) {
		return fmt.Errorf(
			"looking at the lock of the target: it no longer exists, so another run may use the platform; run it again")
	}
	if err != nil {
		return fmt.Errorf("looking at the lock of the target: %w", err)
	}
	var lease struct {
		Metadata struct {
			Annotations map[string]string `json:"annotations"`
		} `json:"metadata"`
		Spec struct {
			Holder string `json:"holderIdentity"`
		} `json:"spec"`
	}
	text, err := answer.Raw()
	if err == nil {
		err = json.Unmarshal(text, &lease)
	}
	if err != nil {
		return fmt.Errorf("looking at the lock of the target: %w", err)
	}
	if now := lease.Metadata.Annotations[contract.AnnotationFence]; now != fence || hub != "" && lease.Spec.Holder != hub {
		return fmt.Errorf(
			"looking at the lock of the target: its fence moved from %s to %s (hub %q, setup %q), so this run must not use "+
				"the platform; run it again",
			fence, now, lease.Spec.Holder, lease.Metadata.Annotations[contract.AnnotationSetupKey])
	}
	return nil
}
