package demand

import (
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"bflow.dev/bflow/runplan"
)

func TestWhatNoLoadCanHoldIsSaid(t *testing.T) {
	const huge = 999_999_999_999_999_999
	for _, row := range []struct {
		name   string
		change func(m *runplan.Measurement, s *runplan.Stage)
		want   string // "" = it is within the bounds
	}{
		{name: "a stage of a million requests", change: func(_ *runplan.Measurement, s *runplan.Stage) { s.Requests = 1e6 }},
		{name: "requests", change: func(_ *runplan.Measurement, s *runplan.Stage) { s.Requests = huge },
			want: "stages[0].requests is 999999999999999999, want at most 2147483647"},
		{name: "requests that are all put at once", want: "stages[0].requests is 2000000, want at most 1000000",
			change: func(_ *runplan.Measurement, s *runplan.Stage) {
				s.Shape, s.Concurrency, s.Requests = runplan.ShapeThroughput, 0, 2e6
			}},
		{name: "streams", change: func(_ *runplan.Measurement, s *runplan.Stage) { s.Concurrency = huge },
			want: "stages[0].concurrency is 999999999999999999, want at most 1000000"},
		{name: "a cap of an open loop that is none", change: func(_ *runplan.Measurement, s *runplan.Stage) {
			s.Shape, s.MaxInflight = runplan.ShapeOpen, math.MaxInt32
		}},
		{name: "a rate", change: func(_ *runplan.Measurement, s *runplan.Stage) { s.Rate = huge },
			want: "stages[0].rate is 1000000000000000000, want at most 1000000"},
		{name: "a length of time", change: func(_ *runplan.Measurement, s *runplan.Stage) { s.Duration = huge * 9 },
			want: "stages[0].duration is 2499999h59m59.999999991s, want at most ten years"},
		{name: "ten years", change: func(
			_ *runplan.Measurement, s *runplan.Stage) {
			s.Duration = runplan.Duration(runplan.LongestTime)
		}},
		{name: "a pause", change: func(m *runplan.Measurement, _ *runplan.Stage) { m.SamplePause = math.MaxInt64 },
			want: "samplePause is"},
		{name: "tokens of a prompt",
			change: func(m *runplan.Measurement, _ *runplan.Stage) { m.Data.Input = &runplan.Length{Mean: huge} },
			want:   "data.input.mean is 1000000000000000000, want at most 10000000"},
		{name: "tokens of a shared prefix",
			change: func(_ *runplan.Measurement, s *runplan.Stage) { s.Prefixes = []runplan.Prefix{{Tokens: huge}} },
			want:   "stages[0].prefixes[0].tokens is"},
		{name: "the pictures of a request", change: func(m *runplan.Measurement, _ *runplan.Stage) {
			m.Data.Images = &runplan.Images{Count: 1001, Width: 8192, Height: 8192}
		},
			want: "data.images.count is 1001, want at most 1000"},
		{name: "the side of a picture", change: func(m *runplan.Measurement, _ *runplan.Stage) {
			m.Data.Images = &runplan.Images{Count: 1, Width: 8193, Height: 1}
		},
			want: "data.images.width is 8193, want at most 8192"},
		{name: "samples", change: func(m *runplan.Measurement, _ *runplan.Stage) { m.Samples = huge }, want: "samples is"},
		{name: "plays of a trace",
			change: func(m *runplan.Measurement, _ *runplan.Stage) { m.Data.Trace = &runplan.Trace{Repeat: huge} },
			want:   "data.trace.repeat is"},
		{name: "the wait before a repetition",
			change: func(m *runplan.Measurement, _ *runplan.Stage) { m.API.Retry = &runplan.Retry{Backoff: huge * 2} },
			want:   "api.retry.backoff is"},
		{name: "a level of a search", change: func(m *runplan.Measurement, _ *runplan.Stage) {
			m.Search = &runplan.Search{Level: &runplan.Stage{Requests: huge}}
		}, want: "search.level.requests is"},
	} {
		t.Run(row.name, func(t *testing.T) {
			stage := runplan.Stage{Shape: runplan.ShapeClosed, Concurrency: 2, Duration: runplan.Duration(time.Minute)}
			m := &runplan.Measurement{Samples: 1, Stages: []runplan.Stage{stage}}
			row.change(m, &m.Stages[0])
			err := errors.Join(Bounds(m)...)
			if (err == nil) != (row.want == "") || err != nil && !strings.Contains(err.Error(), row.want) {
				t.Errorf("got %v, want %q", err, row.want)
			}
		})
	}
}

func TestTheRoomOfAHugePlanIsAFigure(t *testing.T) {
	p := &runplan.RunPlan{Execution: runplan.Execution{OnInvalid: runplan.InvalidRetry}}
	m := runplan.Measurement{
		Samples: math.MaxInt32, Record: &runplan.Record{Gaps: true, Texts: math.MaxInt32},
		Stages: []runplan.Stage{{Rate: 1e6, Duration: runplan.Duration(runplan.LongestTime)}},
	}
	if p.Measurements = []runplan.Measurement{m, m}; Room(p) < 1<<60 {
		t.Errorf("%d bytes", Room(p))
	}
}
