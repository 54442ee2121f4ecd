package lock_test

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"bflow.dev/bflow/queue/lock/history"
)

const (
	histories = 10_000
	troubled  = 600    // steps in which things go wrong
	enough    = 20_000 // steps after which every run must have ended
)

// play is one random history: troubled steps with faults, then as many as are needed without. It returns what was
// wrong.
func play(seed uint64, steps int, f flaws) (*world, []string) {
	w := newWorld(seed, f)
	for range steps {
		w.tick()
	}
	w.heal()
	n := 0
	for ; n < enough && !w.done(); n++ {
		w.tick()
	}
	wrong := w.wrong
	if !w.done() {
		wrong = append(wrong, "not every run ends: "+w.unfinishedRuns())
	}
	lost := slices.ContainsFunc(w.hubs, func(h *hub) bool { return h.lost })
	for _, err := range history.Check(w.events, history.Options{Open: lost || !w.done()}) {
		wrong = append(wrong, err.Error())
	}
	return w, wrong
}

func (w *world) unfinishedRuns() string {
	var out []string
	for _, h := range w.hubs {
		for _, r := range h.runs {
			if r.state != released {
				out = append(out, fmt.Sprintf("%s (key %q, state %d)", r.name, r.key, r.state))
			}
		}
	}
	return strings.Join(out, ", ") + fmt.Sprintf("; lease %+v", w.lease)
}

// shrink finds the shortest trouble that goes wrong with a seed: what came after it was not needed.
func shrink(seed uint64, f flaws) (int, *world, []string) {
	for steps := 0; steps < troubled; steps++ {
		if w, wrong := play(seed, steps, f); len(wrong) > 0 {
			return steps, w, wrong
		}
	}
	w, wrong := play(seed, troubled, f)
	return troubled, w, wrong
}

func report(seed uint64, f flaws) string {
	steps, w, wrong := shrink(seed, f)
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d, after %d steps of trouble (BFLOW_LOCK_SEED=%d plays it alone):\n  %s\n", seed, steps, seed,
		strings.Join(wrong, "\n  "))
	for _, e := range w.events {
		fmt.Fprintf(&b, "    %v\n", e)
	}
	return b.String()
}

// search plays histories on all processors until one goes wrong, and returns its seed.
func search(first, count uint64, f flaws) (bad uint64, found bool) {
	var next atomic.Uint64
	next.Store(first)
	var once sync.Once
	var stop atomic.Bool
	var workers sync.WaitGroup
	for range runtime.GOMAXPROCS(0) {
		workers.Go(func() {
			for !stop.Load() {
				seed := next.Add(1) - 1
				if seed >= first+count {
					return
				}
				if _, wrong := play(seed, troubled, f); len(wrong) > 0 {
					stop.Store(true)
					once.Do(func() { bad, found = seed, true })
				}
			}
		})
	}
	workers.Wait()
	return bad, found
}

// TestNoTwoSetupKeysAreInUseAtOnce plays random histories of one to three hubs at one target: runs come, wait, start
// and end; controllers crash and forget; lines are cut; answers are lost; clocks differ by up to four minutes.
func TestNoTwoSetupKeysAreInUseAtOnce(t *testing.T) {
	if text := os.Getenv("BFLOW_LOCK_SEED"); text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		t.Log(report(seed, flaws{}))
		return
	}
	if seed, found := search(1, histories, flaws{}); found {
		t.Fatal(report(seed, flaws{}))
	}
	t.Logf("%d histories", histories)
}

// TestTheModelFindsFlaws: a test that finds nothing must be known to be able to.
func TestTheModelFindsFlaws(t *testing.T) {
	for _, row := range []struct {
		name  string
		flaws flaws
	}{
		{"tasks that compare no fences", flaws{noFence: true}},
		{"a takeover while the old holder is alive", flaws{hasty: true}},
		{"a Lease that is let go while runs use it", flaws{forgetful: true}},
	} {
		t.Run(row.name, func(t *testing.T) {
			if _, found := search(1, 3000, row.flaws); !found {
				t.Error("3000 histories show nothing of it")
			}
		})
	}
}
