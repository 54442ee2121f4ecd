//go:build e2e

package cluster

import (
	"encoding/json"
	"os"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"bflow.dev/bflow/runplan/contract"
)

// TestTwoHubsShareAWorker: runs of two setups from two hubs take turns on one target, neither hub touches what is of
// the other, though both have it looked for leftovers all the time, and nothing is left.
func TestTwoHubsShareAWorker(t *testing.T) {
	if os.Getenv("BFLOW_E2E_SECOND_KUBECONFIG") == "" {
		t.Skip("BFLOW_E2E_SECOND_KUBECONFIG names no second cluster with bflow on it")
	}
	hubs := newLabs(t, onEveryHub, aloneOnWorker)
	one := hubs[0]
	w := one.onWorker()
	hubs[1].onWorker()
	const each = 3
	type put struct {
		hub *lab
		run string
	}
	var runs []put
	for range each {
		for i, l := range hubs {
			runs = append(runs, put{l, l.locks().withSetup([]string{"llm-d/istio/v1", "llm-d/istio/v2"}[i], onTheWorker)})
		}
	}
	stop := cleanAllTheTime(hubs)
	spans := make([][]span, len(hubs))
	for _, r := range runs {
		i := 0
		if r.hub != one {
			i = 1
		}
		spans[i] = append(spans[i], spanOf(r.hub.of(r.run).releasedWell()))
		r.hub.of(r.run).hasResults()
	}
	for _, found := range stop() {
		t.Errorf("a janitor found %s", found)
	}
	for _, a := range spans[0] {
		for _, b := range spans[1] {
			if a.from < b.until && b.from < a.until {
				t.Errorf("%s with one setup was there from %s until %s, and %s with the other from %s until %s",
					a.run, a.from, a.until, b.run, b.from, b.until)
			}
		}
	}
	for _, r := range runs {
		r.hub.of(r.run).nothingLeft(beforeForce)
		w.of(r.run).nothingLeftThere(beforeForce)
	}
	w.await(10*time.Minute, "the lock to be free", func() string { return holder(w.locks().lease()) })
}

// span is when a run was on its target, in RFC 3339 of one clock.
type span struct{ run, from, until string }

func spanOf(pr *unstructured.Unstructured) span {
	a := pr.GetAnnotations()
	return span{pr.GetName(), a[contract.AnnotationAdmitted], a[contract.AnnotationReleased]}
}

// cleanAllTheTime has the janitors of all hubs look again and again until stop, which returns what they found.
func cleanAllTheTime(hubs []*lab) (stop func() []string) {
	var looking sync.WaitGroup
	var mu sync.Mutex
	var all []string
	done := make(chan struct{})
	for _, l := range hubs {
		looking.Go(func() {
			for {
				found := deleteLeaks(l)
				mu.Lock()
				all = append(all, found...)
				mu.Unlock()
				select {
				case <-done:
					return
				case <-time.After(5 * time.Second):
				}
			}
		})
	}
	return func() []string {
		close(done)
		looking.Wait()
		return all
	}
}

// deleteLeaks is what the janitor of a hub finds, and deletes.
func deleteLeaks(l *lab) (all []string) {
	r, err := l.try(time.Minute, bflowPath(), "janitor", "-n", namespace, "-o", "json")
	if err != nil {
		return []string{err.Error()}
	}
	var found []json.RawMessage
	if err := json.Unmarshal([]byte(r.out), &found); err != nil || r.code != 0 {
		return []string{r.out + r.err}
	}
	for _, f := range found {
		all = append(all, string(f))
	}
	return all
}
