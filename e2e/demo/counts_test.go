package demo

import (
	"encoding/csv"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"bflow.dev/bflow/e2e/product"
	"bflow.dev/bflow/report"
	"bflow.dev/bflow/runplan/contract"
)

// measured counts the rows of a stage that are its measured part, by status. Of a stage that is measured, those that
// are unmeasured are of tries that were thrown away.
func measured(rows []report.Row, s *report.Stage) map[string]int {
	counts := map[string]int{}
	phase := report.PhaseUnmeasured
	if s.Planned.Measure {
		phase = report.PhaseMeasured
	}
	for _, row := range rows {
		if row.Stage == s.Stage && row.Phase == phase {
			counts[row.Status]++
		}
	}
	return counts
}

// checkCounts compares report.json and summary.csv with the rows.
func checkCounts(t *testing.T, run product.Run, rows []report.Row) {
	t.Helper()
	lines := summary(t, run)
	for _, s := range run.Report().Measurements[0].Pooled.Stages {
		want := measured(rows, &s)
		for _, status := range []string{report.StatusOK, report.StatusFailed, report.StatusTimeout, report.StatusEmpty,
			report.StatusDropped, report.StatusCut} {
			if got := s.Counts.ByStatus[status]; got != want[status] {
				t.Errorf("%s: stage %q: the report has %d %s, the rows have %d",
					run.ID(), s.Planned.Name, got, status, want[status])
			}
			if got := lines[s.Stage]["requests_"+status]; got != strconv.Itoa(want[status]) {
				t.Errorf("%s: stage %q: the summary has %s %s, the rows have %d",
					run.ID(), s.Planned.Name, got, status, want[status])
			}
		}
	}
}

// summary reads summary.csv: column to value, by stage.
func summary(t *testing.T, run product.Run) map[int]map[string]string {
	t.Helper()
	f, err := os.Open(run.Path(contract.FileSummary))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	all, err := csv.NewReader(f).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	lines := map[int]map[string]string{}
	for _, cells := range all[1:] {
		line := map[string]string{}
		for i, name := range all[0] {
			line[name] = cells[i]
		}
		stage, err := strconv.Atoi(line["stage_index"])
		if err != nil {
			t.Fatal(err)
		}
		lines[stage] = line
	}
	return lines
}

// parseTable returns the printed requests per second by point and stage.
func parseTable(t *testing.T, out string) map[string]float64 {
	t.Helper()
	rates := map[string]float64{}
	for line := range strings.Lines(out) {
		cells := strings.Fields(line)
		if strings.HasPrefix(line, "verdict of") {
			break
		}
		if cells[0] == "point" {
			continue
		}
		rate, err := strconv.ParseFloat(cells[2], 64)
		if err != nil {
			t.Fatalf("reading the table: %q: %v", line, err)
		}
		rates[cells[0]+" "+cells[1]] = rate
	}
	return rates
}

// checkTable compares the printed rates with the rows that ended well inside the window.
func checkTable(t *testing.T, run product.Run, rows []report.Row, table map[string]float64) {
	t.Helper()
	r := run.Report()
	h, _ := run.Rows()
	stages := r.Measurements[0].Pooled.Stages
	if !slices.ContainsFunc(stages, func(s report.Stage) bool { return s.Planned.Measure }) {
		t.Errorf("%s: no stage is measured", run.ID())
	}
	for _, s := range stages {
		if !s.Planned.Measure {
			continue
		}
		ended := 0
		for _, row := range rows {
			if row.Status != report.StatusOK {
				continue
			}
			if end := h.AnchorUnixNS + *row.TEnd; end >= s.Window.StartNS && end < s.Window.EndNS {
				ended++
			}
		}
		name := report.PointName(r) + " " + s.Planned.Name
		want, got := float64(ended)/s.WindowS, table[name]
		if got < want*0.99 || got > want*1.01 {
			t.Errorf("%s: the table shows %v requests/s, the rows make %v", name, got, want)
		}
	}
}
