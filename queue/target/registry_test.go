package target_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"bflow.dev/bflow/internal/eventually"
	"bflow.dev/bflow/queue/target"
)

func TestTargetsComeAndGo(t *testing.T) {
	r := target.NewRegistry(target.Local(nil, nil))
	r.Put(target.Target{Name: "b"})
	r.Put(target.Target{Name: "a"})
	var names []string
	for _, one := range r.All() {
		names = append(names, one.Name)
	}
	if !slices.Equal(names, []string{"a", "b", "local"}) {
		t.Errorf("got %q", names)
	}
	r.Drop("a")
	if _, err := r.Find("a"); err == nil || !strings.Contains(err.Error(), "knows only b, local") {
		t.Errorf("a target that went: %v", err)
	}
	if sight, known := r.Look("b"); sight != nil || !known {
		t.Error("a target that nobody looks at is known all the same")
	}
}

func TestWhoListensHearsEveryTarget(t *testing.T) {
	r := target.NewRegistry()
	changes := r.Changes()
	silent := r.Changes() // nobody takes from this one, which holds up nobody
	r.Put(target.Target{Name: "a"})
	for range 1000 {
		r.Tell("b")
	}
	r.Put(target.Target{Name: "c"})
	heard := map[string]int{}
	for len(heard) < 3 {
		for _, name := range eventually.Receive(t, fmt.Sprintf("news of another target than %v", heard), changes) {
			heard[name]++
		}
	}
	if heard["b"] > 2 {
		t.Errorf("what nobody took yet was told %d times", heard["b"])
	}
	if names := <-silent; names[0] != "a" {
		t.Errorf("first came %q", names[0])
	}
}

// TestNobodyWhoListensLeavesAnythingBehind: a bubble ends only when all of its goroutines have ended.
func TestNobodyWhoListensLeavesAnythingBehind(t *testing.T) {
	synctest.Test(t, func(*testing.T) {
		r := target.NewRegistry(target.Local(nil, nil))
		r.Changes() // whoever asked for these has gone, and takes none
		r.Renewals()
		r.Tell("local")
		r.Renew("local")
	})
}

// TestEverythingAtOnce is for the race detector.
func TestEverythingAtOnce(t *testing.T) {
	r := target.NewRegistry()
	changes, done := r.Changes(), make(chan struct{})
	go func() {
		for {
			select {
			case <-changes:
			case <-done:
				return
			}
		}
	}()
	var all sync.WaitGroup
	for _, name := range strings.Fields("a b c d e f") {
		all.Go(func() {
			for range 200 {
				r.Put(target.Target{Name: name})
				r.Tell(name)
				r.All()
				r.Drop(name)
			}
		})
	}
	all.Wait()
	close(done)
	if left := r.All(); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}
