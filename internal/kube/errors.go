package kube

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Advice says what to do about an error; what is empty is right for the cluster of --kubeconfig and --context.
type Advice struct{ Forbidden, Unauthorized, Unreachable string }

// Unreachable is an API server that gave no answer.
type Unreachable struct {
	Cluster, Host string
	Err           error
	advice        string
}

func (e *Unreachable) Error() string {
	at := e.Host
	if e.Cluster != e.Host {
		at = e.Cluster + " (" + e.Host + ")"
	}
	return fmt.Sprintf("the API server of cluster %s does not answer: %v; %s", at, e.Err, cmp.Or(e.advice,
		"check the network, and that this is the right cluster (--context, --kubeconfig)"))
}

func (e *Unreachable) Unwrap() error { return e.Err }

// unreachable drops the request from an error of the network: the address stands in the sentence already.
func (c *Client) unreachable(err error) error {
	var request *url.Error
	if errors.As(err, &request) {
		err = request.Err
	}
	return &Unreachable{Cluster: c.Name, Host: c.Config.Host, Err: err, advice: c.Advice.Unreachable}
}

// MissingError is a part that is not installed.
type MissingError struct{ What, Cluster string }

func (e *MissingError) Error() string {
	return fmt.Sprintf("%s is not installed on cluster %s; run bflow bootstrap --single-cluster", e.What, e.Cluster)
}

// deniedByTekton begins what Tekton says of a run that it refuses.
const deniedByTekton = `admission webhook "validation.webhook.pipeline.tekton.dev" denied the request: `

// deniedError is what a webhook said, without the part that only speaks of the webhook.
type deniedError struct{ error }

func (e *deniedError) Error() string { return strings.ReplaceAll(e.error.Error(), deniedByTekton, "") }
func (e *deniedError) Unwrap() error { return e.error }

// Explain turns an error of the cluster into a sentence that says what to do next. Errors of Client are explained
// already; this is for those of Discovery and ByKind.
func (c *Client) Explain(err error) error { return c.explain(At{}, err) }

func (c *Client) explain(at At, err error) error {
	var network *url.Error
	var closed net.Error
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.Canceled): // nobody waits for the answer any more
		return context.Canceled
	case isUnknownKind(err) && software(at.Resource) != "":
		return &MissingError{What: software(at.Resource), Cluster: c.Name}
	case strings.Contains(err.Error(), deniedByTekton):
		return &deniedError{err}
	case apierrors.HasStatusCause(err, corev1.NamespaceTerminatingCause): // more rights would not help
		return fmt.Errorf("%w; try again once it is gone", err)
	case apierrors.IsForbidden(err):
		return fmt.Errorf("%w; %s", err, cmp.Or(c.Advice.Forbidden,
			"ask an administrator for this permission, or see bflow doctor"))
	case apierrors.IsUnauthorized(err):
		return fmt.Errorf("cluster %s no longer accepts your credentials (%w); %s", c.Name, err,
			cmp.Or(c.Advice.Unauthorized, "log in again"))
	case errors.As(err, &network), errors.As(err, &closed):
		return c.unreachable(err)
	}
	return err
}

// explainSilence explains why the first question had no answer.
func (c *Client) explainSilence(ctx context.Context, err error) error {
	if apierrors.IsUnauthorized(err) {
		return fmt.Errorf("cluster %s does not accept your credentials (%w); %s", c.Name, err,
			cmp.Or(c.Advice.Unauthorized, "log in again, or use others with --kubeconfig"))
	}
	switch apierrors.ReasonForError(err) {
	case metav1.StatusReasonUnknown, metav1.StatusReasonTimeout, metav1.StatusReasonInternalError:
	default:
		return c.Explain(err)
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		err = fmt.Errorf("no answer within %s", accessTime)
	}
	return c.unreachable(err)
}

// isUnknownKind reports whether the server does not know the kind at all, as opposed to one object.
func isUnknownKind(err error) bool {
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

// software is what serves a kind that a run cannot do without, "" for other kinds.
func software(resource string) string {
	switch resource {
	case "pipelineruns", "taskruns", "tasks", "pipelines":
		return "Tekton"
	case "localqueues", "workloads":
		return "Kueue"
	}
	return ""
}

// IsMissing reports whether an object, or its whole kind, does not exist.
func IsMissing(err error) bool {
	var missing *MissingError
	return apierrors.IsNotFound(err) || errors.As(err, &missing)
}

// IsWebhookAway reports whether nothing was done because a webhook of the cluster was not reached. One that says no is
// reached.
func IsWebhookAway(err error) bool {
	return apierrors.IsInternalError(err) && strings.Contains(err.Error(), "failed calling webhook")
}

// IsTransient reports whether an error may pass by itself.
func IsTransient(err error) bool {
	var unreached *Unreachable
	return errors.As(err, &unreached) || apierrors.IsInternalError(err) || apierrors.IsServiceUnavailable(err) ||
		apierrors.IsTimeout(err) || apierrors.IsServerTimeout(err) || apierrors.IsTooManyRequests(err)
}

// IsFinal reports whether the same question has the same answer for long: whoever follows gives up.
func IsFinal(err error) bool {
	var missing *MissingError
	return errors.As(err, &missing) || apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) ||
		apierrors.IsBadRequest(err)
}
