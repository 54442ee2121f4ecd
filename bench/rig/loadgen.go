package rig

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"bflow.dev/bflow/internal/durable"
	"bflow.dev/bflow/report"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/tasks/step"
)

// PromptTokens makes chat prompts of about 1 kB: the words are a little over four letters and a blank each.
const PromptTokens = 200

// Plan returns a plan of one measurement: streamed chat requests of 1 kB prompts with answers of so many tokens.
func Plan(output int, stages ...runplan.Stage) runplan.RunPlan {
	return runplan.RunPlan{
		APIVersion: runplan.APIVersion, Kind: runplan.Kind, Name: "bench",
		Deployment: runplan.Deployment{Model: runplan.Model{Name: ModelName},
			Engine: runplan.Engine{Kind: "sim", MetricsPath: "/metrics"}},
		Measurements: []runplan.Measurement{{
			Name: "load", Runner: runplan.RunnerNative, Samples: 1, Stages: stages,
			API: runplan.API{Type: runplan.APIChat, Path: "/v1/chat/completions", Stream: true,
				Timeout: runplan.Duration(time.Minute), ExactOutput: true},
			Data: runplan.Data{
				Input:  &runplan.Length{Shape: "fixed", Mean: PromptTokens},
				Output: &runplan.Length{Shape: "fixed", Mean: float64(output)},
				Turns:  1, FreshPerStage: true, Seed: 42,
			},
		}},
	}
}

// LoadGenOptions describe a run of load-gen.
type LoadGenOptions struct {
	Binary   string
	Dir      string // the run directory; the plan lies in its folder plan
	Core     int
	Endpoint string
	Plan     runplan.RunPlan
	Args     []string // further flags
}

// LoadGenRun is what a run of load-gen left behind.
type LoadGenRun struct {
	Usage
	Rows   string // path of requests.jsonl.gz
	Stages []report.StageResult
	Load   report.LoadGen
	Log    string
}

// StartLoadGen writes the plan and starts load-gen.
func StartLoadGen(ctx context.Context, o LoadGenOptions) (*LoadGenProcess, error) {
	planDir := filepath.Join(o.Dir, "plan")
	if err := os.MkdirAll(planDir, 0o755); err != nil {
		return nil, fmt.Errorf("making the folder of the plan: %w", err)
	}
	if err := runplan.Identify(&o.Plan); err != nil {
		return nil, err
	}
	if err := durable.WriteJSON(filepath.Join(planDir, runplan.FileJSON), o.Plan); err != nil {
		return nil, err
	}
	p := &LoadGenProcess{dir: report.MeasurementDir(o.Dir, 0)}
	var err error
	p.Process, err = Start(ctx, Command{Path: o.Binary, Core: o.Core, Stdout: &p.log, Stderr: &p.log,
		Args: append(
			[]string{"--plan-dir", planDir, "--run-dir", o.Dir, "--run-id", "r", "--endpoint", o.Endpoint}, o.Args...)})
	return p, err
}

// LoadGenProcess is a load-gen that runs.
type LoadGenProcess struct {
	*Process
	dir string
	log bytes.Buffer
}

// Wait waits for the end and reads the results. An exit code other than 0 is an error.
func (p *LoadGenProcess) Wait() (LoadGenRun, error) {
	r := LoadGenRun{Rows: filepath.Join(p.dir, contract.FileRequests)}
	var err error
	if r.Usage, err = p.Process.Wait(); err != nil {
		return r, err
	}
	r.Log = p.log.String()
	if r.ExitCode != 0 {
		return r, fmt.Errorf("load-gen ended with code %d: %s", r.ExitCode, r.Log)
	}
	if r.Stages, err = report.ReadStages(filepath.Join(p.dir, contract.FileStages)); err != nil &&
		!errors.Is(err, fs.ErrNotExist) {
		return r, err
	}
	err = step.ReadJSON(filepath.Join(p.dir, contract.FileLoadGen), &r.Load)
	if err == nil && r.Load.Error != "" {
		err = fmt.Errorf("load-gen could not measure: %s", r.Load.Error)
	}
	return r, err
}

// RunLoadGen runs load-gen to its end.
func RunLoadGen(ctx context.Context, o LoadGenOptions) (LoadGenRun, error) {
	p, err := StartLoadGen(ctx, o)
	if err != nil {
		return LoadGenRun{}, err
	}
	return p.Wait()
}
