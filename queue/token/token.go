// Package token makes tokens of accounts that do one thing each, and puts them beside what uses them. A task that
// asks by contract.LabelToken has one of contract.AccountSubmit while it runs, whichever account its pod has; a run
// whose Prometheus an administrator has listed has one of contract.AccountMetrics for that server. It must not read a
// Secret, which nobody may beside runs, nor make a token of any other account.
//
// A token can be bound to a pod only where the pod runs as that very account. Those of a task are bound to a second
// Secret, which is empty: all of them end when that is deleted. Both are owned by the TaskRun. What is known of them
// stands in annotations of the TaskRun, so that a controller that starts again goes on with them:
// contract.AnnotationTokenBond and contract.AnnotationTokenRenew.
package token

import (
	"context"
	"errors"
	"fmt"
	"time"

	"bflow.dev/bflow/queue/access"
	"bflow.dev/bflow/queue/target"
	"bflow.dev/bflow/runplan/contract"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// TokenLifetime is how long a token is valid at most.
	TokenLifetime = time.Hour
	// RevokeGracePeriod is how long the token of a task that was cancelled or timed out stays valid: Tekton calls
	// such a task done before its pod has ended, which still has to cancel the runs it made.
	RevokeGracePeriod = time.Minute
)

// asks says whether the controller owes a task a token.
func asks(task *tektonv1.TaskRun) bool {
	return task.Labels[contract.LabelToken] == contract.TokenSubmit
}

// bond is the UID of the Secret that the tokens of a task are bound to, "" where there is none.
func bond(task *tektonv1.TaskRun) types.UID {
	return types.UID(task.Annotations[contract.AnnotationTokenBond])
}

// renewal is when the task needs another token: the zero time where it has none.
func renewal(task *tektonv1.TaskRun) time.Time {
	at, err := time.Parse(time.RFC3339, task.Annotations[contract.AnnotationTokenRenew])
	if err != nil || bond(task) == "" {
		return time.Time{}
	}
	return at
}

// bind makes the Secret that tokens of a task are bound to, and writes down which it is. One that is there already is
// of a controller that has ended in between, before it bound a token to it.
func (r *Reconciler) bind(ctx context.Context, task *tektonv1.TaskRun) error {
	uid, err := access.Replace(ctx, r.client, secret(task, contract.SubmitBond(task.Name)))
	if err != nil {
		return err
	}
	return r.note(ctx, task, map[string]string{contract.AnnotationTokenBond: string(uid)})
}

// give puts a token into the Secret that the pod of a task mounts. Its volume follows it. A token that this one
// replaces stays valid: whoever has begun to use it may go on.
func (r *Reconciler) give(ctx context.Context, task *tektonv1.TaskRun) error {
	seconds := int64(TokenLifetime.Seconds())
	request := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: &seconds,
		BoundObjectRef: &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Secret",
			Name: contract.SubmitBond(task.Name), UID: bond(task)}}}
	now := r.clock.Now()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: task.Namespace,
		Name: contract.AccountSubmit}}
	err := r.client.SubResource("token").Create(ctx, account, request)
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		// somebody has deleted the account, or what tokens are bound to
		return errors.Join(errors.New("asking for it: "+err.Error()),
			r.note(ctx, task, map[string]string{contract.AnnotationTokenBond: ""}))
	}
	if err != nil {
		return fmt.Errorf("asking for it: %w", err)
	}
	holds := secret(task, contract.SubmitSecret(task.Name))
	holds.Data = map[string][]byte{contract.KeyToken: []byte(request.Status.Token)}
	if _, err := access.Replace(ctx, r.client, holds); err != nil {
		return err
	}
	renew := target.HalfLife(now, request.Status.ExpirationTimestamp.Time)
	return r.note(ctx, task, map[string]string{contract.AnnotationTokenRenew: renew.UTC().Format(time.RFC3339)})
}

// take ends all tokens of a task.
func (r *Reconciler) take(ctx context.Context, task *tektonv1.TaskRun) error {
	for _, name := range []string{contract.SubmitBond(task.Name), contract.SubmitSecret(task.Name)} {
		if err := client.IgnoreNotFound(r.client.Delete(ctx, secret(task, name))); err != nil {
			return err
		}
	}
	return r.note(ctx, task, map[string]string{contract.AnnotationTokenBond: "", contract.AnnotationTokenRenew: ""})
}

// note writes annotations of a task, "" for none, unless somebody has changed the task since it was read: of two
// controllers that take themselves for the leader one must know nothing of the other's.
func (r *Reconciler) note(ctx context.Context, task *tektonv1.TaskRun, annotations map[string]string) error {
	before := task.DeepCopy()
	for key, value := range annotations {
		if value == "" {
			delete(task.Annotations, key)
		} else {
			metav1.SetMetaDataAnnotation(&task.ObjectMeta, key, value)
		}
	}
	return r.client.Patch(ctx, task, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
}

// secret is one that goes with a task.
func secret(task *tektonv1.TaskRun, name string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: task.Namespace,
		Labels: map[string]string{contract.LabelManagedBy: contract.ManagedBy,
			contract.LabelToken: contract.TokenSubmit},
		OwnerReferences: []metav1.OwnerReference{{APIVersion: tektonv1.SchemeGroupVersion.String(), Kind: "TaskRun",
			Name: task.Name, UID: task.UID}},
	}}
}
