package report

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestRowsRoundTrip(t *testing.T) {
	path := filepath.Join(t.TempDir(), "requests.jsonl.gz")
	w, err := CreateRows(path)
	if err != nil {
		t.Fatal(err)
	}
	var want []Row
	for i := range 10 {
		end, zero := int64(i*100), 0
		row := Row{
			ID: strconv.Itoa(i), Phase: PhaseMeasured, Status: StatusOK, TIntended: int64(i),
			TEnd: &end, TokensCached: &zero,
		}
		want = append(want, row)
		if err := w.Write(&row); err != nil {
			t.Fatal(err)
		}
		if i%4 == 0 {
			if err := w.Flush(); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := w.Finish(Header{Run: "r", Attempt: 2}); err != nil {
		t.Fatal(err)
	}
	h, got, err := ReadRows(path)
	if err != nil || h.Run != "r" || h.Attempt != 2 || h.Schema != RequestsSchema {
		t.Fatalf("header %+v: %v", h, err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("rows (-want +got):\n%s", diff)
	}
	if left, _ := os.ReadDir(filepath.Dir(path)); len(left) != 1 {
		t.Errorf("%d files are left, want one", len(left))
	}
}

func TestFlushedRowsSurviveAKill(t *testing.T) {
	path := filepath.Join(t.TempDir(), "requests.jsonl.gz")
	w, err := CreateRows(path)
	if err != nil {
		t.Fatal(err)
	}
	w.Write(&Row{ID: "kept"})
	w.Flush()
	w.Write(&Row{ID: "lost"})
	w.f.Close() // what a killed process leaves behind
	if err := FinishRows(path, Header{Interrupted: true}); err != nil {
		t.Fatal(err)
	}
	h, rows, err := ReadRows(path)
	if err != nil || !h.Interrupted || len(rows) != 1 || rows[0].ID != "kept" {
		t.Errorf("header %+v, rows %+v: %v", h, rows, err)
	}
}

func TestRowsOfAnUnknownSchemaAreRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "requests.jsonl.gz")
	if err := os.WriteFile(path, []byte("not gzip"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := OpenRows(path); err == nil {
		t.Error("no error")
	}
}

func TestStagesRoundTrip(t *testing.T) {
	path := filepath.Join(t.TempDir(), "stages.jsonl")
	for i := range 3 {
		if err := AppendStage(path, &StageResult{Stage: i, Ended: "duration"}); err != nil {
			t.Fatal(err)
		}
	}
	got, err := ReadStages(path)
	if err != nil || len(got) != 3 || got[2].Stage != 2 {
		t.Errorf("got %+v: %v", got, err)
	}
	if err := os.WriteFile(path, []byte(`{"schema":"bflow.stages/99"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := ReadStages(path); err == nil {
		t.Error("an unknown schema is read")
	}
}

// TestWholeStagesAreReadBeforeALineThatIsNot: only the last line can be one that its writer did not finish.
func TestWholeStagesAreReadBeforeALineThatIsNot(t *testing.T) {
	const whole = `{"schema":"bflow.stages/1","stage":0}` + "\n"
	for _, row := range []struct {
		name, text string
		stages     int
		cut        bool
	}{
		{"half a line", whole + `{"schema":"bflow.sta`, 1, true},
		{"zeros, after a loss of power", whole + whole + "\x00\x00\x00", 2, true},
		{"half a line that has an end", whole + `{"schema":` + "\n", 1, true},
		{"nothing whole", `{`, 0, true},
		{"a last line without its end", whole + strings.TrimSpace(whole), 2, false},
		{"a line in the middle is damage", whole + "{\n" + whole, 1, false},
	} {
		t.Run(row.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "stages.jsonl")
			if err := os.WriteFile(path, []byte(row.text), 0o644); err != nil {
				t.Fatal(err)
			}
			stages, err := ReadStages(path)
			if cut := new(CutError); len(stages) != row.stages || errors.As(err, &cut) != row.cut {
				t.Errorf("%d stages, %v; want %d, cut off: %v", len(stages), err, row.stages, row.cut)
			}
		})
	}
}
