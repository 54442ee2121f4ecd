package step

import (
	"flag"
	"fmt"
	"io"

	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
)

// Begin is how every task starts: it parses args into fs, which o has registered its flags with, demands the common
// flags, and reads the plan. Every error has the exit code of bad usage; the usage text goes to errs.
func (o *Options) Begin(fs *flag.FlagSet, args []string, errs io.Writer) (*runplan.RunPlan, error) {
	fs.SetOutput(errs)
	if err := fs.Parse(args); err != nil {
		return nil, Exit(contract.ExitUsage, err)
	}
	if fs.NArg() > 0 {
		return nil, Usagef("reading arguments: unexpected %q: %s takes flags only", fs.Arg(0), fs.Name())
	}
	if err := CheckRequired("plan-dir", o.PlanDir, "run-dir", o.RunDir, "run-id", o.RunID); err != nil {
		return nil, err
	}
	if o.Attempt < 1 {
		return nil, Usagef("reading flags: --attempt is %d, it counts from 1", o.Attempt)
	}
	plan, err := o.readPlan(errs)
	if err != nil {
		return nil, Exit(contract.ExitUsage, &PlanError{err})
	}
	return plan, nil
}

// PlanError says that everything is there but the plan.
type PlanError struct{ Err error }

func (e *PlanError) Error() string { return e.Err.Error() }
func (e *PlanError) Unwrap() error { return e.Err }

// readPlan takes the copy that the first task kept where the plan itself was deleted or damaged meanwhile.
func (o *Options) readPlan(errs io.Writer) (*runplan.RunPlan, error) {
	plan, err := runplan.Read(o.PlanDir)
	if err == nil {
		return plan, nil
	}
	kept, keptErr := runplan.Read(o.RunDir)
	if keptErr != nil {
		return nil, err
	}
	fmt.Fprintf(errs, "%v; continuing with the copy in the run directory\n", err)
	return kept, nil
}
