package check

import (
	"os"
	"strconv"
	"strings"
	"testing"
)

const (
	histories = 10_000
	few       = 5_000  // histories, of which one shows a fault that is let happen
	troubled  = 90     // steps in which things go wrong
	enough    = 10_000 // steps after which every run must have ended
)

// guard is what keeps the devices of a target from being promised twice, and what a model can be played without.
type guard int

const (
	none     guard = iota
	names          // runs of two namespaces that have one name are two runs
	term           // whoever's Lease is over writes nothing
	ownClock       // a Lease is over by the clock of who watches it
	fresh          // a replica that stood still lets its cache catch up before it leads
	versions       // an answer is for a Workload as it was seen
	sighted        // a target that is known again is not judged before its pods were seen
	marked         // nothing starts where force may have left pods
)

// TestNeverMoreDevicesThanThereAre plays random histories of two controllers at one target. Runs of three namespaces
// with the same names come, wait, are let start, make their pods one after the other, and end or are cancelled; they
// are released by force, deleted, and made again while their pods are there; namespaces are deleted. The target is
// away, or its Secret is. Controllers die between two answers and stand still, their clocks differ, and they see
// everything late. BFLOW_MODEL_SEED replays one history.
func TestNeverMoreDevicesThanThereAre(t *testing.T) {
	first, n := uint64(1), histories
	if text := os.Getenv("BFLOW_MODEL_SEED"); text != "" {
		seed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		first, n = seed, 1
	}
	var seen events
	for seed := first; seed < first+uint64(n); seed++ {
		wrong, saw := play(seed, none)
		if wrong != "" {
			t.Fatalf("BFLOW_MODEL_SEED=%d: %s", seed, wrong)
		}
		seen.add(saw)
	}
	t.Logf("%d histories from seed %d: %+v", n, first, seen)
	if n > 1 && seen.rare() {
		t.Error("something hardly ever happens in these histories")
	}
}

func TestTheModelSeesWhatEachGuardIsFor(t *testing.T) {
	const promised = "devices are held or promised"
	for _, row := range []struct {
		name    string
		without guard
		say     string
	}{
		{"runs that are taken for one another", names, promised},
		{"a leader that goes on after it stood still, though another one leads", term, promised},
		{"a lease that is over by a clock that is ahead", ownClock, promised},
		{"a replica that takes over with what it knew before it stood still", fresh, promised},
		{"an answer to a run that has ended, or to the next one of its name", versions, "was let start after its end"},
		{"a target that comes back and is taken for an empty one", sighted, promised},
		{"a run that starts beside the pods that the one before it left", marked, promised},
	} {
		t.Run(row.name, func(t *testing.T) {
			for seed := uint64(1); seed <= few; seed++ {
				if wrong, _ := play(seed, row.without); strings.Contains(wrong, row.say) {
					return
				}
			}
			t.Errorf("%d histories show nothing of it", few)
		})
	}
}

// play returns what was wrong in a history that is played without a guard, "" where nothing was, and what happened in
// it.
func play(seed uint64, without guard) (wrong string, saw events) {
	m := newModel(seed, without)
	for range troubled {
		m.step(m.IntN(20))
	}
	m.calm()
	for n := 0; n < enough && m.unfinished() != nil && m.wrong == ""; n++ {
		m.step(m.IntN(firstTrouble))
	}
	if r := m.unfinished(); r != nil && m.wrong == "" {
		m.wrong = "run " + r.String() + " never ends"
	}
	return m.wrong, m.saw
}
