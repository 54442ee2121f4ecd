package apply

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"
)

// pollInterval is how often an object is read while no event of it comes: why a Deployment is not available is in its
// pods. A reason is reported when it has lasted as long.
const pollInterval = 2 * time.Second

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

// await returns "" when the object satisfies the condition, and the last reason when ctx has ended.
func (c *Cluster) await(ctx context.Context, ref Ref, is Condition, say func(string)) (string, error) {
	last, since, told := "", time.Now(), map[string]bool{} // the two reasons of an image that cannot be pulled alternate
	var unpulled time.Time
	for {
		obj, err := c.Get(ctx, ref)
		if err != nil && !isTransient(err) && ctx.Err() == nil {
			return "", err
		}
		ok, why := false, "the server does not answer"
		if err == nil {
			ok, why = is(obj)
		}
		if ok {
			return "", nil
		}
		if obj != nil && ref.Kind == "Deployment" {
			why = strings.TrimSuffix(why+": "+c.troubleOf(ctx, obj), ": ")
		}
		if ctx.Err() != nil {
			return cmp.Or(last, why), nil // the last reason from before ctx ended
		}
		switch {
		case !imageTrouble(why):
			unpulled = time.Time{}
		case unpulled.IsZero():
			unpulled = time.Now()
		case time.Since(unpulled) >= c.imagePullGrace:
			return why, nil // the kubelet never stops trying
		}
		if why != last {
			last, since = why, time.Now()
		}
		if !told[last] && time.Since(since) >= pollInterval && say != nil {
			told[last] = true
			say(fmt.Sprintf("waiting for %s: %s", ref, why))
		}
		c.awaitEvent(ctx, ref, obj)
	}
}

// imagePullGrace is how long an image may fail to be pulled: a registry may be down for a moment.
const imagePullGrace = 30 * time.Second

// imageTrouble reports whether a reason is that of the kubelet for an image that it cannot pull.
func imageTrouble(why string) bool {
	return strings.Contains(why, "ErrImagePull") || strings.Contains(why, "ImagePullBackOff") || strings.Contains(why, "InvalidImageName") ||
		strings.Contains(why, "ErrImageNeverPull")
}

// awaitEvent returns when the object changes, and after pollInterval at the latest. After a watch that failed it waits
// a second.
func (c *Cluster) awaitEvent(ctx context.Context, ref Ref, seen *unstructured.Unstructured) {
	ctx, cancel := context.WithTimeout(ctx, pollInterval)
	defer cancel()
	resource, err := c.resource(ref)
	if err != nil {
		pause(ctx, time.Second)
		return
	}
	options := metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", ref.Name).String()}
	if seen != nil {
		options.ResourceVersion = seen.GetResourceVersion()
	}
	events, err := resource.Watch(ctx, options)
	if err != nil {
		pause(ctx, time.Second)
		return
	}
	defer events.Stop()
	select {
	case <-ctx.Done():
	case event, open := <-events.ResultChan():
		if !open || event.Type == watch.Error {
			pause(ctx, time.Second)
		}
	}
}
