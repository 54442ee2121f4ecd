package demand

import (
	"testing"
	"time"

	"bflow.dev/bflow/runplan"
)

func TestTheRoomOfResultsFollowsFromThePlan(t *testing.T) {
	const mib = 1 << 20
	stage := func(edit func(*runplan.Stage)) runplan.Measurement {
		s := runplan.Stage{Name: "s", Duration: runplan.Duration(time.Minute)}
		edit(&s)
		return runplan.Measurement{Stages: []runplan.Stage{s}, Samples: 1}
	}
	rate := stage(func(s *runplan.Stage) { s.Rate = 1000 })
	with := func(m runplan.Measurement, edit func(*runplan.Measurement)) runplan.Measurement {
		edit(&m)
		return m
	}
	for _, row := range []struct {
		name      string
		m         runplan.Measurement
		onInvalid string
		from, to  int64 // MiB
	}{
		{"a minute of 1,000 requests a second", rate, runplan.InvalidMark, 256 + 8 + 29, 256 + 8 + 31},
		{"as often as an invalid stage is measured", rate, runplan.InvalidRetry, 256 + 3*(8+29), 256 + 3*(8+31)},
		{"of each sample", with(rate, func(m *runplan.Measurement) { m.Samples = 2 }), runplan.InvalidMark,
			256 + 2*(8+29), 256 + 2*(8+31)},
		{"every gap is kept", with(rate, func(m *runplan.Measurement) { m.Record = &runplan.Record{Gaps: true} }),
			runplan.InvalidMark, 256 + 8 + 146, 256 + 8 + 148},
		{"texts are kept", with(rate, func(m *runplan.Measurement) { m.Record = &runplan.Record{Texts: 1000} }),
			runplan.InvalidMark, 256 + 8 + 29 + 15, 256 + 8 + 31 + 16},
		{"streams, of which nobody knows how fast they are", stage(func(s *runplan.Stage) { s.Concurrency = 50 }),
			runplan.InvalidMark, 256 + 8 + 29, 256 + 8 + 31},
		{"as much as the server takes, up to a cap",
			stage(func(s *runplan.Stage) { s.Shape, s.MaxInflight = runplan.ShapeThroughput, 50 }), runplan.InvalidMark,
			256 + 8 + 29, 256 + 8 + 31},
		{"as much as the server takes", stage(func(s *runplan.Stage) { s.Shape = runplan.ShapeThroughput }),
			runplan.InvalidMark, 256 + 8 + 299, 256 + 8 + 301},
		{"a rate between those of two stages before",
			stage(func(s *runplan.Stage) { s.Shape, s.Between = runplan.ShapeOpen, &runplan.Between{} }),
			runplan.InvalidMark, 256 + 8 + 299, 256 + 8 + 301},
		{"a recorded load, of which nobody knows how much it is",
			stage(func(s *runplan.Stage) { s.Shape = runplan.ShapeTrace }), runplan.InvalidMark, 256 + 8, 256 + 8},
		{"a number of requests", stage(func(s *runplan.Stage) { s.Concurrency, s.Requests, s.Duration = 50, 100, 0 }),
			runplan.InvalidMark, 256 + 8, 256 + 9},
		{"a search, whose levels no plan lists", runplan.Measurement{Search: &runplan.Search{}, Samples: 1},
			runplan.InvalidMark, 256 + 4096, 256 + 4096},
		{"a tool of others", runplan.Measurement{Runner: runplan.RunnerExternal, Samples: 1}, runplan.InvalidMark,
			256 + 4096, 256 + 4096},
	} {
		plan := &runplan.RunPlan{
			Measurements: []runplan.Measurement{row.m}, Execution: runplan.Execution{OnInvalid: row.onInvalid},
		}
		if got := Room(plan) / mib; got < row.from || got > row.to {
			t.Errorf("%s: %d MiB, want %d to %d", row.name, got, row.from, row.to)
		}
	}
}
