package keeper

import (
	"context"
	"fmt"
	"sync"
	"time"

	"bflow.dev/bflow/queue/lock"
	"bflow.dev/bflow/queue/lock/history"
	"bflow.dev/bflow/queue/target"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// requestTimeout bounds each request: far less than the time for which a hub believes in its hold.
const requestTimeout = 10 * time.Second

// keeper keeps the Lease of one target.
type keeper struct {
	name string
	o    Options
	runs runs
	wake chan struct{}
	gone func()
	said string // what answers depended on when runs were last judged anew; time changes it too

	mu      sync.Mutex // never held during a request
	memory  *lock.Memory
	claims  []lock.Request // runs that have leave to start
	want    *lock.Want
	curious bool   // a run without a key waits, which must know that nobody wants to be alone
	trouble string // why the Lease could not be read or written
}

// troubleClause is the trouble for the end of a sentence. The caller holds mu.
func (k *keeper) troubleClause() string {
	if k.trouble == "" {
		return ""
	}
	return ": " + k.trouble
}

// isHolderLocked says whether the Lease is ours as far as we know. The caller holds mu.
func (k *keeper) isHolderLocked() bool {
	l, known := k.memory.Lease()
	return known && l.Holder == k.o.Hub
}

func (k *keeper) trigger() {
	select {
	case k.wake <- struct{}{}:
	default: // it will look anyway
	}
}

// keep works until ctx ends or the target is no more.
func (k *keeper) keep(ctx context.Context) {
	for ctx.Err() == nil {
		t, err := k.o.Targets.Find(k.name)
		if err != nil {
			k.gone()
			return
		}
		k.await(ctx, k.step(ctx, t))
	}
}

// await returns after some time, or when somebody asks; 0 is for ever.
func (k *keeper) await(ctx context.Context, wait time.Duration) {
	var again <-chan time.Time
	if wait > 0 {
		timer := k.o.Clock.NewTimer(wait)
		defer timer.Stop()
		again = timer.C()
	}
	select {
	case <-ctx.Done():
	case <-again:
	case <-k.wake:
	}
}

// step reads the Lease, and writes it where it should be another. It returns after how long to come again, 0 for when
// somebody asks.
func (k *keeper) step(ctx context.Context, t target.Target) time.Duration {
	s, idle, err := k.situation(ctx)
	if err != nil {
		return k.fail("", err)
	}
	if idle {
		return 0
	}
	stale := k.stale()
	obj, err := k.look(ctx, t, &s)
	if err != nil {
		return k.fail("reading it: ", err)
	}
	again, err := k.change(ctx, t, obj, s)
	if err != nil {
		return k.fail("writing it: ", err)
	}
	k.mu.Lock()
	had := k.trouble
	k.trouble = ""
	k.mu.Unlock()
	if now := k.answerState(); had != "" || stale || now != k.said {
		k.said = now
		k.o.Targets.Tell(k.name) // runs that wait are judged anew
	}
	return again
}

// situation is what our runs need, from memory and cache. idle means that nothing about the Lease concerns us.
func (k *keeper) situation(ctx context.Context) (s lock.Situation, idle bool, err error) {
	started, err := k.runs.listStarted(ctx, k.name)
	if err != nil {
		return s, false, err
	}
	if s.Dirty, err = k.runs.dirty(ctx, k.name); err != nil {
		return s, false, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	s0 := k.memory.Round(k.o.Clock.Now(), k.name, started, k.claims).Situation()
	s.Started, s.Claim, s.Want = s0.Started, s0.Claim, k.want
	l, known := k.memory.Lease()
	asks := false
	for _, a := range l.Asks {
		asks = asks || a.Hub == k.o.Hub
	}
	return s, known && s.Idle() && !k.curious && l.Holder != k.o.Hub && !asks, nil
}

// answerState is all of the memory that answers to runs depend on.
func (k *keeper) answerState() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	now := k.o.Clock.Now()
	l, known := k.memory.Lease()
	_, holds := k.memory.FenceFor(now, l.Key)
	text := fmt.Sprint(known, l.Holder, l.Key, l.Fence, l.Before, holds, k.memory.Late(now), k.memory.Abandoned(now))
	for _, a := range l.Asks { // without its beat
		text += a.Hub + a.Since.String()
	}
	return text
}

// stale says whether somebody waits for what was read too long ago.
func (k *keeper) stale() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.curious && !k.memory.Fresh(k.o.Clock.Now())
}

// look reads the Lease, and where that matters whose pods are alive.
func (k *keeper) look(ctx context.Context, t target.Target, s *lock.Situation) (*coordinationv1.Lease, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	l, obj, err := read(ctx, t.Live)
	if err != nil {
		return nil, err
	}
	now := k.o.Clock.Now()
	k.mu.Lock()
	k.memory.NoteRead(now, l)
	looking := k.memory.HubsToCheck(now)
	k.mu.Unlock()
	if len(looking) == 0 || l.Version == "" && s.Idle() {
		return obj, nil
	}
	began := k.o.Clock.Now()
	if s.Alive, err = alive(ctx, t.Live, k.o.Hub, looking); err != nil {
		return nil, err
	}
	k.mu.Lock()
	k.memory.NoteAlive(began, s.Alive)
	k.mu.Unlock()
	return obj, nil
}

// change writes the Lease where it should be another.
func (k *keeper) change(ctx context.Context, t target.Target, obj *coordinationv1.Lease,
	s lock.Situation) (time.Duration, error) {
	next, step := k.next(s)
	if step.Frees() { // a cache may not show yet what was let start
		started, err := k.runs.listStartedLive(ctx, k.name)
		if err != nil {
			return 0, err
		}
		if len(started) > 0 {
			s.Started = started[0].Key
			next, step = k.next(s)
		}
	}
	if step != lock.Rest {
		if conflict, err := k.write(ctx, t, obj, next, step); conflict || err != nil {
			return time.Millisecond, err
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	again := k.memory.Again(k.o.Clock.Now(), s)
	if again == 0 && k.curious {
		again = lock.RenewInterval
	}
	return again, nil
}

func (k *keeper) next(s lock.Situation) (lock.Lease, lock.Step) {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.memory.Next(k.o.Clock.Now(), s)
}

func (k *keeper) write(ctx context.Context, t target.Target, obj *coordinationv1.Lease, next lock.Lease,
	step lock.Step) (conflict bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	from := of(obj)
	sent := k.o.Clock.Now()
	stored, err := write(ctx, t.Live, obj, next)
	if apierrors.IsConflict(err) || apierrors.IsAlreadyExists(err) { // another hub was there first
		return true, nil
	}
	if err != nil {
		return false, err
	}
	k.mu.Lock()
	k.memory.NoteWritten(sent, k.o.Clock.Now(), stored)
	k.mu.Unlock()
	k.record(step, from, stored)
	return false, nil
}

// record puts what became of the Lease into the log: history.Check judges such logs.
func (k *keeper) record(step lock.Step, from, l lock.Lease) {
	e := history.Event{Hub: k.o.Hub, Target: k.name, Key: l.Key, Fence: l.Fence}
	switch step {
	case lock.Taken, lock.Switched:
		e.Kind = history.Taken
	case lock.TakenOff:
		e.Kind, e.From = history.Taken, from.Holder
	case lock.Freed:
		e.Kind = history.Freed
	default:
		return
	}
	history.Write(k.o.Log, e)
}

// fail remembers what is wrong, for those who wait.
func (k *keeper) fail(doing string, err error) time.Duration {
	k.mu.Lock()
	had := k.trouble
	k.trouble = doing + err.Error()
	changed := had != k.trouble
	k.mu.Unlock()
	if changed {
		k.o.Log.Warn("the lock of a target", "target", k.name, "error", doing+err.Error())
		k.o.Targets.Tell(k.name)
	}
	if k.isHolder() {
		return failureRetryDelay
	}
	return lock.RenewInterval
}

func (k *keeper) isHolder() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.isHolderLocked()
}
