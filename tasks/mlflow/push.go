package mlflow

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"path/filepath"
	"time"

	"bflow.dev/bflow/internal/durable"
	"bflow.dev/bflow/report"
	"bflow.dev/bflow/results/checksums"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/tasks/step"
)

// Options are the flags of push, verdict and finalize.
type Options struct {
	step.Options
	Patience                              time.Duration // how long a server may be away
	VerdictResult, RunIDResult, URLResult string        // push: files for the results
	Deadline                              time.Duration // finalize: give up after this long
	Status                                string        // finalize: $(tasks.status) of the Pipeline
	Loads                                 string        // finalize: why the load generators ended, see package partial
	Parent                                string        // MLflow run that this one belongs below, from the environment
}

// Flags returns the flag set of a subcommand, or nil when there is none of that name.
func Flags(sub string, o *Options) *flag.FlagSet {
	fs := flag.NewFlagSet("mlflow-push "+sub, flag.ContinueOnError)
	o.Register(fs)
	if sub != contract.StepVerdict {
		fs.DurationVar(&o.Patience, "patience", 2*time.Minute, "how long to wait for a server that does not answer")
	}
	switch sub {
	case contract.StepPush:
		fs.StringVar(&o.VerdictResult, "verdict-result", "", "file to write result verdict to")
		fs.StringVar(&o.RunIDResult, "run-id-result", "", "file to write result mlflow-run-id to")
		fs.StringVar(&o.URLResult, "url-result", "", "file to write result mlflow-url to")
	case contract.StepVerdict:
	case "finalize":
		fs.DurationVar(&o.Deadline, "deadline", time.Minute, "give up after this long, with exit code 0")
		fs.StringVar(&o.Loads, "loads", "",
			"comma-separated `reasons` of the load-gen tasks as Tekton reports them, in the order of the measurements")
		fs.StringVar(&o.Status, "status", "",
			"aggregate status of the Pipeline's tasks: Succeeded, Completed, Failed or None")
	default:
		return nil
	}
	return fs
}

// Run is the task.
func Run(ctx context.Context, s step.Streams, args []string) error {
	if len(args) == 0 {
		return step.Usagef("reading arguments: want push, verdict or finalize")
	}
	var o Options
	fs := Flags(args[0], &o)
	if fs == nil {
		return step.Usagef("reading arguments: unknown subcommand %q: want push, verdict or finalize", args[0])
	}
	plan, err := o.Begin(fs, args[1:], s.Err)
	if err != nil {
		return err
	}
	if args[0] == contract.StepVerdict {
		return exitByVerdict(o.RunDir)
	}
	o.Parent = s.Env(contract.EnvMLflowParent)
	plan = plan.On(s.Env(contract.EnvTarget))
	client, err := NewClient(s.Env, o.Patience)
	if err != nil {
		return err
	}
	if args[0] == "finalize" {
		return finalize(ctx, s, o, plan, client)
	}
	return push(ctx, s, o, plan, client)
}

// push sends the run and publishes the results: it fails only where that fails.
func push(ctx context.Context, s step.Streams, o Options, plan *runplan.RunPlan, client *Client) error {
	end, err := report.ReadVerdict(o.RunDir)
	if err != nil {
		return err
	}
	if err := publish(o.VerdictResult, end.Verdict); err != nil {
		return err
	}
	there, err := deliver(ctx, s, o, plan, client, end)
	if err != nil {
		return err
	}
	if err := publish(o.RunIDResult, there.RunID); err != nil {
		return err
	}
	return publish(o.URLResult, there.URL)
}

// exitByVerdict exits by the verdict: it is the last step of a run, and what turns it red.
func exitByVerdict(runDir string) error {
	end, err := report.ReadVerdict(runDir)
	if err != nil {
		return err
	}
	if end.ExitCode != contract.ExitPass {
		return step.Exit(end.ExitCode, fmt.Errorf("the verdict is %s (exit code %d)", end.Verdict, end.ExitCode))
	}
	return nil
}

// place is where a run was pushed to, as the run directory keeps it; empty without a tracking server.
type place struct {
	RunID string `json:"run_id"`
	URL   string `json:"url"`
}

// deliver sends the run and notes where it is.
func deliver(
	ctx context.Context, s step.Streams, o Options, plan *runplan.RunPlan, client *Client, end *report.Verdict,
) (place, error) {
	info, err := send(ctx, s, o, plan, client, end)
	if damaged := new(checksums.DamagedError); errors.As(err, &damaged) {
		return place{}, err
	}
	if err != nil {
		return place{}, fmt.Errorf("%w; the results are safe in %q", err, o.RunDir)
	}
	if info == nil {
		return place{}, nil
	}
	there := place{info.RunID, client.Base + "/#/experiments/" + info.ExperimentID + "/runs/" + info.RunID}
	return there, durable.WriteJSON(filepath.Join(o.RunDir, report.FileMLflow), there)
}

func publish(path, value string) error {
	if path == "" {
		return nil
	}
	return durable.Replace(path, []byte(value)) // Tekton takes it from there
}

// send pushes everything and checks it. Without a tracking server it says so: the run directory is the result.
func send(
	ctx context.Context, s step.Streams, o Options, plan *runplan.RunPlan, client *Client, end *report.Verdict,
) (*RunInfo, error) {
	if client == nil {
		fmt.Fprintf(s.Err, "mlflow-push: no tracking server is set (%s): %s is the result\n", contract.EnvMLflowURI, o.RunDir)
		return nil, nil
	}
	if err := checksums.Verify(o.RunDir, nil); err != nil {
		return nil, err
	}
	r, err := Build(o, plan, end)
	if err != nil {
		return nil, err
	}
	if err := durable.WriteJSON(filepath.Join(o.RunDir, ReplayFile), r); err != nil {
		return nil, err
	}
	for _, text := range r.Missing {
		fmt.Fprintf(s.Err, "mlflow-push: %s\n", text)
	}
	info, err := client.Push(ctx, o.RunDir, r)
	if err != nil {
		return nil, err
	}
	fmt.Fprintf(s.Err, "mlflow-push: run %s of experiment %q holds %d params, %d points, %d tags and %d artifacts\n",
		info.RunID, r.Experiment, len(r.Params), len(r.Points), len(r.Tags), len(r.Artifacts))
	return info, step.AppendEvent(o.RunDir, step.Event{Source: contract.MLflowPush, Event: "pushed", Message: info.RunID})
}

// Push sends r, reads it back, and only then gives the run its final status. The run is made before anything else, so
// that an interruption leaves something to be found.
func (c *Client) Push(ctx context.Context, runDir string, r *Replay) (*RunInfo, error) {
	experiment, err := c.Experiment(ctx, r.Experiment)
	if err != nil {
		return nil, err
	}
	first := []Pair{{RunKeyTag, r.RunKey}, {"mlflow.runName", r.RunName}}
	info, err := c.CreateRun(ctx, experiment, r.RunName, r.RunKey, r.Start, first)
	if err != nil {
		return nil, err
	}
	if err := c.log(ctx, info.RunID, r); err != nil {
		return nil, err
	}
	if err := c.upload(ctx, info, runDir, r.Artifacts); err != nil {
		return nil, err
	}
	if err := c.verify(ctx, info.RunID, r); err != nil {
		return nil, err
	}
	return info, c.End(ctx, info.RunID, r.Status, r.End)
}
