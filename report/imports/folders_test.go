package imports_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/report/imports"
)

// runsOfInferencePerf copies the results of one run of the tool into folders, written an hour apart, as later runs
// leave them; edit changes the files of a copy.
func runsOfInferencePerf(t *testing.T, edit func(copied int, data []byte) []byte) []string {
	t.Helper()
	const from = "testdata/inference-perf-0.7.0"
	var folders []string
	for i := range 3 {
		folder := filepath.Join(t.TempDir(), "results")
		check(t, os.Mkdir(folder, 0o755))
		files, err := os.ReadDir(from)
		check(t, err)
		for _, f := range files {
			data, err := os.ReadFile(filepath.Join(from, f.Name()))
			check(t, err)
			path := filepath.Join(folder, f.Name())
			check(t, os.WriteFile(path, edit(i, data), 0o644))
			at := time.Date(2026, 11, 1, 10+i, 0, 0, 0, time.UTC)
			check(t, os.Chtimes(path, at, at))
		}
		folders = append(folders, folder)
	}
	return folders
}

// TestEveryFolderOfInferencePerfIsImported: each run of the tool gives its files the same names.
func TestEveryFolderOfInferencePerfIsImported(t *testing.T) {
	folders := runsOfInferencePerf(t, func(copied int, data []byte) []byte {
		if copied == 1 { // its server counts in another way
			data = bytes.ReplaceAll(data, []byte(`"concurrency": 2`), []byte(`"concurrency": 4`))
		}
		return data
	})
	out, r := imported(t, folders...)
	stages, rows := r.Measurements[0].Pooled.Stages, rowsOf(t, out)
	if len(stages) != 3 || len(rows) != 12 {
		t.Fatalf("%d stages, %d rows; want 3 and 12", len(stages), len(rows))
	}
	if stages[0].Planned.Concurrency != 2 || stages[1].Planned.Concurrency != 4 || stages[2].Planned.Concurrency != 2 {
		t.Errorf("the folders are not in their order: %+v", stages)
	}
	_, list, err := report.ReadRows(filepath.Join(report.MeasurementDir(out, 0), "requests.jsonl.gz"))
	check(t, err)
	for i, s := range stages {
		if s.Counts.ByStatus[report.StatusOK] != 4 {
			t.Errorf("stage %d: counts %+v", i, s.Counts)
		}
		if i > 0 {
			near(t, "an hour between the runs", float64(s.StartNS-stages[i-1].StartNS)/1e9, 3600, 1e-3)
		}
		for _, row := range list {
			if within := *row.TSend >= s.StartNS-stages[0].StartNS &&
				*row.TSend <= s.DrainEndNS-stages[0].StartNS; (row.Stage == i) != within {
				t.Errorf("request %s of stage %d was sent %d ns after the first stage began", row.ID, row.Stage, *row.TSend)
			}
		}
	}
	kept, err := filepath.Glob(filepath.Join(out, "source", "*stage_0_lifecycle_metrics.json"))
	if err != nil || len(kept) != 3 {
		t.Errorf("kept are %q, %v", kept, err)
	}
	if notes := strings.Join(r.Measurements[0].Notes, "\n"); !strings.Contains(notes,
		"the results are of 3 runs of the tool") {
		t.Errorf("notes: %s", notes)
	}
}

func TestFoldersOfInferencePerfOfTwoModelsAreNoOneRun(t *testing.T) {
	folders := runsOfInferencePerf(t, func(copied int, data []byte) []byte {
		if copied == 2 {
			data = bytes.ReplaceAll(data, []byte("model_name: ref-model"), []byte("model_name: other-model"))
		}
		return data
	})
	docs, err := imports.Open(t.Context(), folders, t.TempDir())
	check(t, err)
	_, err = imports.Read(t.Context(), docs, imports.Auto)
	if err == nil || !strings.Contains(err.Error(),
		`it is of model "other-model", and results before it of "ref-model"; import them one by one`) {
		t.Errorf("got %v", err)
	}
}
