package progress

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"bflow.dev/bflow/internal/screen"
	"bflow.dev/bflow/report"
)

// logInterval is how often a log gets a line while a stage runs.
const logInterval = 10 * time.Second

// draw shows every running load-gen: bars on a terminal, otherwise a line when a stage begins and now and then.
func (d *Display) draw() {
	d.erase()
	for _, run := range slices.Sorted(maps.Keys(d.load)) {
		l := d.load[run]
		p, ok := l.progress()
		if !ok {
			continue
		}
		d.printStageEnd(run, l, p)
		if d.on.Live {
			fmt.Fprintln(d.w, bar(p, d.on.Width-1))
			d.bars++
			continue
		}
		if p.ElapsedS == 0 { // there are no numbers yet
			continue
		}
		stage := fmt.Sprint(p.Sample, "/", p.Stage, "/", p.Try)
		if stage != l.reported || d.now().Sub(l.lastLine) >= logInterval {
			l.reported, l.lastLine = stage, d.now()
			d.printLine("  %s%s", d.prefix(run), numbers(p))
		}
	}
	d.drawBusy()
}

// printStageEnd leaves a line of the stage, or of the try at one, that was before p, once.
func (d *Display) printStageEnd(run string, l *loading, p report.Progress) {
	if l.last != nil && (l.last.Sample != p.Sample || l.last.Stage != p.Stage || l.last.Try != p.Try) {
		d.printLine("  %s%s", d.prefix(run), outcome(*l.last))
	}
	l.last = &p
}

// printLastStage leaves a line of the last stage of a load that is over.
func (d *Display) printLastStage(run string) {
	l := d.load[run]
	if l == nil {
		return
	}
	if p, ok := l.progress(); ok {
		d.printStageEnd(run, l, p)
	}
	if l.last != nil {
		d.printLine("  %s%s", d.prefix(run), outcome(*l.last))
	}
	delete(d.load, run)
}

// erase removes the bars, so that the next line takes their place.
func (d *Display) erase() {
	if d.bars > 0 {
		fmt.Fprintf(d.w, "\x1b[%dA\x1b[J", d.bars)
		d.bars = 0
	}
}

// progress is what was told, else what load-gen has written.
func (l *loading) progress() (report.Progress, bool) {
	if l.given != nil {
		return *l.given, true
	}
	return read(l.folder)
}

// read returns the progress of the measurement in folder; false before its first stage.
func read(folder string) (report.Progress, bool) {
	var p report.Progress
	data, err := os.ReadFile(filepath.Join(folder, report.FileProgress))
	return p, err == nil && json.Unmarshal(data, &p) == nil
}

// share is how much of the stage is over, 0 to 1.
func share(p report.Progress) float64 {
	switch {
	case p.ExpectedS > 0:
		return min(p.ElapsedS/p.ExpectedS, 1)
	case p.Planned > 0:
		return min(float64(p.Done+p.Errors)/float64(p.Planned), 1)
	}
	return 0
}

// bar is a line of at most width columns: the numbers, and before them a bar where there is room for one.
func bar(p report.Progress, width int) string {
	const indent, most, least = "    ", 24, 4
	text := numbers(p)
	cells := min(width-len(indent)-len(text)-len("[] "), most)
	if cells < least {
		return clip(indent+text, width)
	}
	full := int(share(p)*float64(cells) + 0.5)
	return indent + "[" + strings.Repeat("#", full) + strings.Repeat(".", cells-full) + "] " + text
}

// place names a stage and the try at it.
func place(p report.Progress) string {
	text := fmt.Sprintf("stage %d", p.Stage+1)
	if p.Stage < p.Stages { // a search adds stages that no plan lists
		text += fmt.Sprintf("/%d", p.Stages)
	}
	text += " " + screen.Plain(p.Name) // it may be of somebody else's log
	if p.Samples > 1 {
		text = fmt.Sprintf("sample %d/%d %s", p.Sample+1, p.Samples, text)
	}
	if !p.Measure {
		text += " (not measured)"
	}
	return text + screen.Plain(p.Again())
}

// outcome is what has become of a stage that is over.
func outcome(p report.Progress) string {
	return fmt.Sprintf("%s  %.0f s  %d ok  %d errors%s", place(p), p.ElapsedS, p.Done, p.Errors, ttft(p))
}

// ttft is the mean so far.
func ttft(p report.Progress) string {
	if p.TTFTMS == 0 {
		return ""
	}
	return fmt.Sprintf("  TTFT %.1f ms", p.TTFTMS)
}

// numbers is the state of a stage as text.
func numbers(p report.Progress) string {
	text := fmt.Sprintf("%s  %.0f", place(p), p.ElapsedS)
	if p.ExpectedS > 0 {
		text += fmt.Sprintf("/%.0f", p.ExpectedS)
	}
	text += fmt.Sprintf(" s  %.1f req/s  %d in flight  %d errors%s", p.Rate, p.InFlight, p.Errors, ttft(p))
	if p.ETAS > 0 {
		text += "  ETA " + (time.Duration(p.ETAS) * time.Second).String()
	}
	return text
}

func clip(s string, n int) string {
	if n > 0 && len(s) > n {
		return s[:n]
	}
	return s
}
