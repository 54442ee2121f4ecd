package loadgen

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/tasks/step"
)

// Options are the flags of load-gen.
type Options struct {
	step.Options
	Endpoint    string // base URL of the server under test
	Measurement int    // index into RunPlan.measurements
	Shard       Shard  // the part of the load that is this process's
	StartAt     int64  // unix nanoseconds of the first stage; 0 = as soon as it is prepared
	OnInvalid   string // mark, fail or retry; empty = what the plan says
	Clock       string // whose receive stamps are taken: kernel, where there are any, or user
}

// Shard is one of several processes that put one load together.
type Shard struct{ Index, Of int }

// String implements flag.Value.
func (s *Shard) String() string { return fmt.Sprintf("%d/%d", s.Index, s.Of) }

// Set implements flag.Value.
func (s *Shard) Set(text string) error {
	k, n, ok := strings.Cut(text, "/")
	index, err1 := strconv.Atoi(k)
	of, err2 := strconv.Atoi(n)
	if !ok || err1 != nil || err2 != nil || of < 1 || index < 0 || index >= of {
		return errors.New("want K/N, K from 0 to N-1")
	}
	s.Index, s.Of = index, of
	return nil
}

// Whose receive stamps are taken.
const (
	clockKernel = "kernel"
	clockUser   = "user"
)

// Flags returns the flag set that fills o.
func Flags(o *Options) *flag.FlagSet {
	fs := flag.NewFlagSet(contract.LoadGen, flag.ContinueOnError)
	o.Register(fs)
	fs.StringVar(&o.Endpoint, contract.ParamEndpoint, "", "base URL of the server under test")
	fs.IntVar(&o.Measurement, contract.ParamMeasurement, 0, "index of the measurement in the plan, counting from 0")
	o.Shard = Shard{Of: 1}
	fs.Var(&o.Shard, "shard", "K/N: generate part K of N of the load, counting from 0; load-gen merge joins the results")
	fs.Int64Var(&o.StartAt, "start-at", 0,
		"start time of the first stage in Unix nanoseconds, so that shards start together")
	fs.StringVar(&o.OnInvalid, "on-invalid", "",
		"what to do with an invalid stage: mark, fail or retry (default: from the plan)")
	fs.StringVar(&o.Clock, "clock", clockKernel,
		"source of receive timestamps: kernel, where supported, or user, taken when load-gen reads")
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
	if !slices.Contains([]string{"", runplan.InvalidMark, runplan.InvalidFail, runplan.InvalidRetry}, o.OnInvalid) {
		return nil, step.Usagef("reading flags: --on-invalid is %q, want mark, fail or retry", o.OnInvalid)
	}
	if o.Clock != clockKernel && o.Clock != clockUser {
		return nil, step.Usagef("reading flags: --clock is %q, want kernel or user", o.Clock)
	}
	return plan, nil
}
