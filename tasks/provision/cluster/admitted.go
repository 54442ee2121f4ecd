package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"bflow.dev/bflow/runplan/contract"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
)

// metadata is what is read of an object of which only the metadata counts.
type metadata struct {
	UID         types.UID         `json:"uid"`
	Labels      map[string]string `json:"labels"`
	Annotations map[string]string `json:"annotations"`
}

// Admitted returns an error where run may make nothing, because bflow-controller has not let its PipelineRun start. c
// is the hub, in the namespace of the run. The PipelineRun is read there, since everything in the pod of a step may be
// of somebody's making; contract.AnnotationAdmitted is the controller's alone, by the admission policy. Where the
// namespace says contract.LabelAllowUnqueued, a run that the compiler has marked needs no word of the controller. One
// without that mark is refused always: nobody would find what it leaves.
func (c *Cluster) Admitted(ctx context.Context, run Run) error {
	if run.Owner == nil {
		return fmt.Errorf(
			"deploying for run %q: its pod does not belong to a PipelineRun; submit the run with bflow run, or with bflow "+
				"compile and kubectl create", run.ID)
	}
	pr, err := readMetadata(ctx, c.core,
		"/apis/tekton.dev/v1/namespaces/"+c.Namespace+"/pipelineruns/"+run.Owner.Name)
	switch {
	case apierrors.IsNotFound(err):
		return fmt.Errorf("deploying for run %q: PipelineRun %q is no longer in namespace %q", run.ID, run.Owner.Name,
			c.Namespace)
	case err != nil:
		return fmt.Errorf("checking whether run %q was admitted: %w", run.ID, err)
	}
	id := orElse(pr.Labels[contract.LabelRun], run.Owner.Name)
	switch {
	case pr.UID != run.Owner.UID:
		return fmt.Errorf("deploying for run %q: its PipelineRun %q is gone, and there is another one of that name", run.ID,
			run.Owner.Name)
	case pr.Labels[contract.LabelPlanHash] == "":
		return fmt.Errorf(
			"deploying for run %q: PipelineRun %q has no label %s; compile the experiment with bflow and create the "+
				"objects unchanged",
			run.ID, run.Owner.Name, contract.LabelPlanHash)
	case id != run.ID:
		return fmt.Errorf("deploying for run %q: PipelineRun %q is run %q, so its param %s must not name another run", run.ID,
			run.Owner.Name, id, contract.ParamRunID)
	case pr.Annotations[contract.AnnotationAdmitted] != "" && pr.Annotations[contract.AnnotationReleased] == "":
		return nil
	}
	namespace, err := readMetadata(ctx, c.core, "/api/v1/namespaces/"+c.Namespace)
	if err != nil {
		return fmt.Errorf("checking whether run %q may start without a queue: %w", run.ID, err)
	}
	if namespace.Labels[contract.LabelAllowUnqueued] == "true" {
		return nil
	}
	return fmt.Errorf(
		"deploying for run %q: %s has not admitted it; compile it with a queue, or label namespace %s with %s=true to "+
			"allow runs without one",
		run.ID, contract.AccountController, c.Namespace, contract.LabelAllowUnqueued)
}

// readMetadata reads that of one object. A server that does not answer is asked again for as long as time may mend it.
func readMetadata(ctx context.Context, core rest.Interface, path string) (metadata, error) {
	for begin := time.Now(); ; {
		var o struct {
			Metadata metadata `json:"metadata"`
		}
		answer := core.Get().AbsPath(path).Do(ctx)
		err := answer.Error() // which says what the server says; that of Raw does not
		if err == nil {
			text, _ := answer.Raw()
			err = json.Unmarshal(text, &o)
			return o.Metadata, err
		}
		if !passing(err) || ctx.Err() != nil || time.Since(begin) > maxUnanswered {
			return metadata{}, err
		}
		select {
		case <-ctx.Done():
		case <-time.After(again):
		}
	}
}
