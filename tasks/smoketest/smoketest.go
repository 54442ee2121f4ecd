package smoketest

import (
	"context"
	"flag"
	"fmt"
	"path/filepath"
	"time"

	"bflow.dev/bflow/internal/durable"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/tasks/step"
)

// Schema names the format of smoketest.json.
const Schema = "bflow.smoketest/1"

// Verdicts of a check.
const (
	Pass = "pass"
	Warn = "warn" // worth reading, no reason to stop
	Fail = "fail" // the server is not fit to be measured
	Skip = "skip"
)

// Check is one question and its answer.
type Check struct {
	Name     string `json:"name"`
	Replica  string `json:"replica,omitempty"`
	Verdict  string `json:"verdict"`
	Evidence string `json:"evidence"` // one sentence
	Millis   int64  `json:"duration_ms"`
}

// Result is smoketest.json.
type Result struct {
	Schema   string    `json:"schema"`
	Endpoint string    `json:"endpoint"`
	Model    string    `json:"model"`
	Time     time.Time `json:"time"`
	Passed   bool      `json:"passed"`
	Checks   []Check   `json:"checks"`
}

// Options are the flags.
type Options struct {
	step.Options
	Endpoint string
}

// Flags returns the flag set of the task.
func Flags(o *Options) *flag.FlagSet {
	fs := flag.NewFlagSet("smoketest", flag.ContinueOnError)
	o.Register(fs)
	fs.StringVar(&o.Endpoint, "endpoint", "", "base URL of the server under test")
	return fs
}

// Run is the task.
func Run(ctx context.Context, s step.Streams, args []string) error {
	var o Options
	plan, err := o.Begin(Flags(&o), args, s.Err)
	if err != nil {
		return err
	}
	if err := step.CheckRequired("endpoint", o.Endpoint); err != nil {
		return err
	}
	key, err := step.APIKey(s.Env)
	if err != nil {
		return err
	}
	secrets := o.Secrets()
	endpoint, err := runplan.FillAddress(o.Endpoint, secrets.Find)
	if err != nil {
		return err
	}
	if plan, err = plan.WithLoad(0, secrets.Find); err != nil {
		return err
	}
	result, err := examine(ctx, o, server{address: endpoint, key: key, secrets: secrets.Values(), env: s.Env}, plan)
	if err != nil {
		return step.Exit(contract.ExitUsage, err)
	}
	if ctx.Err() != nil {
		return fmt.Errorf("checking %s: %w", o.Endpoint, ctx.Err())
	}
	for _, c := range result.Checks {
		fmt.Fprintf(s.Err, "smoketest: %-4s %s: %s\n", c.Verdict, c.Name, c.Evidence)
	}
	if err := durable.WriteJSON(filepath.Join(o.RunDir, contract.FileSmoketest), result); err != nil {
		return err
	}
	return result.err()
}

// err is the first failed check as one sentence, with exit code 3.
func (r Result) err() error {
	for _, c := range r.Checks {
		if c.Verdict == Fail {
			return step.Exit(contract.ExitUnhealthy, fmt.Errorf("checking %s: %s: %s", r.Endpoint, c.Name, c.Evidence))
		}
	}
	return nil
}
