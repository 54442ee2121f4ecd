package inferenceperf

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/report/tools"
)

func TestPercentilesAreChosenAndOtherStatisticsStay(t *testing.T) {
	m := report.Metric{Mean: 1, Max: 9,
		Quantiles: map[string]float64{"p1": 1, "p50": 2, "p90": 3, "p99": 4, "p99_9": 5}}
	for _, tt := range []struct {
		percentiles []float64
		want        string
	}{
		{nil, "max mean median min p1 p90 p99 p99.9 total"},
		{[]float64{50, 99.9, 42}, "max mean median min p99.9 total"},
		{[]float64{}, "max mean min total"},
	} {
		v := (&totals{percentiles: tt.percentiles}).valuesOf(m, 1)
		v.set(statTotal, 7)
		if got := strings.Join(slices.Sorted(maps.Keys(v)), " "); got != tt.want {
			t.Errorf("of %v: %s, want %s", tt.percentiles, got, tt.want)
		}
	}
}

func TestPercentilesThatNoSummaryHasAreNotedOnce(t *testing.T) {
	var notes []string
	notePercentiles(tools.Run{Choices: tools.Choices{Percentiles: []float64{50, 42, 99.9, 42},
		Note: func(sentence string) { notes = append(notes, sentence) }}})
	if len(notes) != 1 || notes[0] != "percentile 42 is not one that load-gen writes in this format" {
		t.Errorf("%q", notes)
	}
}
