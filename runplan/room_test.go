package runplan

import (
	"testing"
	"time"
)

func TestTheRoomOfResultsFollowsFromThePlan(t *testing.T) {
	const mib = 1 << 20
	stage := func(edit func(*Stage)) Measurement {
		s := Stage{Name: "s", Duration: Duration(time.Minute)}
		edit(&s)
		return Measurement{Stages: []Stage{s}, Samples: 1}
	}
	rate := stage(func(s *Stage) { s.Rate = 1000 })
	with := func(m Measurement, edit func(*Measurement)) Measurement {
		edit(&m)
		return m
	}
	for _, row := range []struct {
		name      string
		m         Measurement
		onInvalid string
		from, to  int64 // MiB
	}{
		{"a minute of 1,000 requests a second", rate, InvalidMark, 256 + 8 + 29, 256 + 8 + 31},
		{"as often as an invalid stage is measured", rate, InvalidRetry, 256 + 3*(8+29), 256 + 3*(8+31)},
		{"of each sample", with(rate, func(m *Measurement) { m.Samples = 2 }), InvalidMark, 256 + 2*(8+29), 256 + 2*(8+31)},
		{"every gap is kept", with(rate, func(m *Measurement) { m.Record = &Record{Gaps: true} }), InvalidMark, 256 + 8 + 146, 256 + 8 + 148},
		{"texts are kept", with(rate, func(m *Measurement) { m.Record = &Record{Texts: 1000} }), InvalidMark, 256 + 8 + 29 + 15, 256 + 8 + 31 + 16},
		{"streams, of which nobody knows how fast they are", stage(func(s *Stage) { s.Concurrency = 50 }), InvalidMark, 256 + 8 + 29, 256 + 8 + 31},
		{"as much as the server takes, up to a cap", stage(func(s *Stage) { s.Shape, s.MaxInflight = ShapeThroughput, 50 }), InvalidMark, 256 + 8 + 29, 256 + 8 + 31},
		{"as much as the server takes", stage(func(s *Stage) { s.Shape = ShapeThroughput }), InvalidMark, 256 + 8 + 299, 256 + 8 + 301},
		{"a rate between those of two stages before", stage(func(s *Stage) { s.Shape, s.Between = ShapeOpen, &Between{} }), InvalidMark, 256 + 8 + 299, 256 + 8 + 301},
		{"a recorded load, of which nobody knows how much it is", stage(func(s *Stage) { s.Shape = ShapeTrace }), InvalidMark, 256 + 8, 256 + 8},
		{"a number of requests", stage(func(s *Stage) { s.Concurrency, s.Requests, s.Duration = 50, 100, 0 }), InvalidMark, 256 + 8, 256 + 9},
		{"a search, whose levels no plan lists", Measurement{Search: &Search{}, Samples: 1}, InvalidMark, 256 + 4096, 256 + 4096},
		{"a tool of others", Measurement{Runner: RunnerExternal, Samples: 1}, InvalidMark, 256 + 4096, 256 + 4096},
	} {
		plan := &RunPlan{Measurements: []Measurement{row.m}, Execution: Execution{OnInvalid: row.onInvalid}}
		if got := plan.Room() / mib; got < row.from || got > row.to {
			t.Errorf("%s: %d MiB, want %d to %d", row.name, got, row.from, row.to)
		}
	}
}
