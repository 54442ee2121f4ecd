package parquet

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	pq "github.com/parquet-go/parquet-go"

	"bflow.dev/bflow/report"
)

func write(t *testing.T, rows ...report.Row) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), File)
	w, err := Create(path)
	if err != nil {
		t.Fatal(err)
	}
	for i := range rows {
		if err := w.Write(&rows[i]); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

// read is what a program that knows some of the columns sees of a row.
type read struct {
	ID       string   `parquet:"id"`
	Status   string   `parquet:"status,dict"`
	Class    *string  `parquet:"error_class,optional"`
	Send     *int64   `parquet:"t_send_ns,optional"`
	Cached   *int64   `parquet:"tokens_cached,optional"`
	TTFT     *float64 `parquet:"ttft_ms,optional"`
	TPOT     *float64 `parquet:"tpot_ms,optional"`
	SLOOK    *bool    `parquet:"slo_ok,optional"`
	Missed   []string `parquet:"slo_missed,list"`
	Gaps     []int32  `parquet:"gaps_us,list"`
	Unknown  *int64   `parquet:"no_such_column,optional"`
	Intended int64    `parquet:"t_intended_ns"`
}

func TestRowsAreReadBack(t *testing.T) {
	stamp := func(ns int64) *int64 { return &ns }
	count := func(n int) *int { return &n }
	good := false
	path := write(t,
		report.Row{ID: "a", Status: report.StatusOK, TIntended: 1e6, TSend: stamp(2e6), TFirst: stamp(12e6),
			TLast: stamp(32e6), TEnd: stamp(33e6),
			TokensOut: count(3), TokensCached: count(0), SLOOK: &good, SLOMissed: []string{"ttft", "e2e"},
			Gaps: []int32{9_000, 11_000}},
		report.Row{ID: "b", Status: report.StatusDropped, ErrorClass: "dial", TIntended: 7})
	rows, err := pq.ReadFile[read](path)
	if err != nil || len(rows) != 2 {
		t.Fatalf("%d rows: %v", len(rows), err)
	}
	a, b := rows[0], rows[1]
	if a.ID != "a" || *a.Send != 2e6 || *a.Cached != 0 || *a.TTFT != 10 || *a.TPOT != 10 || *a.SLOOK ||
		strings.Join(a.Missed, " ") != "ttft e2e" ||
		len(a.Gaps) != 2 || a.Gaps[1] != 11_000 || a.Class != nil {
		t.Errorf("first row %+v", a)
	}
	if b.Status != report.StatusDropped || *b.Class != "dial" || b.Send != nil || b.TTFT != nil || b.SLOOK != nil ||
		len(b.Gaps) != 0 || b.Intended != 7 {
		t.Errorf("second row %+v", b)
	}
}

func TestEveryColumnOfARowIsInTheFile(t *testing.T) {
	have := map[string]bool{}
	for _, c := range columns() {
		if have[c.name] {
			t.Errorf("column %q is there twice", c.name)
		}
		have[c.name] = true
	}
	for i, row := 0, reflect.TypeFor[report.Row](); i < row.NumField(); i++ {
		if name, _, _ := strings.Cut(row.Field(i).Tag.Get("json"), ","); !have[name] {
			t.Errorf("column %q is missing", name)
		}
	}
}

func TestRowGroupsAreSmall(t *testing.T) {
	rows := make([]report.Row, groupRows+5)
	for i := range rows {
		rows[i] = report.Row{ID: "id", Status: report.StatusOK, TIntended: int64(i)}
	}
	f, err := os.Open(write(t, rows...))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	info, _ := f.Stat()
	file, err := pq.OpenFile(f, info.Size())
	if err != nil {
		t.Fatal(err)
	}
	groups := file.RowGroups()
	if len(groups) != 2 || groups[0].NumRows() != groupRows || file.NumRows() != groupRows+5 {
		t.Errorf("%d row groups of %d rows", len(groups), file.NumRows())
	}
}
