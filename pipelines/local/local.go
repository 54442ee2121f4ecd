// Package local executes a compiled Tekton Pipeline on this machine: the same DAG, params, results, workspaces,
// timeouts and finally tasks, with steps as processes and workspaces as folders. It must know nothing of experiments:
// it runs any Pipeline whose steps are bflow's own programs.
package local

import (
	"context"
	"time"

	"bflow.dev/bflow/pipelines"
)

// Options say what to run and where.
type Options struct {
	Objects pipelines.Bundle // exactly one PipelineRun and what it names; Resume reads them from the run directory
	RunDir  string           // run directory, also workspace "run"; made where it is missing
	RunID   string           // name of the run: $(context.pipelineRun.name); empty is the name of RunDir
	Attempt int              // from 1; 0 is 1. Resume counts on by itself

	BinDir string   // folder of sibling binaries (provision, load-gen, ...); may be empty
	Self   string   // path of the bflow binary: "Self step <binary> args..." stands in for a missing sibling
	Env    []string // environment of the host as KEY=VALUE: source of what steps inherit and of secret values

	PassEnv   []string          // names of further variables that steps inherit from Env
	SecretEnv map[string]string // "secret/key" to the name of the variable in Env that holds its value

	// HostImages maps an image to the folder of this host that stands for its root: steps of such an image run as
	// processes ("/" runs the host's own programs and scripts). Without it only programs of ours run.
	HostImages map[string]string

	Again []string // Resume: tasks that run again although they have finished, and whatever was made of them

	// Stay is called once the run is over, while programs go on that its steps have left running. They end when it
	// returns, which it does at once when ctx is over; may be nil.
	Stay func(ctx context.Context, s Status)

	Grace    time.Duration    // between SIGTERM and SIGKILL of a step; 0 is 30 s
	Stop     <-chan struct{}  // closed: everything is killed at once, finally included (the second signal)
	Observer Observer         // progress; may be nil
	Clock    func() time.Time // of the time stamps; nil is time.Now
}

// Observer is told what happens while it happens. It is called one at a time and must not block for long.
type Observer interface {
	// Changed is called after a transition was recorded.
	Changed(Record)
}

// Check lists everything about o.Objects that cannot run here, each with its reason; empty means that Run would start.
// It starts nothing and reads no file.
func Check(o Options) []Refusal {
	p, refusals := link(o)
	if p == nil {
		return refusals
	}
	return append(refusals, p.check(o)...)
}
