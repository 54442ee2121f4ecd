package local

import (
	"time"

	v1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
)

// Kind of a Record.
type Kind string

// Kinds, in the order in which a run writes them.
const (
	AttemptStarted  Kind = "attempt_started"
	TaskKept        Kind = "task_kept" // finished in an earlier attempt
	TaskSkipped     Kind = "task_skipped"
	TaskStarted     Kind = "task_started"
	RunStarted      Kind = "taskrun_started"
	StepStarted     Kind = "step_started"
	StepFinished    Kind = "step_finished"
	RunRetried      Kind = "taskrun_retried"
	RunFinished     Kind = "taskrun_finished"
	TaskFinished    Kind = "task_finished"
	CancelRequested Kind = "cancel_requested"
	FinallyStarted  Kind = "finally_started"
	AttemptFinished Kind = "attempt_finished"
)

// Record is one transition: a line of the journal. Fields that a kind does not need are absent.
type Record struct {
	Time     time.Time `json:"time"` // UTC
	Kind     Kind      `json:"kind"`
	Attempt  int       `json:"attempt,omitempty"`
	RunID    string    `json:"runId,omitempty"`
	Pipeline string    `json:"pipeline,omitempty"`
	Matrix   string    `json:"matrix,omitempty"`
	PID      int       `json:"pid,omitempty"`
	Ticks    uint64    `json:"ticks,omitempty"`
	Tasks    []Task    `json:"tasks,omitempty"`   // attempt_started: all tasks; task_kept: the one
	Task     string    `json:"task,omitempty"`    // name of the task
	TaskRun  string    `json:"taskRun,omitempty"` // name of the TaskRun
	Step     string    `json:"step,omitempty"`    // task_finished: the step that failed, where the task has others
	Program  string    `json:"program,omitempty"`
	Path     string    `json:"path,omitempty"`
	Log      string    `json:"log,omitempty"`
	Params   v1.Params `json:"params,omitempty"`
	State    State     `json:"state,omitempty"`
	Reason   string    `json:"reason,omitempty"`
	Message  string    `json:"message,omitempty"`
	ExitCode int       `json:"exitCode,omitempty"`
	Ignored  bool      `json:"ignored,omitempty"`
	Results  Results   `json:"results,omitempty"`
}
