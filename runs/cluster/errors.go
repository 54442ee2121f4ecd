package cluster

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Unreachable is an API server that gave no answer.
type Unreachable struct {
	Cluster, Host string
	Err           error
}

func (e *Unreachable) Error() string {
	at := e.Host
	if e.Cluster != e.Host {
		at = e.Cluster + " (" + e.Host + ")"
	}
	return fmt.Sprintf("the API server of cluster %s does not answer: %v; check the network, and that this is the right cluster (--context, --kubeconfig)", at, e.Err)
}

func (e *Unreachable) Unwrap() error { return e.Err }

// explainSilence explains why the first question had no answer.
func (c *Cluster) explainSilence(ctx context.Context, err error) error {
	if apierrors.IsUnauthorized(err) {
		return fmt.Errorf("cluster %s does not accept your credentials (%w); log in again, or use others with --kubeconfig", c.Name, err)
	}
	if apierrors.ReasonForError(err) != metav1.StatusReasonUnknown && !apierrors.IsTimeout(err) && !apierrors.IsInternalError(err) {
		return c.explain(err)
	}
	if ctx.Err() != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		err = fmt.Errorf("no answer within %s", patience)
	}
	return &Unreachable{Cluster: c.Name, Host: c.Config.Host, Err: cause(err)}
}

// webhookAway says whether nothing was done because a webhook of the cluster was not reached. One that says no is
// reached.
func webhookAway(err error) bool {
	return apierrors.IsInternalError(err) && strings.Contains(err.Error(), "failed calling webhook")
}

// cause drops the request from an error of the network: the address stands in the sentence already.
func cause(err error) error {
	var request *url.Error
	if errors.As(err, &request) {
		return request.Err
	}
	return err
}

// explain turns an answer of the server into a sentence that says what to do next.
func (c *Cluster) explain(err error) error {
	var network *url.Error
	var closed net.Error
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.Canceled): // nobody waits for the answer any more
		return context.Canceled
	case noSuchKind(err):
		return c.missing(err)
	case strings.Contains(err.Error(), deniedByTekton):
		return &deniedError{err}
	case apierrors.IsForbidden(err):
		return fmt.Errorf("%w; ask an administrator for this permission, or see bflow doctor", err)
	case apierrors.IsUnauthorized(err):
		return fmt.Errorf("cluster %s no longer accepts your credentials (%w); log in again", c.Name, err)
	case errors.As(err, &network), errors.As(err, &closed):
		return &Unreachable{Cluster: c.Name, Host: c.Config.Host, Err: cause(err)}
	}
	return err
}

// deniedByTekton begins what Tekton says of a run that it refuses.
const deniedByTekton = `admission webhook "validation.webhook.pipeline.tekton.dev" denied the request: `

// deniedError is what a webhook said, without the part that only speaks of the webhook.
type deniedError struct{ error }

func (e *deniedError) Error() string { return strings.ReplaceAll(e.error.Error(), deniedByTekton, "") }
func (e *deniedError) Unwrap() error { return e.error }

// noSuchKind reports whether the server does not know the kind at all, as opposed to one object.
func noSuchKind(err error) bool {
	var answer apierrors.APIStatus
	if !apierrors.IsNotFound(err) || !errors.As(err, &answer) {
		return false
	}
	details := answer.Status().Details
	if details == nil || details.Name == "" {
		return true
	}
	for _, cause := range details.Causes {
		if cause.Type == metav1.CauseTypeUnexpectedServerResponse {
			return true
		}
	}
	return false
}

// MissingError is a part that is not installed.
type MissingError struct{ What, Cluster string }

func (e *MissingError) Error() string {
	return fmt.Sprintf("%s is not installed on cluster %s; run bflow bootstrap --single-cluster", e.What, e.Cluster)
}

// missing says what is not installed where a kind is not known.
func (c *Cluster) missing(err error) error {
	var answer apierrors.APIStatus
	if !errors.As(err, &answer) || answer.Status().Details == nil {
		return err
	}
	switch answer.Status().Details.Kind {
	case "pipelineruns", "taskruns", "tasks", "pipelines":
		return &MissingError{What: "Tekton", Cluster: c.Name}
	case "localqueues", "workloads":
		return &MissingError{What: "Kueue", Cluster: c.Name}
	}
	return err
}
