package plan

import (
	"math"
	"testing"
	"time"

	"bflow.dev/bflow/runplan"
)

func d(v time.Duration) runplan.Duration { return runplan.Duration(v) }

func TestMeasurementTime(t *testing.T) {
	const limit = 3 * time.Hour
	zero := d(0)
	timed := runplan.Stage{Shape: runplan.ShapeClosed, Duration: d(time.Minute), PauseAfter: d(5 * time.Second)}
	for _, row := range []struct {
		name              string
		m                 runplan.Measurement
		expected, longest time.Duration
	}{
		{"stages and pauses add up, and each may wait for its last requests",
			runplan.Measurement{Samples: 1, Stages: []runplan.Stage{timed, timed},
				API: runplan.API{Timeout: d(10 * time.Second)}}, 130 * time.Second, 150 * time.Second},
		{"a stage that cuts its requests does not wait",
			runplan.Measurement{Samples: 1, Stages: []runplan.Stage{{Duration: d(time.Minute), Drain: &zero}},
				API: runplan.API{Timeout: d(time.Hour)}}, time.Minute, time.Minute},
		{"samples repeat everything, with pauses between them",
			runplan.Measurement{Samples: 3, SamplePause: d(time.Second),
				Stages: []runplan.Stage{{Duration: d(time.Minute), Drain: &zero}}}, 182 * time.Second, 182 * time.Second},
		{"an open loop knows how long its requests take",
			runplan.Measurement{Samples: 1, Stages: []runplan.Stage{
				{Shape: runplan.ShapeOpen, Requests: 90, Rate: 3, Ramp: d(2 * time.Second), Drain: &zero}}}, 32 * time.Second,
			32 * time.Second},
		{"a closed loop bounded by requests may take the whole run",
			runplan.Measurement{Samples: 1, Stages: []runplan.Stage{{Shape: runplan.ShapeClosed, Requests: 90}}}, limit, limit},
		{"a measurement without stages may take the whole run", runplan.Measurement{Samples: 1}, limit, limit},
		{"the run's limit holds", runplan.Measurement{Samples: 1 << 40, Stages: []runplan.Stage{timed}}, math.MaxInt64,
			limit},
		{"a request that may be put again takes as long as all its attempts and the waits between them",
			runplan.Measurement{Samples: 1, Stages: []runplan.Stage{{Duration: d(time.Minute)}},
				API: runplan.API{Timeout: d(10 * time.Second), Retry: &runplan.Retry{Attempts: 2, Backoff: d(time.Second)}}},
			time.Minute, 93 * time.Second},
		{"the window of a trace is as long as it is played",
			runplan.Measurement{Samples: 1, Data: runplan.Data{
				Trace: &runplan.Trace{From: d(time.Minute), To: d(3 * time.Minute), TimeScale: 0.5, Repeat: 3}},
				Stages: []runplan.Stage{{Shape: runplan.ShapeTrace, Drain: &zero}}}, 3 * time.Minute, 3 * time.Minute},
		{"a trace without a window may take the whole run",
			runplan.Measurement{Samples: 1, Data: runplan.Data{Trace: &runplan.Trace{}},
				Stages: []runplan.Stage{{Shape: runplan.ShapeTrace}}}, limit, limit},
		{"a search doubles, bisects, and may stretch each of its levels",
			runplan.Measurement{Samples: 1, Search: &runplan.Search{Goodput: 0.9, Low: 1, High: 16, Tolerance: 0.25,
				Level: &runplan.Stage{Shape: runplan.ShapeOpen, Duration: d(time.Minute), Drain: &zero}}}, 17 * time.Minute,
			68 * time.Minute},
		{"a search repeats its answer and the neighbours",
			runplan.Measurement{Samples: 1, Search: &runplan.Search{Goodput: 0.9, Low: 1, High: 16, Tolerance: 0.25, Repeats: 3,
				Level: &runplan.Stage{Duration: d(time.Minute), Drain: &zero}}}, 23 * time.Minute, 92 * time.Minute},
		{"a level that is bounded by requests is slowest at the lowest rate",
			runplan.Measurement{Samples: 1, Search: &runplan.Search{Goodput: 0.9, Low: 2, High: 4, Tolerance: 0.5,
				Level: &runplan.Stage{Shape: runplan.ShapeOpen, Requests: 120, Drain: &zero}}}, 12 * time.Minute, 48 * time.Minute},
		{"slots that are bounded by requests may take the whole run",
			runplan.Measurement{Samples: 1, Search: &runplan.Search{Goodput: 0.9, Low: 2, High: 4,
				Over: runplan.SearchConcurrency, Level: &runplan.Stage{Shape: runplan.ShapeClosed, Requests: 120}}}, limit, limit},
		{"a search that cannot be made may take the whole run", runplan.Measurement{Samples: 1, Search: &runplan.Search{}},
			limit, limit},
		{"stages come before a search",
			runplan.Measurement{Samples: 1, Stages: []runplan.Stage{{Duration: d(time.Minute), Drain: &zero}},
				Search: &runplan.Search{Goodput: 0.9, Low: 1, High: 16, Tolerance: 0.25,
					Level: &runplan.Stage{Duration: d(time.Minute), Drain: &zero}}}, 18 * time.Minute, 69 * time.Minute},
	} {
		t.Run(row.name, func(t *testing.T) {
			expected, longest := measurementTime(&row.m, limit)
			if expected != row.expected || longest != row.longest {
				t.Errorf("got %s and %s, want %s and %s", expected, longest, row.expected, row.longest)
			}
		})
	}
}

func TestTimeoutsHoldTogether(t *testing.T) {
	p := &runplan.RunPlan{
		Execution:  runplan.Execution{Phases: runplan.Phases{Deploy: true, Benchmark: true, Cleanup: true}},
		Deployment: runplan.Deployment{Engine: runplan.Engine{Kind: "sim", Sim: &runplan.Sim{Startup: d(time.Minute)}}},
		Measurements: []runplan.Measurement{{Samples: 1, Stages: []runplan.Stage{{Duration: d(time.Minute)}}},
			{Samples: 1, Stages: []runplan.Stage{{Duration: d(time.Minute)}}}},
	}
	for _, limit := range []time.Duration{time.Minute, 45 * time.Minute, 100 * time.Hour} {
		got := timeoutsOf(p, limit)
		if got.Ready.D() != 2*time.Minute || got.Tasks.D() > limit || got.Pipeline < got.Tasks+got.Finally ||
			len(got.Measurement) != 2 {
			t.Errorf("limit %s: %+v", limit, got)
		}
		var sum time.Duration
		for name, d := range got.Task {
			if d <= 0 || d > got.Tasks {
				t.Errorf("limit %s: task %s has %s of %s", limit, name, d, got.Tasks)
			}
			sum += d.D()
		}
		if limit > sum && got.Tasks.D() != sum {
			t.Errorf("all tasks have %s, their sum is %s", got.Tasks, sum)
		}
	}
}
