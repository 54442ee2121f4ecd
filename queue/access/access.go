// Package access gives a run the way to its target, as a Secret beside it, and keeps what is in it valid while the run
// lives. It must not decide which target that is, nor read a Secret beside the runs: nobody may.
package access

import (
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"bflow.dev/bflow/queue/run"
	"bflow.dev/bflow/queue/target"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// margin is for the end of a run beside its own time: what is left over is deleted, task finish runs again.
	margin = time.Hour
	// endless is for a run without a limit of its own.
	endless = 24 * time.Hour
)

// Ask is what a run asks of its target.
func Ask(pr *tektonv1.PipelineRun) target.Ask {
	limit := time.Hour // Tekton's, for a run that says nothing
	if t := pr.Spec.Timeouts; t != nil && t.Pipeline != nil {
		limit = t.Pipeline.Duration
	}
	if limit <= 0 {
		limit = endless
	}
	return target.Ask{Namespace: pr.Namespace, UID: pr.UID, For: limit + margin}
}

// Keeper writes the Secrets of runs and remembers what it wrote, because nobody may read them.
type Keeper struct {
	client  client.Client
	targets *target.Registry

	mu      sync.Mutex
	written map[types.UID]string // digest of what lies beside a run
}

// NewKeeper makes a Keeper that remembers nothing.
func NewKeeper(c client.Client, targets *target.Registry) *Keeper {
	return &Keeper{client: c, targets: targets, written: map[types.UID]string{}}
}

// Ready is nil when the way to a target can be written at once, and target.ErrNotYet while it is being made.
func (k *Keeper) Ready(name string, pr *tektonv1.PipelineRun) error {
	t, err := k.targets.Find(name)
	if err == nil {
		_, err = t.Access(Ask(pr))
	}
	return err
}

// Put makes the Secret of a run with the way to the target of that name, unless this very grant lies there. It replaces
// what is there: of an attempt before, of a start that died half-way, or with a token that ends soon. Volumes of pods
// that run follow it. It returns when the token ends, zero for never.
func (k *Keeper) Put(ctx context.Context, name string, pr *tektonv1.PipelineRun) (time.Time, error) {
	t, err := k.targets.Find(name)
	if err != nil {
		return time.Time{}, err
	}
	grant, err := t.Access(Ask(pr))
	if err != nil {
		return time.Time{}, fmt.Errorf("asking target %q for credentials: %w", name, err)
	}
	digest := digestOf(grant.Data)
	if k.known(pr.UID) == digest {
		return grant.Expires, nil
	}
	if err := k.write(ctx, t.Secret(pr.Namespace, run.ID(pr), run.Owner(pr), grant)); err != nil {
		return time.Time{}, fmt.Errorf("writing the way to target %q: %w", name, err)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.written[pr.UID] = digest
	return grant.Expires, nil
}

func (k *Keeper) write(ctx context.Context, secret *corev1.Secret) error {
	err := k.client.Create(ctx, secret.DeepCopy())
	if !apierrors.IsAlreadyExists(err) {
		return err
	}
	if err := k.client.Delete(ctx, secret.DeepCopy()); err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	return k.client.Create(ctx, secret)
}

func (k *Keeper) known(uid types.UID) string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.written[uid]
}

// digestOf is all that is kept of credentials here.
func digestOf(data map[string][]byte) string {
	sum := sha256.New()
	for _, key := range slices.Sorted(maps.Keys(data)) {
		fmt.Fprintf(sum, "%s %d %s", key, len(data[key]), data[key])
	}
	return string(sum.Sum(nil))
}

// Forget ends the care for a run that needs no way any more.
func (k *Keeper) Forget(name string, uid types.UID) {
	if t, err := k.targets.Find(name); err == nil {
		t.Forget(uid)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.written, uid)
}
