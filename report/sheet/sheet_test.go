package sheet

import (
	"encoding/csv"
	"strconv"
	"strings"
	"testing"
)

func TestNoCellIsAFormula(t *testing.T) {
	for _, row := range []struct{ name, cell, want string }{
		{"a link", `=HYPERLINK("http://evil.example","tiny")`, `"'=HYPERLINK(""http://evil.example"",""tiny"")"`},
		{"a sum", "+1+1", "'+1+1"},
		{"a difference", "-2+3+cmd|' /C calc'!A0", "'-2+3+cmd|' /C calc'!A0"},
		{"a function of old", "@SUM(1)", "'@SUM(1)"},
		{"a tab before", "\t=1", "'\t=1"},
		{"a negative number", "-0.25", "-0.25"},
		{"a number with a sign", "+1e3", "+1e3"},
		{"a name", "meta-llama/Llama-3.1-8B", "meta-llama/Llama-3.1-8B"},
		{"nothing", "", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			var text strings.Builder
			w := NewWriter(&text)
			given := []string{"a", row.cell}
			if err := w.Write(given); err != nil {
				t.Fatal(err)
			}
			if w.Flush(); w.Error() != nil {
				t.Fatal(w.Error())
			}
			if want := "a," + row.want + "\n"; text.String() != want {
				t.Errorf("got %q, want %q", text.String(), want)
			}
			if given[1] != row.cell {
				t.Errorf("the caller's row has become %q", given)
			}
		})
	}
}

func FuzzACellReadsBackAsTextOrNumber(f *testing.F) {
	f.Add("=1+1")
	f.Add("-1")
	f.Fuzz(func(t *testing.T, cell string) {
		if strings.Contains(cell, "\r") { // which CSV itself does not keep
			t.Skip()
		}
		var text strings.Builder
		w := NewWriter(&text)
		if err := w.Write([]string{cell, "x"}); err != nil {
			t.Fatal(err)
		}
		w.Flush()
		rows, err := csv.NewReader(strings.NewReader(text.String())).ReadAll()
		if err != nil || len(rows) != 1 {
			t.Fatalf("%q: %v, %v", text.String(), rows, err)
		}
		got := rows[0][0]
		if strings.TrimPrefix(got, "'") != strings.TrimPrefix(cell, "'") {
			t.Errorf("got %q of %q", got, cell)
		}
		if _, err := strconv.ParseFloat(got, 64); err != nil && got != "" && strings.ContainsRune("=+-@\t\n", rune(got[0])) {
			t.Errorf("%q is still a formula", got)
		}
	})
}
