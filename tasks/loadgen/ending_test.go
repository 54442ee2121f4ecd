package loadgen

import (
	"math"
	"testing"
	"time"

	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/tasks/loadgen/loop"
)

// sends is a shape that only notes what it is asked to send.
type sends struct {
	shaper
	d  *driver
	at []int64 // while the stage goes on
}

func (s *sends) due(now int64) {
	if !s.d.isStopped() {
		s.at = append(s.at, now)
	}
}

// drops is a shape that only notes that it is to give up what it has not sent.
type drops struct {
	sends
	dropped int
}

func (s *drops) drop() { s.dropped++ }

func TestTheDrainBeginsAtTheEndOfTheStage(t *testing.T) {
	for name, drain := range map[string]float64{"without a drain": 0, "with one of a second": 1} {
		t.Run(name, func(t *testing.T) {
			l, err := loop.New(time.Now())
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			length := seconds(drain)
			d := &driver{plan: runplan.Stage{Duration: seconds(1), Drain: &length}, loop: l, limits: limits{total: time.Hour}}
			s := &drops{sends: sends{d: d}}
			d.shape = s
			d.state.limit = math.MaxInt64
			d.start = d.now() - 1e9 // it ends now
			d.clock(d.now())
			if drained := d.state.limit - d.state.at; d.state.by != endedDuration || drained != int64(length) {
				t.Errorf("ended by %q, drained for %d ns", d.state.by, drained)
			}
			d.clock(d.state.limit - 1)
			if d.state.cut || s.dropped > 0 {
				t.Error("before the end of the drain what is in flight is cut")
			}
			d.clock(d.state.limit)
			if !d.state.cut || s.dropped != 1 {
				t.Errorf("at the end of the drain: cut %v, dropped %d times", d.state.cut, s.dropped)
			}
		})
	}
}

func TestWhatWasDueBeforeTheEndIsSentThoughTheClientIsLate(t *testing.T) {
	l, err := loop.New(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	d := &driver{plan: runplan.Stage{Duration: seconds(1)}, loop: l, start: 10}
	s := &sends{d: d}
	d.shape = s
	turn := false
	d.timers.at(11, func() { turn = !d.isStopped() })
	d.timers.at(10+1e9, func() { t.Error("what is due at the end is fired") })
	d.clock(10 + 1e9 + 1)
	if len(s.at) != 1 || s.at[0] != 9+1e9 || !turn {
		t.Errorf("asked for what is due at %v, turn %v", s.at, turn)
	}
	if d.state.by != endedDuration {
		t.Errorf("ended by %q", d.state.by)
	}
}
