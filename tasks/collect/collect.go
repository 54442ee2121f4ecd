package collect

import (
	"context"
	"errors"
	"flag"
	"fmt"

	"bflow.dev/bflow/internal/screen"
	"bflow.dev/bflow/report"
	"bflow.dev/bflow/report/assemble"
	"bflow.dev/bflow/report/write"
	"bflow.dev/bflow/results"
	"bflow.dev/bflow/results/checksums"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/tasks/step"
)

// Options are the flags.
type Options struct {
	step.Options
	Endpoint   string
	MetricsDir string
}

// Flags returns the flag set of the task.
func Flags(o *Options) *flag.FlagSet {
	fs := flag.NewFlagSet(contract.Collect, flag.ContinueOnError)
	o.Register(fs)
	fs.StringVar(&o.Endpoint, "endpoint", "", "base URL of the server under test, for the report")
	fs.StringVar(&o.MetricsDir, "metrics-dir", "",
		"`folder` with a token for the Prometheus of the run and the address it is valid for; may be empty")
	return fs
}

// Run is the task. A bad measurement is data: the finding is in the files and the error is nil. The subcommand serve
// shows what is there to whoever fetches the results of a run on a cluster.
func Run(ctx context.Context, s step.Streams, args []string) error {
	if len(args) > 0 && args[0] == results.Subcommand {
		return results.Run(ctx, s, args[1:])
	}
	var o Options
	plan, err := o.Begin(Flags(&o), args, s.Err)
	if err != nil {
		return err
	}
	if err := errors.Join(step.KeepPlan(o.RunDir, plan), checksums.Retract(o.RunDir)); err != nil {
		return err
	}
	if err := queryPrometheus(ctx, s, o, plan); err != nil {
		return err
	}
	r, err := assemble.Report(o.RunDir)
	if err != nil {
		return err
	}
	stamp(r, o)
	if r.Environment.Colocated, err = colocated(o.RunDir, s.Env(contract.EnvNode)); err != nil {
		return err
	}
	if err := write.All(context.WithoutCancel(ctx), o.RunDir, r); err != nil {
		return err
	}
	fmt.Fprintf(s.Err, "collect: verdict %s (exit code %d)\n", r.Verdict.Verdict, r.Verdict.ExitCode)
	for _, reason := range r.Verdict.Reasons {
		fmt.Fprintf(s.Err, "collect: %s\n", reason)
	}
	return report.Table(s.Err, screen.Screen{}, r)
}

// stamp adds what only the task knows: its flags and the machine it runs on.
func stamp(r *report.Report, o Options) {
	r.Run.ID, r.Run.Attempt = o.RunID, o.Attempt
	r.Run.Release = runplan.Release(r.Plan, o.RunID)
	if o.Endpoint != "" {
		r.Run.Endpoint = assemble.WithoutUser(o.Endpoint)
	}
	r.Environment.Load = thisHost()
}
