package retention

import (
	"context"
	"fmt"
	"sync"
	"time"

	"bflow.dev/bflow/queue/run"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// volumeListLifetime is how long the volumes of a namespace are known once they were listed: a thousand runs have
	// had their time together where a controller starts anew, and each list is one of all volumes.
	volumeListLifetime = time.Minute
	// maxClockSkew is how far the clock of Tekton, which says when a run ended, may be before ours.
	maxClockSkew = time.Minute
)

// volumes are those of namespaces that runs may own, as the last list had them.
type volumes struct {
	live  client.Reader
	clock clock.PassiveClock

	mu    sync.Mutex
	known map[string]listing // by namespace
}

type listing struct {
	at     time.Time // before it was asked for
	owners owners
}

// owners are volumes by what owns them.
type owners map[types.UID][]corev1.PersistentVolumeClaim

// of returns the volumes that attempts own which have ended. They make no more, so that any list will do that is
// younger than their end: from an older one a volume could be missing, and would go with its run, whatever it holds.
func (v *volumes) of(ctx context.Context, attempts []tektonv1.PipelineRun) ([]corev1.PersistentVolumeClaim, error) {
	var ended time.Time
	for i := range attempts {
		if at := run.EndedAt(&attempts[i]); at.After(ended) {
			ended = at
		}
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	known, err := v.since(ctx, attempts[0].Namespace, ended.Add(maxClockSkew))
	if err != nil {
		return nil, err
	}
	var out []corev1.PersistentVolumeClaim
	told := map[types.UID]bool{}
	for i := range attempts {
		for _, claim := range known[attempts[i].UID] {
			if !told[claim.UID] {
				told[claim.UID] = true
				out = append(out, claim)
			}
		}
	}
	return out, nil
}

// forget is for attempts whose volumes were deleted.
func (v *volumes) forget(attempts []tektonv1.PipelineRun) {
	v.mu.Lock()
	defer v.mu.Unlock()
	for i := range attempts {
		delete(v.known[attempts[i].Namespace].owners, attempts[i].UID)
	}
}

// since lists the volumes of a namespace, unless they were listed less than volumeListLifetime ago and after a time.
func (v *volumes) since(ctx context.Context, namespace string, after time.Time) (owners, error) {
	now := v.clock.Now()
	for name, l := range v.known {
		if now.Sub(l.at) >= volumeListLifetime {
			delete(v.known, name)
		}
	}
	if l, there := v.known[namespace]; there && l.at.After(after) {
		return l.owners, nil
	}
	var list corev1.PersistentVolumeClaimList
	if err := v.live.List(ctx, &list, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("listing volumes: %w", err)
	}
	l := listing{at: now, owners: owners{}}
	for i := range list.Items {
		claim := &list.Items[i]
		if !claim.DeletionTimestamp.IsZero() {
			continue
		}
		slim := corev1.PersistentVolumeClaim{}
		slim.Namespace, slim.Name, slim.UID = claim.Namespace, claim.Name, claim.UID
		for _, owner := range claim.OwnerReferences {
			l.owners[owner.UID] = append(l.owners[owner.UID], slim)
		}
	}
	v.known[namespace] = l
	return l.owners, nil
}
