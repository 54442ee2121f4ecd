package loadgen

import (
	"errors"
	"flag"
	"io"

	"bflow.dev/bflow/tasks/contract"
	"bflow.dev/bflow/tasks/step"
)

// Options are the flags of load-gen.
type Options struct {
	step.Options
	Endpoint    string // base URL of the server under test
	Measurement int    // index into RunPlan.measurements
}

// Flags returns the flag set that fills o.
func Flags(o *Options) *flag.FlagSet {
	fs := flag.NewFlagSet(contract.LoadGen, flag.ContinueOnError)
	o.Register(fs)
	fs.StringVar(&o.Endpoint, contract.ParamEndpoint, "", "base URL of the server under test")
	fs.IntVar(&o.Measurement, contract.ParamMeasurement, 0, "index into the measurements of the plan, from 0")
	return fs
}

// Parse reads args; usage goes to errs.
func Parse(args []string, errs io.Writer) (Options, error) {
	var o Options
	fs := Flags(&o)
	fs.SetOutput(errs)
	if err := fs.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return o, err
		}
		return o, step.Exit(contract.ExitUsage, err)
	}
	switch {
	case fs.NArg() > 0:
		return o, step.Usagef("unexpected argument %q: load-gen takes flags only", fs.Arg(0))
	case o.PlanDir == "":
		return o, step.Usagef("--plan-dir is missing")
	case o.RunDir == "":
		return o, step.Usagef("--run-dir is missing")
	case o.Endpoint == "":
		return o, step.Usagef("--%s is missing", contract.ParamEndpoint)
	case o.Measurement < 0:
		return o, step.Usagef("--%s=%d is below 0", contract.ParamMeasurement, o.Measurement)
	case o.Attempt < 1:
		return o, step.Usagef("--%s=%d is below 1", contract.ParamAttempt, o.Attempt)
	}
	return o, nil
}
