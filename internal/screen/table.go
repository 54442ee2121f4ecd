package screen

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
)

// Cut is how a cell that is too long is shortened.
type Cut int

// Cuts.
const (
	Never  Cut = iota
	Middle     // of a name: what tells it from its like is mostly at its end
	End        // of a sentence
)

// Column is one of a Table.
type Column struct {
	Head  string
	Cut   Cut
	Right bool // numbers stand to the right
	Paint bool // its words have colours
	Rank  int  // of columns that have no room the highest goes first; 0 stays
}

// Table is rows in columns.
type Table struct {
	Columns []Column
	Gap     int // blanks between columns
	rows    [][]string
}

// leastCut is what is left at least of a cell that is cut.
const leastCut = 10

// Row adds a row; cells that are missing are empty. What would not stay on its line is replaced by a blank: the text
// may be somebody else's.
func (t *Table) Row(cells ...string) {
	row := make([]string, len(t.Columns))
	for i := range min(len(cells), len(row)) {
		row[i] = Plain(cells[i])
	}
	t.rows = append(t.rows, row)
}

// Without takes the column of a head out of the table.
func (t *Table) Without(head string) {
	i := slices.IndexFunc(t.Columns, func(c Column) bool { return c.Head == head })
	if i < 0 {
		return
	}
	t.Columns = slices.Delete(t.Columns, i, i+1)
	for n := range t.rows {
		t.rows[n] = slices.Delete(t.rows[n], i, i+1)
	}
}

// Plain is text on one line, without what would move the cursor or turn the direction of writing.
func Plain(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) {
			return r
		}
		return ' '
	}, text)
}

// Write writes the heads and the rows, and returns the heads of the columns that had no room.
func (t *Table) Write(w io.Writer, s Screen) (left []string, err error) {
	widths := t.widths()
	shown := t.fit(widths, s.Width)
	for i, c := range t.Columns {
		if !slices.Contains(shown, i) {
			left = append(left, c.Head)
		}
	}
	heads := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		heads[i] = c.Head
	}
	lines := append([][]string{heads}, t.rows...)
	for n, row := range lines {
		if _, err := fmt.Fprintln(w, t.line(row, shown, widths, s, n > 0)); err != nil {
			return left, err
		}
	}
	return left, nil
}

func (t *Table) widths() []int {
	widths := make([]int, len(t.Columns))
	for i, c := range t.Columns {
		widths[i] = length(c.Head)
		for _, row := range t.rows {
			widths[i] = max(widths[i], length(row[i]))
		}
	}
	return widths
}

// fit chooses the columns that there is room for, and makes widths small enough where that can be.
func (t *Table) fit(widths []int, width int) (shown []int) {
	for i := range t.Columns {
		shown = append(shown, i)
	}
	if width == 0 {
		return shown
	}
	for t.total(shown, func(i int) int { return t.least(i, widths) }) > width {
		at := t.dispensable(shown)
		if at < 0 {
			break
		}
		shown = slices.Delete(shown, at, at+1)
	}
	for t.total(shown, func(i int) int { return widths[i] }) > width {
		widest := -1
		for _, i := range shown {
			if widths[i] > t.least(i, widths) && (widest < 0 || widths[i] > widths[widest]) {
				widest = i
			}
		}
		if widest < 0 {
			break
		}
		widths[widest]--
	}
	return shown
}

func (t *Table) total(shown []int, of func(i int) int) int {
	sum := t.Gap * (len(shown) - 1)
	for _, i := range shown {
		sum += of(i)
	}
	return sum
}

func (t *Table) least(i int, widths []int) int {
	if t.Columns[i].Cut == Never {
		return widths[i]
	}
	return min(widths[i], leastCut)
}

// dispensable is the place in shown of the column to leave out next, -1 where all are needed. Of equals it is one that
// says nothing, else the last.
func (t *Table) dispensable(shown []int) int {
	best := -1
	for at, i := range shown {
		switch {
		case t.Columns[i].Rank == 0:
		case best < 0 || t.worth(i) <= t.worth(shown[best]):
			best = at
		}
	}
	return best
}

// worth is lower for what goes earlier.
func (t *Table) worth(i int) int {
	for _, row := range t.rows {
		if strings.Trim(row[i], "- ") != "" {
			return -t.Columns[i].Rank
		}
	}
	return -1 << 20
}

func (t *Table) line(row []string, shown, widths []int, s Screen, paint bool) string {
	var b strings.Builder
	for at, i := range shown {
		cell := Shorten(row[i], widths[i], t.Columns[i].Cut)
		gap := strings.Repeat(" ", max(widths[i]-length(cell), 0))
		if paint && t.Columns[i].Paint {
			cell = s.Paint(cell)
		}
		if t.Columns[i].Right {
			cell, gap = gap+cell, ""
		}
		if at < len(shown)-1 {
			gap += strings.Repeat(" ", t.Gap)
		}
		b.WriteString(cell + gap)
	}
	return strings.TrimRight(b.String(), " ")
}

func length(s string) int { return len([]rune(s)) }

// Shorten returns text in n characters at most, as cut says.
func Shorten(text string, n int, cut Cut) string {
	r := []rune(text)
	if len(r) <= n || cut == Never {
		return text
	}
	const dots = ".."
	room := n - len(dots)
	switch {
	case room <= 0:
		return string(r[:max(n, 0)])
	case cut == End:
		return string(r[:room]) + dots
	}
	head := room / 2
	return string(r[:head]) + dots + string(r[len(r)-(room-head):])
}
