package provision

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"time"

	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/tasks/provision/remotetask"
	"bflow.dev/bflow/tasks/step"
)

// Options are the flags of up, release and down.
type Options struct {
	step.Options
	EndpointResult  string        // up: where the result "endpoint" goes
	ReasonResult    string        // up: where the result "reason" goes, when it fails
	TargetDir       string        // folder with the way to a target cluster, from the controller
	TargetWorkspace string        // the same, from whoever started a run without a queue; stronger
	Deadline        time.Duration // down, summary: give up after this long
	Status          string        // summary: $(tasks.status) of the Pipeline
}

// Flags returns the flag set of a subcommand, or nil when there is none of that name.
func Flags(sub string, o *Options) *flag.FlagSet {
	fs := flag.NewFlagSet("provision "+sub, flag.ContinueOnError)
	o.Register(fs)
	switch sub {
	case "up":
		fs.StringVar(&o.EndpointResult, "endpoint-result", "", "file to write result endpoint to")
		fs.StringVar(&o.ReasonResult, "reason-result", "", "file to write result reason to")
	case "down", "summary":
		fs.DurationVar(&o.Deadline, "deadline", 2*time.Minute, "give up after this long, with exit code 0")
	case "release":
	default:
		return nil
	}
	if sub == "summary" {
		fs.StringVar(&o.Status, "status", "",
			"aggregate status of the Pipeline's tasks: Succeeded, Completed, Failed or None")
	} else {
		fs.StringVar(&o.TargetDir, "target-dir", "", "folder with the kubeconfig of the target cluster")
		fs.StringVar(&o.TargetWorkspace, "target-workspace", "", "another folder with a kubeconfig; takes precedence")
	}
	return fs
}

// Run is the task.
func Run(ctx context.Context, s step.Streams, args []string) error {
	if len(args) == 0 {
		return step.Usagef("reading arguments: want up, release, down, summary, exec or hold")
	}
	switch args[0] {
	case "hold":
		return hold(ctx, s, args[1:])
	case remotetask.Subcommand:
		return remotetask.Run(ctx, s, args[1:])
	}
	var o Options
	fs := Flags(args[0], &o)
	if fs == nil {
		return step.Usagef("reading arguments: unknown subcommand %q: want up, release, down, summary, exec or hold", args[0])
	}
	plan, err := o.Begin(fs, args[1:], s.Err)
	if lost := new(step.PlanError); errors.As(err, &lost) && (args[0] == "release" || args[0] == "down") {
		fmt.Fprintf(s.Err, "provision: %v; removing all objects with the labels of run %s\n", err, o.RunID)
		plan, err = nil, nil
	}
	if err != nil {
		return err
	}
	if args[0] != "up" { // which keeps the plan as it is
		plan = plan.On(s.Env(contract.EnvTarget))
	}
	switch args[0] {
	case "up":
		return up(ctx, s, o, plan)
	case "release":
		return release(ctx, s, o, plan)
	case "summary":
		return summary(ctx, s, o, plan)
	default:
		return down(ctx, s, o, plan)
	}
}
