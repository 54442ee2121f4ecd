package verdict

import (
	"fmt"
	"testing"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/runplan"
)

// ran is a run with stages at rates, each with the value of its objective: ttft p99 at most 50 ms.
func ran(name string, values map[float64]float64, edit ...func(*report.Stage)) *report.Report {
	r := &report.Report{Plan: &runplan.RunPlan{Name: name}, Measurements: []report.Measurement{{}}}
	for _, rate := range []float64{350, 150, 250} { // in no order
		v, ok := values[rate]
		if !ok {
			continue
		}
		s := report.Stage{Valid: true, Gates: []report.Gate{
			{Metric: "error_rate", Default: true, Verdict: Pass, Value: new(float64), Limit: 0.01},
			{Metric: "ttft", Quantile: "p99", Unit: "ms", Limit: 50, Value: &v, Verdict: Pass},
		}}
		if v > 50 {
			s.Gates[1].Verdict = Fail
		}
		s.Planned = runplan.Stage{Name: fmt.Sprintf("rate-%g", rate), Measure: true, Rate: rate}
		for _, e := range edit {
			e(&s)
		}
		r.Measurements[0].Pooled.Stages = append(r.Measurements[0].Pooled.Stages, s)
	}
	return r
}

func TestWhatRunsHaveFoundIsOneSentence(t *testing.T) {
	invalid := func(rate float64) func(*report.Stage) {
		return func(s *report.Stage) { s.Valid = s.Planned.Rate != rate }
	}
	for _, row := range []struct {
		name    string
		reports []*report.Report
		want    string
	}{
		{name: "one holds it everywhere, one misses it", reports: []*report.Report{
			ran("seqs=24", map[float64]float64{150: 8.8, 250: 18.4, 350: 221}),
			ran("seqs=64", map[float64]float64{150: 8.8, 250: 9, 350: 9.2})},
			want: "seqs=24 holds ttft p99 ≤ 50 ms up to 250/s (18.4 ms, 63 % below the limit) and misses it at 350/s " +
				"(221 ms, 4.4 times the limit); " +
				"seqs=64 holds it up to 350/s (9.2 ms, 82 % below the limit)"},
		{name: "none holds it", reports: []*report.Report{ran("a", map[float64]float64{150: 60, 250: 70})},
			want: "a misses ttft p99 ≤ 50 ms from 150/s on (60 ms, 20 % above the limit)"},
		{name: "what is above a miss does not count",
			reports: []*report.Report{ran("a", map[float64]float64{150: 8, 250: 70, 350: 10})},
			want: "a holds ttft p99 ≤ 50 ms up to 150/s (8 ms, 84 % below the limit) and misses it at 250/s (70 ms, " +
				"40 % above the limit)"},
		{name: "an invalid stage says nothing",
			reports: []*report.Report{ran("a", map[float64]float64{150: 8, 250: 70}, invalid(250))},
			want:    "a holds ttft p99 ≤ 50 ms up to 150/s (8 ms, 84 % below the limit)"},
		{name: "a closed loop", reports: []*report.Report{ran(
			"a", map[float64]float64{150: 8}, func(s *report.Stage) { s.Planned.Rate, s.Planned.Concurrency = 0, 16 })},
			want: "a holds ttft p99 ≤ 50 ms up to 16 streams (8 ms, 84 % below the limit)"},
		{name: "no objective", reports: []*report.Report{
			ran("a", map[float64]float64{150: 8}, func(s *report.Stage) { s.Gates = s.Gates[:1] })}},
		{name: "nothing decided", reports: []*report.Report{
			ran("a", map[float64]float64{150: 8}, func(s *report.Stage) { s.Gates[1].Verdict = Inconclusive })}},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := Sustained(row.reports); got != row.want {
				t.Errorf("got  %s\nwant %s", got, row.want)
			}
		})
	}
}
