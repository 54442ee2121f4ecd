package screen

import (
	"math/rand/v2"
	"strings"
	"testing"
)

func runs() *Table {
	t := &Table{Gap: 2, Columns: []Column{
		{Head: "RUN", Cut: Middle}, {Head: "VERDICT", Paint: true}, {Head: "TTFT", Right: true, Rank: 1},
		{Head: "GOODPUT", Rank: 1}, {Head: "MESSAGE", Cut: End, Rank: 2},
	}}
	t.Row("first-20261122-044000-4ijje", "pass", "40.2", "-", "4 succeeded, 0 skipped")
	t.Row("first-20261122-045500-x01ab", "fail", "140", "-", "the objective of ttft p99 is missed")
	return t
}

func TestATableFitsItsScreen(t *testing.T) {
	for _, row := range []struct {
		name  string
		width int
		left  string
		want  string
	}{
		{"without a terminal nothing is cut", 0, "", `
RUN                          VERDICT  TTFT  GOODPUT  MESSAGE
first-20261122-044000-4ijje  pass     40.2  -        4 succeeded, 0 skipped
first-20261122-045500-x01ab  fail      140  -        the objective of ttft p99 is missed
`},
		{"long cells are cut first", 74, "", `
RUN                       VERDICT  TTFT  GOODPUT  MESSAGE
first-20261..44000-4ijje  pass     40.2  -        4 succeeded, 0 skipped
first-20261..45500-x01ab  fail      140  -        the objective of ttft ..
`},
		{"then a column goes that says nothing", 41, "GOODPUT", `
RUN           VERDICT  TTFT  MESSAGE
first..4ijje  pass     40.2  4 succeede..
first..x01ab  fail      140  the object..
`},
		{"then that of the highest rank", 29, "GOODPUT,MESSAGE", `
RUN             VERDICT  TTFT
first-..-4ijje  pass     40.2
first-..-x01ab  fail      140
`},
		{"and a terminal of 20 columns has what is needed", 20, "TTFT,GOODPUT,MESSAGE", `
RUN          VERDICT
firs..4ijje  pass
firs..x01ab  fail
`},
	} {
		var out strings.Builder
		table := runs()
		left, err := table.Write(&out, Screen{Width: row.width})
		if err != nil || strings.Join(left, ",") != row.left {
			t.Errorf("%s: %q had no room, %v; want %s", row.name, left, err, row.left)
		}
		for _, line := range strings.Split(out.String(), "\n") {
			if row.width > 0 && len(line) > row.width {
				t.Errorf("%s: %q is wider than %d", row.name, line, row.width)
			}
		}
		if got := "\n" + out.String(); got != row.want {
			t.Errorf("%s:%s", row.name, got)
		}
	}
}

func TestNoTableIsTooMuchForAScreen(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 500 {
		table := &Table{Gap: random.IntN(3)}
		for range 1 + random.IntN(6) {
			table.Columns = append(table.Columns, Column{
				Head: "H", Cut: Cut(random.IntN(3)), Right: random.IntN(2) == 0, Rank: random.IntN(3),
			})
		}
		for range random.IntN(4) {
			var cells []string
			for range random.IntN(8) {
				cells = append(cells, strings.Repeat("é", random.IntN(30)))
			}
			table.Row(cells...)
		}
		var out strings.Builder
		if _, err := table.Write(&out, Screen{Width: 1 + random.IntN(60), Colour: true}); err != nil {
			t.Fatal(err)
		}
	}
}

func TestATextOfSomebodyElseStaysOnItsLine(t *testing.T) {
	table := &Table{Columns: []Column{{Head: "MESSAGE"}}}
	table.Row("one\ntwo\x1b[2Jthree\t\u202efour")
	var out strings.Builder
	if _, err := table.Write(&out, Screen{}); err != nil {
		t.Fatal(err)
	}
	if got, want := out.String(), "MESSAGE\none two [2Jthree  four\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestColourChangesNoWidth(t *testing.T) {
	var plain, painted strings.Builder
	for out, s := range map[*strings.Builder]Screen{&plain: {Width: 74}, &painted: {Width: 74, Colour: true}} {
		if _, err := runs().Write(out, s); err != nil {
			t.Fatal(err)
		}
	}
	if !strings.Contains(painted.String(), "\x1b[32mpass\x1b[0m") ||
		!strings.Contains(painted.String(), "\x1b[31mfail\x1b[0m") {
		t.Errorf("no colour:\n%q", painted.String())
	}
	if got := strings.NewReplacer("\x1b[32m", "", "\x1b[31m", "",
		"\x1b[0m", "").Replace(painted.String()); got != plain.String() {
		t.Errorf("got\n%swant\n%s", got, plain.String())
	}
}

func TestShorten(t *testing.T) {
	for _, row := range []struct {
		name, text string
		n          int
		cut        Cut
		want       string
	}{
		{"what fits stays", "abc", 3, Middle, "abc"},
		{"a name keeps both of its ends", "max_num_seqs=24", 9, Middle, "max..s=24"},
		{"a sentence keeps its beginning", "the run was cancelled", 9, End, "the run.."},
		{"what must be whole is", "abcdef", 3, Never, "abcdef"},
		{"two characters have no room for dots", "abcdef", 2, Middle, "ab"},
		{"none is nothing", "abcdef", 0, End, ""},
	} {
		if got := Shorten(row.text, row.n, row.cut); got != row.want {
			t.Errorf("%s: got %q, want %q", row.name, got, row.want)
		}
	}
}
