package runs

import (
	"cmp"
	"fmt"
	"time"

	"bflow.dev/bflow/pipelines/local"
	"bflow.dev/bflow/queue/matrix/state"
	"bflow.dev/bflow/report"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/verdict"
)

// Status is how far a run is, or how it ended: what a local run says of itself, what it is for, and what only a cluster
// has.
type Status struct {
	local.Status
	Cluster    string    `json:"cluster,omitempty"`
	Namespace  string    `json:"namespace,omitempty"`
	Experiment string    `json:"experiment,omitempty"`
	Model      string    `json:"model,omitempty"`
	Load       string    `json:"load,omitempty"`      // what is measured, in a few words
	TTFT       *float64  `json:"ttftP50Ms,omitempty"` // of the headline stage
	PlanHash   string    `json:"planHash,omitempty"`
	Created    time.Time `json:"created,omitzero"` // of the first attempt
	Queue      *Queue    `json:"queue,omitempty"`  // nil: the run does not queue
	Engine     []Pod     `json:"engine,omitempty"` // pods of the server under test, while there are some
	Volume     string    `json:"volume,omitempty"` // what has become of its volume since its end
}

// Queue is the run's place before its GPUs and its hold on them.
type Queue struct {
	Name         string            `json:"name"`
	Requests     map[string]string `json:"requests,omitempty"`
	Position     int               `json:"position,omitempty"` // in its queue, from 1; 0 = not known or not waiting
	Reason       string            `json:"reason,omitempty"`   // why it waits to start, or to be released
	ByController bool              `json:"-"`                  // Reason is the controller's own sentence
	Admitted     time.Time         `json:"admitted,omitzero"`
	Freed        time.Time         `json:"freed,omitzero"`    // no pod holds a device since
	Released     time.Time         `json:"released,omitzero"` // nothing of it is left on its target since

	Neighbours *Neighbours `json:"neighbours,omitempty"` // of one that waits, where somebody asks for its status
}

// Neighbour is another run of the queue in which one waits.
type Neighbour struct {
	Run       string            `json:"run"`
	Namespace string            `json:"namespace"`
	Requests  map[string]string `json:"requests,omitempty"`
	Since     time.Time         `json:"since"`           // it holds what it asked for, or waits
	Place     int               `json:"place,omitempty"` // of one that waits; 0 = not known
	Ending    bool              `json:"ending,omitempty"`
}

// Neighbours are what a waiting run waits for.
type Neighbours struct {
	Holders []Neighbour `json:"holders"` // of the quota, the longest first
	Before  []Neighbour `json:"before"`  // runs that come first, in their order
	Hidden  bool        `json:"hidden"`  // those of other namespaces may not be seen
}

// Pod is one pod of the server under test.
type Pod struct {
	Name     string `json:"name"`
	Node     string `json:"node,omitempty"`
	State    string `json:"state"` // Ready, or why not
	Restarts int    `json:"restarts"`
	Message  string `json:"message,omitempty"`
}

// EndpointOf is the URL of the model server of a run, "" where none came up.
func EndpointOf(s *local.Status) string {
	for _, t := range s.Tasks {
		if t.Name == contract.Provision && t.State == local.Succeeded {
			return t.Results[contract.ResultEndpoint].StringVal
		}
	}
	return ""
}

// Verdict is the word of the run's last task, "" before it has spoken.
func (s *Status) Verdict() string {
	if v, ok := s.Results[contract.ResultVerdict]; ok {
		return v.StringVal
	}
	for _, t := range s.Tasks {
		if v, ok := t.Results[contract.ResultVerdict]; ok {
			return v.StringVal
		}
	}
	return ""
}

// Sentence says why a run waits, and where in its queue. The controller's own word is whole.
func (q *Queue) Sentence() string {
	place := fmt.Sprintf("it waits in queue %q", q.Name)
	switch {
	case q.ByController:
		return q.Reason
	case q.Position > 0 && q.Reason != "":
		return fmt.Sprintf("%s, place %d: %s", place, q.Position, q.Reason)
	case q.Position > 0:
		return fmt.Sprintf("%s, place %d", place, q.Position)
	case q.Reason != "":
		return place + ": " + q.Reason
	}
	return place
}

// Outcome is how one run ended whose folder is on this machine.
type Outcome struct {
	RunID  string
	RunDir string
	Plan   *runplan.RunPlan
	Status local.Status
	Err    error // the executor could not do its work
	Code   int   // documented exit code
}

// PointOutcome is what a matrix counts a run as that has ended with a verdict, "" where it came to none, and an exit
// code.
func PointOutcome(word string, code int) state.Outcome {
	if code == contract.ExitInterrupted {
		return state.Cancelled
	}
	return state.Of(cmp.Or(word, verdict.Word(code)), code == contract.ExitPass)
}

// TTFT is the median TTFT of the headline stage in ms, nil without one.
func TTFT(r *report.Report) *float64 {
	if stage := report.Headline(r); stage != nil {
		if m := stage.Metrics["ttft"]; m.Has("p50") {
			value := m.Quantiles["p50"]
			return &value
		}
	}
	return nil
}

// Worst is the code for several runs; an interruption is only that where nothing worse happened.
func Worst(codes []int) int {
	if code := verdict.ExitCode(codes...); code != contract.ExitPass {
		return code
	}
	for _, code := range codes {
		if code != contract.ExitPass {
			return code
		}
	}
	return contract.ExitPass
}
