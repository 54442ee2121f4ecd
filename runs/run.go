package runs

import (
	"context"
	"io"
	"time"

	"bflow.dev/bflow/internal/screen"
	"bflow.dev/bflow/report"
	"bflow.dev/bflow/runplan"
)

// Run is a run, or a matrix of runs, wherever it lives. Each method is a verb of the command line.
type Run interface {
	// Names are what it answers to as a whole; the first is its own.
	Names() []string
	// Status says how far it is, or how it ended.
	Status(ctx context.Context) (View, error)
	// Follow shows it until it ends, and returns the exit code of that end.
	Follow(ctx context.Context, on Console) (code int, err error)
	// Logs prints what its tasks have written.
	Logs(ctx context.Context, on Console, o LogOptions) error
	// Cancel asks for its end, and says in a sentence what that means for it. With force none of its tasks runs any
	// more.
	Cancel(ctx context.Context, force bool) (sentence string, err error)
	// Rerun makes a new run of the same plan where this one lives, and returns its exit code where it was followed.
	Rerun(ctx context.Context, on Console, o RerunOptions) (code int, err error)
	// Delete removes it with everything it left behind.
	Delete(ctx context.Context, on Console, o DeleteOptions) error
	// Results brings what it has measured to this machine.
	Results(ctx context.Context, on Console) (Results, error)
}

// Matrix is a Run that stands for several.
type Matrix interface {
	Run
	// Points is how many runs there are, and the name of one of them.
	Points() (n int, such string)
}

// Planner is a Run whose plan can be carried out elsewhere than where it lives.
type Planner interface {
	// Plan returns its plan.
	Plan(ctx context.Context) (*runplan.RunPlan, error)
}

// Fetcher is a Run whose results lie on another machine.
type Fetcher interface {
	// Fetch brings the results to this machine and prints their folders.
	Fetch(ctx context.Context, on Console, o FetchOptions) error
}

// Resumer is a Run that goes on after an interruption.
type Resumer interface {
	// Resume goes on after its last finished task, and returns its exit code.
	Resume(ctx context.Context, on Console) (code int, err error)
}

// Console is where a person reads what is said of runs: data on Out, progress on Err.
type Console struct {
	Out, Err             io.Writer
	OutScreen, ErrScreen screen.Screen // what the terminals behind them can show
	Now                  func() time.Time
}

// View is a status, for programs and for people.
type View struct {
	Value any // as JSON or YAML
	Table func(w io.Writer, on screen.Screen) error
}

// ViewOf is how one run is shown.
func ViewOf(s Status) View {
	return View{Value: s, Table: func(w io.Writer, on screen.Screen) error { return StatusTable(w, on, s) }}
}

// LogOptions say which logs are wanted.
type LogOptions struct {
	Task   string // "" for all
	Engine bool   // of the server under test instead
	Follow bool   // go on until the run ends
}

// RerunOptions say what becomes a new run, and how.
type RerunOptions struct {
	Failed bool // of a matrix: only the points that have not come to a good end
	Follow bool // stay until it ends
	Start  Start
}

// Start carries plans out on this machine, and returns the exit code that stands for all of them. from says where the
// plans came from.
type Start func(ctx context.Context, plans []*runplan.RunPlan, from string) (code int, err error)

// DeleteOptions say what is deleted, and what is kept.
type DeleteOptions struct {
	Force       bool // also what has not ended, and without a controller where that is gone
	KeepResults bool
}

// FetchOptions say which results are fetched, and where to.
type FetchOptions struct {
	Into string                 // folder; "" = that of the copies of runs
	Only func(path string) bool // nil accepts all
}

// Results are what runs have measured: folders on this machine or, of many runs elsewhere, their summaries.
type Results struct {
	Dirs    []string
	Reports []*report.Report // in place of folders
	Page    string           // file for the page over them; "" = as the command says
	Note    string           // what a person should know of them, "" for nothing
}
