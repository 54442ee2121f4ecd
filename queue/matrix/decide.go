package matrix

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"bflow.dev/bflow/queue/matrix/state"
	"bflow.dev/bflow/queue/retry"
	"bflow.dev/bflow/queue/run"
	"bflow.dev/bflow/runplan/contract"
)

const (
	// fewest is how many runs wait in each queue at least, as long as there are some: a short run must find the next
	// one there when it ends.
	fewest = 20
	// ahead is how many times the runs that run may wait.
	ahead = 2
	// overheadGuess is what a run takes beside its load, as long as none has shown it.
	overheadGuess = 2 * time.Minute
)

// rules are what a person said about a matrix.
type rules struct {
	maxParallel int // 0 = no limit of its own
	failFast    bool
}

// sight is a matrix as it is: its runs and what is written down of it.
type sight struct {
	rules    rules
	about    func(i int) about // nil when the points are not known: then nothing is made
	outcomes []state.Outcome
	children map[int]*child
	ending   bool // nothing more is made or let start
}

// write returns the outcomes as they are to be written: of runs that have ended, and that runs exist. A matrix that is
// ending makes no more: what is not made is skipped.
func (s *sight) write() []state.Outcome {
	out := slices.Clone(s.outcomes)
	for i, c := range s.children {
		switch {
		case out[i].Ended():
		case c.phase() == ended:
			out[i] = c.outcome()
		default:
			out[i] = state.Made
		}
	}
	for i, o := range out {
		if o == state.None && s.ending {
			out[i] = state.Skipped
		}
	}
	return out
}

// counts are those of outcomes, with where each run is that has none.
func (s *sight) counts(outcomes []state.Outcome) state.Counts {
	counts := state.Tally(outcomes)
	for i, o := range outcomes {
		if o != state.Made {
			continue
		}
		if c := s.children[i]; c != nil && c.phase() == queued {
			counts.Queued++
		} else {
			counts.Running++
		}
	}
	return counts
}

// lost are points whose run was there and is no more, though nothing was written down of its end.
func (s *sight) lost() []int {
	var out []int
	for i, o := range s.outcomes {
		if o == state.Made && s.children[i] == nil {
			out = append(out, i)
		}
	}
	return out
}

// lane is what a queue has of a matrix.
type lane struct {
	waiting, queued, running int
	oldest                   *child // of those that are queued
	expected                 time.Duration
}

func (s *sight) lanes() map[string]*lane {
	lanes := map[string]*lane{}
	for i, o := range s.outcomes {
		if o.Ended() {
			continue
		}
		about := s.about(i)
		l := lanes[about.lane]
		if l == nil {
			l = &lane{}
			lanes[about.lane] = l
		}
		l.expected += about.expected
		c := s.children[i]
		switch {
		case c == nil:
			l.waiting++
		case c.phase() == queued:
			if l.queued++; l.oldest == nil {
				l.oldest = c
			}
		case c.phase() == running:
			l.running++
		}
	}
	return lanes
}

// next are the points, in order, whose runs are to be made now: so many that every queue has enough to do, and no more
// than may be there at once.
func (s *sight) next() []int {
	if s.ending || s.about == nil {
		return nil
	}
	lanes := s.lanes()
	open, alive := 0, 0
	for _, l := range lanes {
		alive += l.queued + l.running
		open += l.waiting
	}
	var out []int
	for i, o := range s.outcomes {
		if open == 0 || s.rules.maxParallel > 0 && alive >= s.rules.maxParallel {
			break
		}
		if o != state.None || s.children[i] != nil {
			continue
		}
		l := lanes[s.about(i).lane]
		if l.queued >= max(ahead*l.running, fewest) {
			continue
		}
		l.queued++
		l.waiting--
		open--
		alive++
		out = append(out, i)
	}
	return out
}

// waits says what the matrix waits for, a sentence per queue where nothing of it runs.
func (s *sight) waits() []string {
	if s.about == nil {
		return nil
	}
	const most = 3
	var out []string
	lanes := s.lanes()
	for _, name := range slices.Sorted(maps.Keys(lanes)) {
		l := lanes[name]
		if l.oldest == nil || l.running > 0 || len(out) == most {
			continue
		}
		reason := l.oldest.last().Annotations[contract.AnnotationReason]
		if reason == "" {
			reason = "nothing has said yet why it waits"
		}
		out = append(out, fmt.Sprintf("queue %q: %s", name, reason))
	}
	return out
}

// finish guesses when the matrix will have ended, from what its runs took so far; before one has ended, from its plans.
func (s *sight) finish(spent map[string]state.Spent, now time.Time) time.Time {
	if s.about == nil || s.ending {
		return time.Time{}
	}
	longest := time.Duration(0)
	for name, l := range s.lanes() {
		left := l.waiting + l.queued + l.running
		mean := l.expected/time.Duration(max(left, 1)) + overheadGuess
		if did := spent[name]; did.Runs > 0 {
			mean = time.Duration(did.Seconds / float64(did.Runs) * float64(time.Second))
		}
		if l.running == 0 && len(spent) == 0 || left == 0 {
			continue // nobody knows when it begins
		}
		rest := float64(l.waiting+l.queued) + float64(l.running)/2
		longest = max(longest, time.Duration(rest/float64(max(l.running, 1))*float64(mean)))
	}
	if longest == 0 {
		return time.Time{}
	}
	return now.Add(longest).Truncate(time.Second)
}

// failed is the run for which a matrix that must end at its first failure ends, in words; "" for none. It is known
// before the run has given back what it holds, so that none takes its place.
func (s *sight) failed(outcomes []state.Outcome) string {
	if !s.rules.failFast {
		return ""
	}
	for i, o := range outcomes {
		name := fmt.Sprintf("point %d", i+1)
		if c := s.children[i]; c != nil {
			if name = run.ID(c.last()); c.last().IsDone() && !retry.Due(c.last()) {
				o = c.outcome()
			}
		}
		if o.Red() {
			return fmt.Sprintf("nothing more starts: %s %s, and the matrix ends with its first failure (fail_fast)", name,
				o.Word())
		}
	}
	return ""
}
