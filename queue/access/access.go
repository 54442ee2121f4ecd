// Package access gives a run access to its target, as a Secret beside it, and keeps what is in it valid while the run
// lives. It must not decide which target that is, nor read a Secret beside the runs: nobody may.
package access

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"bflow.dev/bflow/queue/run"
	"bflow.dev/bflow/queue/target"
	"bflow.dev/bflow/runplan/contract"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// endMargin is for the end of a run beside its own time: what is left over is deleted, task finish runs again.
	endMargin = time.Hour
	// unlimitedRunLimit is for a run without a limit of its own.
	unlimitedRunLimit = 24 * time.Hour
)

// Ask is what a run asks of its target.
func Ask(pr *tektonv1.PipelineRun) target.Ask {
	limit := time.Hour // Tekton's, for a run that says nothing
	if t := pr.Spec.Timeouts; t != nil && t.Pipeline != nil {
		limit = t.Pipeline.Duration
	}
	if limit <= 0 {
		limit = unlimitedRunLimit
	}
	return target.Ask{Namespace: pr.Namespace, Run: run.ID(pr), UID: pr.UID, For: limit + endMargin}
}

// Keeper writes the Secrets of runs and remembers what it wrote, because nobody may read them.
type Keeper struct {
	client  client.Client
	targets *target.Registry

	mu     sync.Mutex
	issued map[types.UID]*runAccess // by PipelineRun
}

// runAccess is what is known of the Secret of one run.
type runAccess struct {
	mu      sync.Mutex // held while it is asked for and written
	pr      types.NamespacedName
	target  string    // that was asked for it last; "" for none; the Keeper's mu guards it
	left    []string  // targets that were asked for it before, and have not taken back yet what they gave; likewise
	over    bool      // the run needs it no more
	dropped bool      // and nothing is left of it
	digest  string    // of what lies beside the run
	secret  types.UID // of the Secret that we have made; "" for none
}

// errOver says that a run is being released.
var errOver = errors.New("the run needs no access to its target any more")

// NewKeeper makes a Keeper that remembers nothing.
func NewKeeper(c client.Client, targets *target.Registry) *Keeper {
	return &Keeper{client: c, targets: targets, issued: map[types.UID]*runAccess{}}
}

func (k *Keeper) of(pr *tektonv1.PipelineRun) *runAccess {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.issued[pr.UID] == nil {
		k.issued[pr.UID] = &runAccess{pr: client.ObjectKeyFromObject(pr)}
	}
	return k.issued[pr.UID]
}

// Ready is nil when access to a target can be written at once, and target.ErrNotYet while it is being made.
func (k *Keeper) Ready(name string, pr *tektonv1.PipelineRun) error {
	w := k.of(pr)
	w.mu.Lock()
	defer w.mu.Unlock()
	_, _, err := k.ask(w, name, pr)
	return err
}

// ask asks a target for the access of a run, and remembers that: what it gave has to be taken back. w is held.
func (k *Keeper) ask(w *runAccess, name string, pr *tektonv1.PipelineRun) (target.Target, target.Grant, error) {
	t, err := k.targets.Find(name)
	if err != nil {
		return t, target.Grant{}, err
	}
	if w.over {
		return t, target.Grant{}, errOver
	}
	k.mu.Lock()
	if w.target != "" && w.target != name && !slices.Contains(w.left, w.target) {
		w.left = append(w.left, w.target)
	}
	w.left = slices.DeleteFunc(w.left, func(left string) bool { return left == name })
	w.target = name
	k.mu.Unlock()
	grant, err := t.Access(Ask(pr))
	return t, grant, err
}

// Put makes the Secret of a run with access to the target of that name, unless this very grant lies there. It replaces
// what is there: of an attempt before, of a start that died half-way, or with a token that ends soon. Volumes of pods
// that run follow it. It returns when the token ends, zero for never.
func (k *Keeper) Put(ctx context.Context, name string, pr *tektonv1.PipelineRun) (time.Time, error) {
	w := k.of(pr)
	w.mu.Lock()
	defer w.mu.Unlock()
	t, grant, err := k.ask(w, name, pr)
	if err != nil {
		return time.Time{}, fmt.Errorf("asking target %q for credentials: %w", name, err)
	}
	k.leave(ctx, w, pr)
	digest := digestOf(grant.Data)
	if w.digest == digest {
		return grant.Expires, nil
	}
	if w.secret, err = Replace(ctx, k.client, t.Secret(pr.Namespace, run.ID(pr), run.Owner(pr), grant)); err != nil {
		return time.Time{}, fmt.Errorf("writing access to target %q: %w", name, err)
	}
	w.digest = digest
	return grant.Expires, nil
}

// leave has the targets end their tokens that a run was admitted to and did not start on. One that is away holds
// nothing up: it is asked again at the next call of Put, and its token ends with its time. w is held.
func (k *Keeper) leave(ctx context.Context, w *runAccess, pr *tektonv1.PipelineRun) {
	k.mu.Lock()
	all := slices.Clone(w.left)
	k.mu.Unlock()
	for _, name := range all {
		if err := k.revoke(ctx, name, pr.Namespace, pr.UID); err != nil {
			ctrl.LoggerFrom(ctx).Info("the token of a target that a run has left could not be ended",
				"run", pr.Name, "target", name, "why", err.Error())
			continue
		}
		if t, err := k.targets.Find(name); err == nil {
			t.Forget(pr.UID)
		}
		k.mu.Lock()
		w.left = slices.DeleteFunc(w.left, func(left string) bool { return left == name })
		k.mu.Unlock()
	}
}

// Replace makes a Secret instead of one of its name, which nobody may read, and returns its UID.
func Replace(ctx context.Context, c client.Client, secret *corev1.Secret) (types.UID, error) {
	made := secret.DeepCopy()
	err := c.Create(ctx, made)
	if !apierrors.IsAlreadyExists(err) {
		return made.UID, err
	}
	if err := c.Delete(ctx, secret.DeepCopy()); err != nil && !apierrors.IsNotFound(err) {
		return "", err
	}
	err = c.Create(ctx, secret)
	return secret.UID, err
}

// End takes the access of a run away, and lets nobody write it again, and with it the token for its Prometheus. It is
// called before the run is released: after that its name may be that of the next attempt.
func (k *Keeper) End(ctx context.Context, pr *tektonv1.PipelineRun) error {
	w := k.of(pr)
	w.mu.Lock()
	defer w.mu.Unlock()
	w.over = true
	if pr.Annotations[contract.AnnotationMetrics] != "" {
		if err := EndMetrics(ctx, k.client, pr); err != nil {
			return err
		}
	}
	if err := client.IgnoreNotFound(k.client.Delete(ctx, secretOf(pr))); err != nil {
		return err
	}
	w.secret = ""
	return nil
}

// EndMetrics ends the tokens of a run for its Prometheus, by what they are bound to, and takes away the one beside it.
func EndMetrics(ctx context.Context, c client.Client, pr *tektonv1.PipelineRun) error {
	for _, secret := range []*corev1.Secret{
		{ObjectMeta: metav1.ObjectMeta{Namespace: contract.NamespaceSystem, Name: contract.MetricsBond(string(pr.UID))}},
		{ObjectMeta: metav1.ObjectMeta{Namespace: pr.Namespace, Name: contract.MetricsSecret(run.ID(pr))}},
	} {
		if err := client.IgnoreNotFound(c.Delete(ctx, secret)); err != nil {
			return err
		}
	}
	return nil
}

// Revoke ends what a target has given a run that was never let start and is gone: its Secret went with it.
func (k *Keeper) Revoke(ctx context.Context, pr types.NamespacedName) error {
	for uid, names := range k.askedBy(pr) {
		for _, name := range names {
			if err := k.revoke(ctx, name, pr.Namespace, uid); err != nil {
				return err
			}
		}
		for _, name := range names {
			k.Forget(name, uid)
		}
	}
	return nil
}

func (k *Keeper) revoke(ctx context.Context, name, namespace string, uid types.UID) error {
	t, err := k.targets.Find(name)
	if err != nil {
		return err
	}
	return t.Revoke(ctx, namespace, uid)
}

// Drop takes back what a run was given that is over and was never let start: the Secret beside it, which was written
// before somebody cancelled it, and the token. It is remembered until the run is gone, so that a start on the word of
// an older cache writes nothing.
func (k *Keeper) Drop(ctx context.Context, pr *tektonv1.PipelineRun) error {
	w := k.of(pr)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.dropped {
		return nil
	}
	w.over = true
	if err := client.IgnoreNotFound(k.client.Delete(ctx, secretOf(pr))); err != nil {
		return err
	}
	w.secret = ""
	for _, name := range k.askedBy(client.ObjectKeyFromObject(pr))[pr.UID] {
		if err := k.revoke(ctx, name, pr.Namespace, pr.UID); err != nil {
			return err
		}
	}
	w.dropped = true
	return nil
}

// askedBy are the targets that were asked for PipelineRuns of a name and have something to take back.
func (k *Keeper) askedBy(pr types.NamespacedName) map[types.UID][]string {
	k.mu.Lock()
	defer k.mu.Unlock()
	out := map[types.UID][]string{}
	for uid, w := range k.issued {
		if w.pr == pr && w.target != "" {
			out[uid] = append(slices.Clone(w.left), w.target)
		}
	}
	return out
}

// sweep takes the access of a released run away where it was written on the word of a cache that did not know that yet.
// It is tried again until the target has ended the token too.
func (k *Keeper) sweep(ctx context.Context, pr *tektonv1.PipelineRun) error {
	w := k.of(pr)
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.secret == "" {
		return nil
	}
	w.over = true
	err := k.client.Delete(ctx, secretOf(pr), client.Preconditions{UID: &w.secret})
	if client.IgnoreNotFound(err) != nil && !apierrors.IsConflict(err) { // it is that of the next attempt
		return err
	}
	t, err := k.targets.Find(run.Target(pr))
	if err != nil {
		return err
	}
	if err := t.Revoke(ctx, pr.Namespace, pr.UID); err != nil {
		return err
	}
	w.secret = ""
	return nil
}

func secretOf(pr *tektonv1.PipelineRun) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: pr.Namespace, Name: contract.TargetSecret(run.ID(pr))}}
}

// digestOf is all that is kept of credentials here.
func digestOf(data map[string][]byte) string {
	sum := sha256.New()
	for _, key := range slices.Sorted(maps.Keys(data)) {
		fmt.Fprintf(sum, "%s %d %s", key, len(data[key]), data[key])
	}
	return string(sum.Sum(nil))
}

// Forget ends the care for a run that needs no access any more.
func (k *Keeper) Forget(name string, uid types.UID) {
	if t, err := k.targets.Find(name); err == nil {
		t.Forget(uid)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.issued, uid)
}
