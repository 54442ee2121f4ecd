package report

import (
	"bytes"
	"strings"
	"testing"

	"bflow.dev/bflow/internal/screen"
	"bflow.dev/bflow/runplan"
)

// ladder is a report with a stage per row: rate, successful requests, verdict.
type rung struct {
	rate    float64
	ok      int
	verdict string
}

func ladder(rungs ...rung) *Report {
	r := &Report{Run: RunInfo{ID: "run-1"}, Plan: &runplan.RunPlan{Name: "ladder"}, Verdict: Verdict{Verdict: "pass"}}
	m := Measurement{}
	for _, one := range rungs {
		s := Stage{Verdict: one.verdict, WindowS: 10}
		s.Planned = runplan.Stage{Name: "s", Measure: true, Rate: one.rate}
		s.Counts.ByStatus = map[string]int{StatusOK: one.ok}
		m.Pooled.Stages = append(m.Pooled.Stages, s)
	}
	r.Measurements = []Measurement{m}
	return r
}

func TestHeadline(t *testing.T) {
	tests := []struct {
		name  string
		rungs []rung
		want  float64 // its rate, -1: none
	}{
		{name: "the highest load that passes", rungs: []rung{{10, 1, "pass"}, {20, 1, "pass"}, {30, 1, "fail"}}, want: 20},
		{name: "the order of the stages does not matter", rungs: []rung{{20, 1, "pass"}, {10, 1, "pass"}}, want: 20},
		{name: "none passes: the last that answered",
			rungs: []rung{{10, 1, "fail"}, {20, 1, "invalid"}, {30, 0, "fail"}}, want: 20},
		{name: "none answered: the last", rungs: []rung{{10, 0, "fail"}, {20, 0, "fail"}}, want: 20},
		{name: "no stage: none", want: -1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := -1.0
			if s := Headline(ladder(tt.rungs...)); s != nil {
				got = s.Planned.Rate
			}
			if got != tt.want {
				t.Errorf("rate %v, want %v", got, tt.want)
			}
		})
	}
}

func TestTableFitsAndMarksWhatIsUnreliable(t *testing.T) {
	r := ladder(rung{1e5, 10, "inconclusive"})
	r.Plan.Axes = []runplan.AxisValue{
		{Path: "engine.sim.max_num_batched_tokens", Value: 123456789}, {Path: "overrides.scale.replicas", Value: 4},
	}
	s := &r.Measurements[0].Pooled.Stages[0]
	s.Planned.Name = "a-stage-with-a-long-name"
	s.Metrics, s.Rates = map[string]Metric{}, map[string]float64{"request_rate": 123456, "output_token_rate": 9876543}
	for _, name := range []string{"ttft", "itl", "e2e"} {
		s.Metrics[name] = Metric{
			Quantiles: map[string]float64{"p50": 123.4, "p95": 12345.6, "p99": 123456}, LowN: []string{"p99"},
		}
	}
	for width, most := range map[int]int{0: 120, 200: 200, 80: 80, 60: 60} {
		var b bytes.Buffer
		if err := Table(&b, screen.Screen{Width: width}, r, ladder()); err != nil {
			t.Fatal(err)
		}
		text := b.String()
		head, _, _ := strings.Cut(text, "verdict of")
		for line := range strings.Lines(head) {
			if n := len([]rune(strings.TrimRight(line, "\n"))); n > most {
				t.Errorf("%d columns of %d: %s", n, most, line)
			}
		}
		if missing := strings.Contains(text, "columns have no room here"); missing != (most < 120) {
			t.Errorf("with %d columns it says that some are missing: %v\n%s", width, missing, text)
		}
		if most >= 120 && (!strings.Contains(text, "123k~") || strings.Contains(text, "12.3k~") ||
			!strings.Contains(text, "~ fewer than ten values")) {
			t.Errorf("low_n is not marked:\n%s", text)
		}
	}
}
