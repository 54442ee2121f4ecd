package loadgen

import (
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"bflow.dev/bflow/internal/durable"
	"bflow.dev/bflow/report"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/tasks/loadgen/record"
	"bflow.dev/bflow/tasks/step"
	"bflow.dev/bflow/verdict"
)

// mergeWord is the subcommand that joins what shards have measured.
const mergeWord = "merge"

// merge makes one run directory out of those of the shards of a load.
func merge(s step.Streams, args []string) error {
	fs := flag.NewFlagSet(contract.LoadGen+" "+mergeWord, flag.ContinueOnError)
	fs.SetOutput(s.Err)
	out := fs.String("run-dir", "", "run directory to write; the run directories of the shards follow as arguments")
	planDir := fs.String("plan-dir", "", "folder with the plan, if the run directories do not contain it")
	if err := fs.Parse(args); err != nil {
		return step.Exit(contract.ExitUsage, err)
	}
	if err := step.CheckRequired("run-dir", *out); err != nil {
		return err
	}
	if fs.NArg() < 2 {
		return step.Usagef("reading arguments: want the run directories of at least two shards")
	}
	plan, err := planOfShards(*planDir, fs.Args())
	if err != nil {
		return step.Exit(contract.ExitUsage, err)
	}
	if err := step.KeepPlan(*out, plan); err != nil {
		return err
	}
	merged := 0
	for n := range plan.Measurements {
		did, err := mergeMeasurement(*out, fs.Args(), plan, n)
		if err != nil {
			return err
		}
		if did {
			merged++
			fmt.Fprintf(s.Err, "load-gen: measurement %d of %d shards is in %s\n", n, fs.NArg(), report.MeasurementDir(*out, n))
		}
	}
	if merged == 0 {
		return step.Usagef("merging shards: %q has no measurement", fs.Arg(0))
	}
	return nil
}

// planOfShards is the plan in dir; without one, that of the first shard. mergeMeasurement sees whether the shards
// carried it out.
func planOfShards(dir string, shards []string) (*runplan.RunPlan, error) {
	if dir != "" {
		return runplan.Read(dir)
	}
	plan, err := runplan.Read(shards[0])
	if err != nil {
		return nil, fmt.Errorf("%w; name its folder with --plan-dir", err)
	}
	return plan, nil
}

// mergeMeasurement joins one measurement; false where no shard has it.
func mergeMeasurement(out string, shards []string, plan *runplan.RunPlan, n int) (bool, error) {
	var dirs []string
	for _, shard := range shards {
		dirs = append(dirs, report.MeasurementDir(shard, n))
	}
	missing := slices.IndexFunc(dirs, func(dir string) bool { return !there(dir) })
	switch {
	case missing >= 0 && !slices.ContainsFunc(dirs, there):
		return false, nil
	case missing >= 0:
		return false, fmt.Errorf("merging measurement %d: shard %q does not have it", n, shards[missing])
	}
	dir, m := report.MeasurementDir(out, n), &plan.Measurements[n]
	if there(dir) {
		return false, step.Usagef("merging measurement %d: %q is there already; name another run directory", n, dir)
	}
	if err := checkSame(plan, dirs); err != nil {
		return false, step.Exit(contract.ExitUsage, fmt.Errorf("merging measurement %d: %w", n, err))
	}
	var keep runplan.Record
	if m.Record != nil {
		keep = *m.Record
	}
	if err := record.Merge(dir, dirs, keep, judgeWhole(m, plan.Objectives(n))); err != nil {
		return false, err
	}
	return true, noteMerge(dir, len(dirs))
}

// checkSame refuses rows of another plan.
func checkSame(plan *runplan.RunPlan, dirs []string) error {
	for _, dir := range dirs {
		rows, err := report.OpenRows(filepath.Join(dir, contract.FileRequests))
		if err != nil {
			return err
		}
		if err := rows.Close(); err != nil {
			return err
		}
		if rows.Header.PlanHash != plan.Hash {
			return fmt.Errorf("%q was measured by another plan", dir)
		}
	}
	return nil
}

// noteMerge says in loadgen.json that it is of several processes.
func noteMerge(dir string, shards int) error {
	path := filepath.Join(dir, contract.FileLoadGen)
	var l report.LoadGen
	if err := step.ReadJSON(path, &l); err != nil {
		return err
	}
	l.Notes = append(l.Notes,
		fmt.Sprintf("%d shards put this load: rows and numbers are of all of them, processor time and memory are sums",
			shards))
	return durable.WriteJSON(path, l)
}

// judgeWhole returns what judges a merged stage: checks of the load over all its requests, checks of a process by the
// worst of them.
func judgeWhole(m *runplan.Measurement,
	slo *runplan.SLO) func(in *record.Stage, r *report.StageResult, shards []report.StageResult) {
	return func(in *record.Stage, r *report.StageResult, shards []report.StageResult) {
		add := adder(&r.Checks)
		scheduleChecks(in, r, m.Data.Think.D(), add)
		r.Checks = append(r.Checks, latenessChecks(r, verdict.Counted(slo, r))...)
		tokenChecks(r, m.API.ExactOutput, add)
		r.Checks = append(r.Checks, findings(in, r)...)
		own := len(r.Checks)
		for _, shard := range shards {
			for _, c := range shard.Checks {
				i := slices.IndexFunc(r.Checks, func(have report.Check) bool { return have.Name == c.Name })
				switch {
				case i < 0:
					r.Checks = append(r.Checks, c)
				case i >= own && (r.Checks[i].OK && !c.OK || r.Checks[i].OK == c.OK && c.Value > r.Checks[i].Value):
					r.Checks[i] = c
				}
			}
		}
	}
}

func there(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}
