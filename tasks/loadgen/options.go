package loadgen

import (
	"flag"
	"io"

	"bflow.dev/bflow/tasks/contract"
	"bflow.dev/bflow/tasks/runplan"
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

// begin reads args and the plan; usage goes to errs.
func (o *Options) begin(args []string, errs io.Writer) (*runplan.RunPlan, error) {
	plan, err := o.Begin(Flags(o), args, errs)
	if err != nil {
		return nil, err
	}
	if err := step.CheckRequired(contract.ParamEndpoint, o.Endpoint); err != nil {
		return nil, err
	}
	if o.Measurement < 0 {
		return nil, step.Usagef("reading flags: --%s is %d, it counts from 0", contract.ParamMeasurement, o.Measurement)
	}
	return plan, nil
}
