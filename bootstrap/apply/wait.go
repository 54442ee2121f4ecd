package apply

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"bflow.dev/bflow/internal/kube"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const (
	// lookInterval is how often an object is judged while it does not change: why a Deployment is not available is in
	// its pods.
	lookInterval = time.Second
	// reasonTime is how long a reason has to last before it is reported.
	reasonTime = 2 * time.Second
)

// WaitError is the reason why an object was not ready when time was up.
type WaitError struct {
	Ref
	Reason string
	After  time.Duration
}

func (e *WaitError) Error() string {
	return fmt.Sprintf("waiting for %s: not done after %s: %s", e.Ref, e.After.Round(time.Second), e.Reason)
}

// Wait returns when every object satisfies the condition, or with a WaitError when ctx ends first. It waits for
// workloads first, because other objects mostly wait for them. It calls say once with each reason that lasts for some
// seconds; say may be nil.
func (c *Cluster) Wait(ctx context.Context, refs []Ref, is Condition, say func(string)) error {
	began := time.Now()
	workloadsFirst := slices.SortedStableFunc(slices.Values(refs), func(a, b Ref) int { return order(a) - order(b) })
	for _, ref := range workloadsFirst {
		reason, err := c.await(ctx, ref, is, say)
		if err != nil {
			return err
		}
		if reason != "" {
			return &WaitError{Ref: ref, Reason: reason, After: time.Since(began)}
		}
	}
	return nil
}

func order(r Ref) int {
	if phaseOf(r) == PhaseWorkloads {
		return 0
	}
	return 1
}

// await returns "" when the object satisfies the condition, and the last reason when ctx has ended. An object of a kind
// that is not served does not exist.
func (c *Cluster) await(ctx context.Context, ref Ref, is Condition, say func(string)) (string, error) {
	w := &waiting{Cluster: c, ref: ref, is: is, say: say, said: map[string]bool{}, last: noAnswer}
	if obj, err := c.Get(ctx, ref); err == nil && w.look(ctx, obj) { // most need no waiting
		return w.unmet, nil
	}
	for {
		at, err := c.at(ref)
		if err == nil {
			at.Name = ""
			err = kube.Until(ctx, c.api, at, kube.Named(ref.Name), lookInterval, w.judge(ctx))
		}
		done := err == nil
		switch {
		case done:
		case ctx.Err() != nil:
			return w.last, nil
		case isMissing(err):
			done = w.look(ctx, nil)
		case isTransient(err):
			done = w.note(noAnswer)
		default:
			return "", err
		}
		if done {
			return w.unmet, nil
		}
		kube.Sleep(ctx, kube.Pause)
	}
}

const noAnswer = "the server does not answer"

// waiting is what is known of an object that is waited for.
type waiting struct {
	*Cluster
	ref Ref
	is  Condition
	say func(string)

	last     string          // reason
	since    time.Time       // when the last reason was met first
	said     map[string]bool // reasons; the two of an image that cannot be pulled alternate
	unpulled time.Time       // since when an image cannot be pulled
	unmet    string          // why it was given up
}

// judge judges what is followed.
func (w *waiting) judge(ctx context.Context) func([]*unstructured.Unstructured, error) (bool, error) {
	return func(found []*unstructured.Unstructured, trouble error) (bool, error) {
		switch {
		case trouble != nil && !isMissing(trouble):
			return w.note(noAnswer), nil
		case trouble != nil || len(found) == 0:
			return w.look(ctx, nil), nil
		}
		return w.look(ctx, found[0]), nil
	}
}

// look reports whether nothing more is to be waited for.
func (w *waiting) look(ctx context.Context, obj *unstructured.Unstructured) (done bool) {
	ok, why := w.is(obj)
	if ok {
		return true
	}
	if obj != nil && w.ref.Kind == "Deployment" {
		why = strings.TrimSuffix(why+": "+w.troubleOf(ctx, obj), ": ")
	}
	return ctx.Err() == nil && w.note(why)
}

// note keeps a reason, and reports one that lasts. It returns true if it is of no use to wait any longer.
func (w *waiting) note(why string) (done bool) {
	switch {
	case !imageTrouble(why):
		w.unpulled = time.Time{}
	case w.unpulled.IsZero():
		w.unpulled = time.Now()
	case time.Since(w.unpulled) >= w.imagePullGrace:
		w.unmet = why // the kubelet never stops trying
		return true
	}
	if why != w.last || w.since.IsZero() {
		w.last, w.since = why, time.Now()
	}
	if !w.said[why] && time.Since(w.since) >= reasonTime && w.say != nil {
		w.said[why] = true
		w.say(fmt.Sprintf("waiting for %s: %s", w.ref, why))
	}
	return false
}

// imagePullGrace is how long an image may fail to be pulled: a registry may be down for a moment.
const imagePullGrace = 30 * time.Second

// imageTrouble reports whether a reason is that of the kubelet for an image that it cannot pull.
func imageTrouble(why string) bool {
	return strings.Contains(why, "ErrImagePull") || strings.Contains(why, "ImagePullBackOff") ||
		strings.Contains(why, "InvalidImageName") ||
		strings.Contains(why, "ErrImageNeverPull")
}
