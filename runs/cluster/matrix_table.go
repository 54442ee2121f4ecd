package cluster

import (
	"fmt"
	"io"
	"strings"
	"time"

	"bflow.dev/bflow/internal/screen"
	"bflow.dev/bflow/pipelines/local"
	"bflow.dev/bflow/queue/matrix/state"
	"bflow.dev/bflow/report/brief"
)

// liveTable shows a matrix that goes on: on a terminal a table that is drawn anew with every change, else a line when
// the counts have changed.
type liveTable struct {
	w     io.Writer
	on    screen.Screen
	now   func() time.Time
	drawn int // lines on the screen
	said  string
}

func newLiveTable(w io.Writer, on screen.Screen, now func() time.Time) *liveTable {
	return &liveTable{w: w, on: on, now: now}
}

// linesShown bounds the runs of the table: a screen has no room for hundreds.
const linesShown = 16

func (t *liveTable) show(v MatrixView) {
	if !t.on.Live {
		text := fmt.Sprintf("%d of %d ended: %s", v.Counts.Ended(), v.Points, v.Counts)
		if len(v.Waits) > 0 {
			text += "; " + v.Waits[0]
		}
		if text != t.said {
			t.said = text
			fmt.Fprintf(t.w, "%s  %s%s\n", t.now().Format("15:04:05"), text, ending(v, t.now()))
		}
		return
	}
	t.draw(tableOf(v, t.now(), t.on.Width))
}

// ending is the guess of the end.
func ending(v MatrixView, now time.Time) string {
	if left := v.Finish.Sub(now); v.Alive && left > 0 {
		return "; about " + state.Rough(left) + " left"
	}
	return ""
}

// tableOf is the table in lines.
func tableOf(v MatrixView, now time.Time, width int) []string {
	lines := []string{fmt.Sprintf("%s  %s", v.Matrix, v.State),
		bar(v, min(40, width/2)) + "  " + v.Counts.String() + ending(v, now)}
	for _, w := range v.Waits {
		lines = append(lines, "waits: "+w)
	}
	for _, n := range v.Notes {
		lines = append(lines, "note: "+n)
	}
	for i, r := range v.Runs {
		if i == linesShown {
			lines = append(lines, fmt.Sprintf("  and %d more", len(v.Runs)-linesShown))
			break
		}
		word := "waits"
		if r.State == local.Running {
			word = "runs on " + r.Target
		}
		lines = append(lines, strings.TrimRight(fmt.Sprintf("  %5d  %-*s  %s, %s  %s", r.Point, nameWidth(v), r.Run, word,
			now.Sub(r.Since).Round(time.Second), r.Reason), " "))
	}
	for i, l := range lines {
		lines[i] = cutTo(l, width)
	}
	return lines
}

func nameWidth(v MatrixView) int {
	widest := 0
	for _, r := range v.Runs {
		widest = max(widest, len(r.Run))
	}
	return widest
}

// bar shows what has ended and what runs.
func bar(v MatrixView, width int) string {
	if v.Points == 0 {
		return ""
	}
	done := v.Counts.Ended() * width / v.Points
	busy := max(min((v.Counts.Ended()+v.Counts.Running)*width/v.Points, width)-done, 0)
	return "[" + strings.Repeat("#", done) + strings.Repeat("-", busy) + strings.Repeat(" ", width-done-busy) + "]"
}

func cutTo(text string, width int) string {
	if r := []rune(text); len(r) >= width {
		return string(r[:max(width-1, 0)])
	}
	return text
}

func (t *liveTable) draw(lines []string) {
	t.erase()
	for _, l := range lines {
		fmt.Fprintln(t.w, l)
	}
	t.drawn = len(lines)
}

func (t *liveTable) erase() {
	if t.drawn > 0 {
		fmt.Fprintf(t.w, "\x1b[%dA\x1b[J", t.drawn)
	}
	t.drawn = 0
}

// say prints a line above the table.
func (t *liveTable) say(format string, args ...any) {
	t.erase()
	fmt.Fprintf(t.w, "%s  %s\n", t.now().Format("15:04:05"), fmt.Sprintf(format, args...))
}

// close leaves the last table on the screen.
func (t *liveTable) close() { t.drawn = 0 }

// reasonOf is why a run ended as it did.
func reasonOf(b *brief.Brief, otherwise string) string {
	switch {
	case b.Error != "":
		return b.Error
	case len(b.Reasons) > 0:
		return b.Verdict + ": " + b.Reasons[0]
	case b.Verdict != "":
		return b.Verdict
	}
	return otherwise
}
