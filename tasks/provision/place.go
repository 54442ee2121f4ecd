package provision

import (
	"context"

	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/tasks/openai"
	"bflow.dev/bflow/tasks/step"
)

// place is where a plan is deployed: this host, or a cluster.
type place interface {
	// admitted returns an error where nothing may be made for the run.
	admitted(ctx context.Context) error
	deployer(plan *runplan.RunPlan) (deployer, error)
	// keep saves what the server leaves behind, before it goes.
	keep(ctx context.Context) error
	// teardown removes everything that was deployed for the run, and returns when it is gone. It may be repeated.
	teardown(ctx context.Context) error
	// rescue is teardown of a run that was cut short: what tells why is saved first.
	rescue(ctx context.Context) error
	// abandon is rescue after a failed start; ctx may have ended.
	abandon(ctx context.Context) error
	// client asks the server at url, or the one that was deployed. nil: from here nobody can.
	client(plan *runplan.RunPlan, url string) (*openai.Client, error)
}

// placeOf says where the step runs: the local executor names the run directory, a cluster does not. A server that
// somebody else runs needs neither. Without a plan, nil, a place can only keep and tear down.
func placeOf(s step.Streams, o Options, plan *runplan.RunPlan) (place, error) {
	here := s.Env(contract.EnvRunDir) != ""
	if here || plan != nil && (plan.Deployment.Endpoint != nil || !plan.Execution.Phases.Deploy) {
		h := host{runDir: o.RunDir, env: s.Env, secrets: o.Secrets()}
		h.blind = !here && plan != nil && plan.Target.Name != "" && plan.Target.Name != contract.TargetLocal
		return h, nil
	}
	return newRemote(s, o, plan)
}

// host is this machine.
type host struct {
	runDir  string
	env     func(string) string
	secrets *step.Secrets
	blind   bool // the server is one that only the remote target reaches: its smoke test will ask it there
}

func (h host) client(plan *runplan.RunPlan, url string) (*openai.Client, error) {
	if h.blind {
		return nil, nil
	}
	return newClient(h.env, h.secrets, plan, url)
}

func (h host) admitted(context.Context) error                   { return nil }
func (h host) deployer(plan *runplan.RunPlan) (deployer, error) { return deployerFor(plan) }
func (h host) keep(context.Context) error                       { return missed(h.runDir) }
func (h host) teardown(ctx context.Context) error               { return teardown(ctx, h.runDir) }
func (h host) rescue(ctx context.Context) error                 { return teardown(ctx, h.runDir) }
func (h host) abandon(context.Context) error                    { return teardownAfter(h.runDir) }
