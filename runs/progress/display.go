package progress

import (
	"fmt"
	"io"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"time"

	"bflow.dev/bflow/internal/screen"
	"bflow.dev/bflow/pipelines/local"
	"bflow.dev/bflow/report"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
)

// Display shows any number of runs on one writer.
type Display struct {
	w     io.Writer
	on    screen.Screen // where it has no live lines, plain ones are written
	now   func() time.Time
	total int  // runs to come
	names bool // every line names its run: several go on side by side

	mu      sync.Mutex
	started int
	load    map[string]*loading // run id -> its running load-gen
	busy    map[string]*working // run id and task -> a task that runs
	bars    int                 // lines drawn below the last line
	stop    chan struct{}
	done    chan struct{}
}

// loading is a load-gen that runs.
type loading struct {
	folder   string // measurements/<n> of the run; its progress.json is read where nobody tells the progress
	given    *report.Progress
	last     *report.Progress // that was shown
	reported string           // plain: stage that was last announced
	lastLine time.Time
}

// New returns a display on w, which shows what on says; total is the number of runs to come. Close it.
func New(w io.Writer, on screen.Screen, total int, now func() time.Time) *Display {
	d := &Display{
		w: w, on: on, total: total, now: now, load: map[string]*loading{}, busy: map[string]*working{},
		stop: make(chan struct{}), done: make(chan struct{}),
	}
	go d.refresh()
	return d
}

// refresh redraws the bars; in plain mode it looks whether a line is due.
func (d *Display) refresh() {
	defer close(d.done)
	tick := time.NewTicker(250 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-d.stop:
			return
		case <-tick.C:
			d.mu.Lock()
			d.draw()
			d.mu.Unlock()
		}
	}
}

// Close removes the bars.
func (d *Display) Close() {
	close(d.stop)
	<-d.done
	d.mu.Lock()
	defer d.mu.Unlock()
	d.erase()
}

// NameRuns makes every line name its run, for runs that go on side by side.
func (d *Display) NameRuns() { d.names = true }

// Progress shows how far the running load-gen of a run is, for runs whose files are not on this host.
func (d *Display) Progress(runID string, p report.Progress) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if l := d.load[runID]; l != nil {
		l.given = &p
	}
}

// Say prints a line about a run.
func (d *Display) Say(runID, format string, args ...any) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.printLine("  %s%s", d.prefix(runID), fmt.Sprintf(format, args...))
}

// prefix is the name of a run where lines need it.
func (d *Display) prefix(runID string) string {
	if d.names {
		return runID + "  "
	}
	return ""
}

// Start announces a run and returns the observer that follows it.
func (d *Display) Start(runID, runDir string, p *runplan.RunPlan) local.Observer {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.started++
	count := ""
	if d.total > 1 {
		count = fmt.Sprintf("[%d/%d] ", d.started, d.total)
	}
	d.printLine("%s%s%s", count, runID, coordinates(p))
	return &observer{d: d, run: runID, dir: runDir}
}

// coordinates says what is special about a point of a matrix.
func coordinates(p *runplan.RunPlan) string {
	var parts []string
	if p == nil {
		return ""
	}
	for _, a := range p.Axes {
		parts = append(parts, fmt.Sprintf("%s=%v", a.Path[strings.LastIndex(a.Path, ".")+1:], a.Value))
	}
	if len(parts) == 0 {
		return ""
	}
	return "  (" + strings.Join(parts, ", ") + ")"
}

// printLine prints above the bars.
func (d *Display) printLine(format string, args ...any) {
	d.erase()
	fmt.Fprintf(d.w, "%s  %s\n", d.now().Format("15:04:05"), fmt.Sprintf(format, args...))
}

// observer follows one run.
type observer struct {
	d        *Display
	run, dir string
	began    map[string]time.Time
}

// Changed prints the end of each task and notes which load-gen runs.
func (o *observer) Changed(r local.Record) {
	o.d.mu.Lock()
	defer o.d.mu.Unlock()
	switch r.Kind {
	case local.TaskStarted:
		if o.began == nil {
			o.began = map[string]time.Time{}
		}
		o.began[r.Task] = r.Time
		o.d.busy[o.run+" "+r.Task] = &working{run: o.run, task: r.Task, since: o.d.now()}
		if n, ok := strings.CutPrefix(r.Task, contract.LoadGen+"-"); ok {
			o.d.load[o.run] = &loading{folder: filepath.Join(o.dir, contract.DirMeasurement, n), lastLine: o.d.now()}
		}
	case local.StepStarted:
		if b := o.d.busy[o.run+" "+r.Task]; b != nil {
			b.log = filepath.Join(o.dir, r.Log)
		}
	case local.TaskFinished:
		said := ""
		if b := o.d.busy[o.run+" "+r.Task]; b != nil {
			said = b.said
		}
		delete(o.d.busy, o.run+" "+r.Task)
		o.d.printLastStage(o.run)
		o.d.printLine("  %s%-12s %s", o.d.prefix(o.run), Part(r.Task, r.Step), o.d.describeEnd(r, o.began[r.Task], said))
	case local.TaskKept:
		o.d.printLine("  %s%-12s kept from an earlier attempt", o.d.prefix(o.run), r.Task)
	case local.CancelRequested:
		o.d.printLine("  %scancelling: %s", o.d.prefix(o.run), r.Message)
	}
}

// Part names what of a run ended so: a task, and its step where one of several failed.
func Part(task, step string) string {
	if step == "" {
		return task
	}
	return task + "/" + step
}

// describeEnd says how a task ended. said is what was said of it last, which is not said again.
func (d *Display) describeEnd(r local.Record, began time.Time, said string) string {
	text := "ok"
	if r.State != local.Succeeded {
		text = strings.ToLower(string(r.State))
	}
	text = d.on.Paint(text)
	if !began.IsZero() && !r.Time.IsZero() {
		text += fmt.Sprintf("  %.1fs", r.Time.Sub(began).Seconds())
	}
	if reason := Reason(r.Message); r.State != local.Succeeded && reason != "" && reason != said {
		text += "  " + reason
	}
	return text
}

// Reason is what a failed step said last, where message holds that, else message.
func Reason(message string) string {
	if at := regexp.MustCompile(`exited with code \d+: `).FindStringIndex(message); at != nil {
		return message[at[1]:]
	}
	return message
}
