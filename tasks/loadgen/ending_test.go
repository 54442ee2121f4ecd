package loadgen

import (
	"testing"
	"time"

	"bflow.dev/bflow/tasks/loadgen/loop"
	"bflow.dev/bflow/tasks/runplan"
)

// sends is a shape that only notes what it is asked to send.
type sends struct {
	shaper
	d  *driver
	at []int64 // while the stage goes on
}

func (s *sends) due(now int64) {
	if !s.d.stopped() {
		s.at = append(s.at, now)
	}
}

func TestWhatWasDueBeforeTheEndIsSentThoughTheClientIsLate(t *testing.T) {
	l, err := loop.New(time.Now(), false)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	d := &driver{plan: runplan.Stage{Duration: seconds(1)}, loop: l, start: 10}
	s := &sends{d: d}
	d.shape = s
	turn := false
	d.timers.at(11, func() { turn = !d.stopped() })
	d.timers.at(10+1e9, func() { t.Error("what is due at the end is fired") })
	d.clock(10 + 1e9 + 1)
	if len(s.at) != 1 || s.at[0] != 9+1e9 || !turn {
		t.Errorf("asked for what is due at %v, turn %v", s.at, turn)
	}
	if d.state.by != endedDuration {
		t.Errorf("ended by %q", d.state.by)
	}
}
