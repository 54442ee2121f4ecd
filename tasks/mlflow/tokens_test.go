package mlflow

import (
	"path/filepath"
	"testing"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
)

// answer is a row whose tokens came evenly, the first and every later one after the given ms.
func answer(tokens int, toFirst, gap float64) report.Row {
	send := int64(1e6)
	first := send + int64(toFirst*1e6)
	last := first + int64(gap*1e6)*int64(tokens-1)
	return report.Row{
		Phase: report.PhaseMeasured, Status: report.StatusOK, TSend: &send, TFirst: &first,
		TLast: &last, TokensOut: &tokens,
	}
}

func writeRows(t *testing.T, dir string, rows ...report.Row) {
	t.Helper()
	w, err := report.CreateRows(filepath.Join(dir, contract.FileRequests))
	if err != nil {
		t.Fatal(err)
	}
	for i := range rows {
		if err := w.Write(&rows[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Finish(report.Header{}); err != nil {
		t.Fatal(err)
	}
}

func TestPerTokenLatenciesOfTheOldNamesWeighRequestsByTokens(t *testing.T) {
	dir := t.TempDir()
	skipped, failed := answer(50, 1000, 100), answer(50, 1000, 100)
	skipped.Phase, failed.Status = report.PhaseSkipped, report.StatusFailed
	// 1 token after 20 ms; 3 tokens at 20, 24, 28; 9 tokens at 20, 22, ... 36.
	writeRows(t, dir, answer(1, 20, 0), answer(3, 20, 4), answer(9, 20, 2), skipped, failed)
	stages := []report.StageResult{{Planned: runplan.Stage{Measure: true}}, {Stage: 1}}
	addByToken(dir, stages)
	got := stageValues(&stages[0])
	for key, want := range map[string]float64{
		"tpot/tpot_mean_ms": (20 + 28 + 36.0) / 13, "itl/itl_mean_ms": (2*4 + 8*2) / 10.0,
		"tpot/tpot_median_ms": 4, "tpot/tpot_p95_ms": 20, "itl/itl_median_ms": 2, "itl/itl_p95_ms": 4,
	} {
		if d := got[key] - want; d > 1e-9 || d < -1e-9 {
			t.Errorf("%s = %v, want %v", key, got[key], want)
		}
	}
	if len(stages[1].Metrics) > 0 {
		t.Errorf("a stage without rows has %v", stages[1].Metrics)
	}
}

func TestWithoutRowsTheirWeightedLatenciesAreAbsent(t *testing.T) {
	stages := []report.StageResult{{Metrics: map[string]report.Metric{"tpot": {Mean: 3}, "tpot_incl": {Mean: 4}}}}
	addByToken(t.TempDir(), stages)
	got := stageValues(&stages[0])
	for _, key := range []string{"tpot/tpot_mean_ms", "itl/itl_mean_ms"} {
		if v, ok := got[key]; ok {
			t.Errorf("%s = %v, although tokens are not known", key, v)
		}
	}
	if got["tpot/tpot_excl_first_mean_ms"] != 3 {
		t.Errorf("the mean over requests is %v", got["tpot/tpot_excl_first_mean_ms"])
	}
}
