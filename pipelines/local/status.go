package local

import (
	"time"

	v1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
)

// State of a run or a task.
type State string

// States. A run is Interrupted when its executor died; a task never is.
const (
	Pending     State = "Pending"
	Running     State = "Running"
	Succeeded   State = "Succeeded"
	Failed      State = "Failed"
	Cancelled   State = "Cancelled"
	TimedOut    State = "TimedOut"
	Skipped     State = "Skipped"
	Interrupted State = "Interrupted"
)

// Done reports whether s is final.
func (s State) Done() bool { return s != Pending && s != Running && s != "" }

// Status is how far a run is, or how it ended.
type Status struct {
	RunID    string    `json:"runId"`
	RunDir   string    `json:"runDir"`
	Pipeline string    `json:"pipeline,omitempty"`
	Matrix   string    `json:"matrix,omitempty"` // that the run is a point of
	Attempt  int       `json:"attempt"`
	State    State     `json:"state"`
	Reason   string    `json:"reason,omitempty"`  // one of Tekton's words where it has one
	Message  string    `json:"message,omitempty"` // one sentence
	Phase    string    `json:"phase,omitempty"`   // tasks or finally, while running
	Alive    bool      `json:"alive"`             // an executor holds the run
	PID      int       `json:"pid,omitempty"`     // of the executor that wrote last
	ExitCode int       `json:"exitCode"`          // documented exit code; 0 while running
	Started  time.Time `json:"started"`           // of this attempt, UTC
	Finished time.Time `json:"finished,omitzero"`
	Tasks    []Task    `json:"tasks"` // in the order of the Pipeline, finally tasks last
	Results  Results   `json:"results,omitempty"`
}

// Results are the values of a task or a Pipeline by name.
type Results map[string]v1.ParamValue

// Task is the state of one task of the Pipeline.
type Task struct {
	Name    string `json:"name"`
	Finally bool   `json:"finally,omitempty"`
	State   State  `json:"state"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	// attempt of the run in which it ran; lower than the run's: kept by a resume
	Attempt  int       `json:"attempt,omitempty"`
	Ignored  bool      `json:"ignored,omitempty"` // it failed, and onError says to go on
	Step     string    `json:"step,omitempty"`    // that failed, where the task has others
	ExitCode int       `json:"exitCode"`          // of its first failed step
	Started  time.Time `json:"started,omitzero"`
	Finished time.Time `json:"finished,omitzero"`
	Runs     []TaskRun `json:"runs,omitempty"` // one, or one per combination of its matrix
	Results  Results   `json:"results,omitempty"`
}

// TaskRun is one execution of a task: the last try where it was retried.
type TaskRun struct {
	Name     string       `json:"name"`
	Params   v1.Params    `json:"params,omitempty"` // of its matrix combination
	Retries  int          `json:"retries,omitempty"`
	State    State        `json:"state"`
	Reason   string       `json:"reason,omitempty"`
	Message  string       `json:"message,omitempty"`
	Started  time.Time    `json:"started,omitzero"`
	Finished time.Time    `json:"finished,omitzero"`
	Steps    []StepStatus `json:"steps,omitempty"`
	Results  Results      `json:"results,omitempty"`
}

// StepStatus is one process.
type StepStatus struct {
	Name     string    `json:"name"`
	Program  string    `json:"program"` // sibling, self or host: what stood in for the image
	Path     string    `json:"path"`    // of the program
	Log      string    `json:"log"`     // relative to the run directory
	PID      int       `json:"pid"`
	Ticks    uint64    `json:"ticks"` // start time of the process in clock ticks since boot, as /proc says it
	State    State     `json:"state"`
	ExitCode int       `json:"exitCode"`
	Started  time.Time `json:"started"`
	Finished time.Time `json:"finished,omitzero"`
}
