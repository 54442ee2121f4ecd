package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"bflow.dev/bflow/bench/rig"
	"bflow.dev/bflow/load/tool"
	"bflow.dev/bflow/load/tool/registry"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/sim"
	"bflow.dev/bflow/tasks/loadgen/external"
)

// peer is another load tool.
type peer struct {
	lab         *lab
	tool        string
	requirement string // for pip
	venv        string
	tokenizer   string // folder
	env         []string
	block       func(p *peer, of load) map[string]any
	read        func(dir string) (claims, error)
}

// newPeer describes a tool. Tools run with one worker, which is best for them on one core.
func newPeer(l *lab, name string) (*peer, error) {
	known, ok := registry.All().Find(name)
	if !ok || known.External() == nil {
		return nil, fmt.Errorf("unknown tool %q", name)
	}
	p := &peer{lab: l, tool: name, requirement: known.External().Program().Requirement}
	switch name {
	case "guidellm":
		p.block, p.read = guideBlock, readGuide
		p.env = []string{"HF_HUB_OFFLINE=1", "GUIDELLM__MAX_WORKER_PROCESSES=1"}
	case "aiperf": // with HF_HUB_OFFLINE it refuses a tokenizer that is a folder
		p.block, p.read = aiperfBlock, readAIPerf
	case "inference-perf":
		p.block, p.read = inferenceBlock, readInference
		p.env = []string{"HF_HUB_OFFLINE=1"}
	default:
		return nil, fmt.Errorf("no load is written down for tool %q", name)
	}
	return p, nil
}

func (p *peer) name() string { return p.tool }

func (p *peer) program() string { return filepath.Join(p.venv, "bin", p.tool) }

// records are all: these tools send nothing before the load.
func (*peer) records(log []sim.Record) []sim.Record { return log }

func (p *peer) run(dir, url string, of load) (outcome, error) {
	results := filepath.Join(dir, "results")
	if err := os.MkdirAll(results, 0o755); err != nil {
		return outcome{}, err
	}
	commands, err := external.Build(tool.Invocation{Model: rig.ModelName, Endpoint: url, Program: p.program(),
		Dir:         results,
		Measurement: &runplan.Measurement{Tool: p.tool, External: p.block(p, of)}})
	if err != nil {
		return outcome{}, err
	}
	for _, f := range commands[0].Files {
		if err := os.WriteFile(filepath.Join(results, f.Name), f.Data, 0o644); err != nil {
			return outcome{}, err
		}
	}
	out, err := p.execute(dir, commands[0])
	if err == nil && out.ExitCode != 0 && !of.failing {
		err = fmt.Errorf("%s ended with code %d: see %s", p.tool, out.ExitCode, filepath.Join(dir, "tool.log"))
	}
	if err != nil {
		return out, err
	}
	out.claims, err = p.read(results)
	return out, err
}

// execute runs the tool on the client's core and ends whatever it leaves behind.
func (p *peer) execute(dir string, c tool.Command) (out outcome, err error) {
	ctx, cancel := context.WithTimeout(p.lab.ctx, limit)
	defer cancel()
	log, err := os.Create(filepath.Join(dir, "tool.log"))
	if err != nil {
		return out, err
	}
	defer log.Close()
	mark := "BFLOW_BENCH_DIR=" + dir
	env := slices.Concat(os.Environ(), p.env, c.Env, []string{mark})
	proc, err := rig.Start(ctx, rig.Command{Path: c.Argv[0], Args: c.Argv[1:], Env: env, Dir: dir,
		Core: p.lab.cores.Client, Stdout: log, Stderr: log})
	if err != nil {
		return out, err
	}
	w := startWatch(proc.Pid)
	out.Usage, err = proc.Wait()
	w.end(mark)
	out.cpu, out.memory = w.curve, w.memory
	if ctx.Err() != nil {
		err = fmt.Errorf("%s did not end within %s", p.tool, limit)
	}
	return out, err
}
