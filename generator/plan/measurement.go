package plan

import (
	"go.yaml.in/yaml/v3"

	"bflow.dev/bflow/generator/spec"
	"bflow.dev/bflow/internal/problem"
	"bflow.dev/bflow/load"
	"bflow.dev/bflow/load/tool"
	"bflow.dev/bflow/load/tool/registry"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/literal"
)

// measured is the load of a point.
type measured struct {
	measurement runplan.Measurement
	benchmark   string       // what results are filed under: the profile, "load" without one
	slo         *runplan.SLO // named by the tool's own block
	secrets     []literal.Secret
	needs       int // smallest --max-model-len, 0 = any
}

// loadOnly reports whether an axis changes the measurement and nothing else of a plan, except the length that the
// server must allow.
func loadOnly(path spec.Path) bool {
	switch path[0].Key {
	case atBenchmark, inBenchmark, "load", "tool_runner", "tool_venv":
		return true
	case "overrides":
		return len(path) > 1 && path[1].Key == "benchmark"
	case "execution":
		return len(path) > 1 && (path[1].Key == "samples" || path[1].Key == "sample_pause")
	}
	return false
}

// touchesLoad reports whether an axis may change the measurement.
func touchesLoad(path spec.Path) bool {
	switch path[0].Key {
	case "model", "pins":
		return true
	case "execution", "overrides": // the whole of it, which has a part that loadOnly names
		return len(path) == 1 || loadOnly(path)
	}
	return loadOnly(path)
}

// axesThat returns the axes whose path satisfies ok.
func (s *source) axesThat(ok func(spec.Path) bool) []int {
	var axes []int
	for i, p := range s.paths {
		if ok(p) {
			axes = append(axes, i)
		}
	}
	return axes
}

// measure translates the load of a point. The measurement is pinned and identified, so that points can share it.
func (p *point) measure() (measured, problem.List) {
	execution, pins := p.spec("execution").Execution, p.spec("pins").Pins
	src := tool.Source{
		Model: p.model(), Runner: p.spec("tool_runner").ToolRunner, Lenient: p.opt.Lenient, Submitted: p.opt.Submitted,
		Samples: execution.Samples, SamplePause: runplan.Duration(execution.SamplePause),
	}
	var out measured
	profile, problems := p.benchmark(p.digits)
	if problems.Err() != nil {
		return out, problems
	}
	root,
		more := p.tree(p.axesThat(func(path spec.Path) bool { return touchesLoad(path) && p.intoSpec(p.at[path.String()]) }),
		p.digits)
	if more.Err() != nil {
		return out, append(problems, more...)
	}
	src.Venv = p.spec("tool_venv").ToolVenv
	if profile != nil {
		out.needs = profile.Spec.Requirements.MinMaxModelLen
		src.Venv = orElse(src.Venv, profile.Spec.ToolVenv)
	}
	if !p.block(&src, root, profile) {
		return out, append(problems, p.exp.Problem("spec", "there is no load: set benchmark_profile or load"))
	}
	src.Overrides = p.loadOverrides(root, src.Model)
	if out.benchmark = src.Name; profile != nil {
		out.benchmark = profile.Metadata.Name
	}
	translation, more := tool.Translate(src)
	problems.Add(more...)
	problems.Add(p.toolMissing(&translation.Measurement)...)
	out.measurement, out.slo, out.secrets = translation.Measurement, translation.SLO, translation.Secrets
	newPinner(p.opt, pins).dataset(&out.measurement)
	if err := runplan.IdentifyMeasurement(&out.measurement); err != nil {
		problems.Add(problem.Problem{File: src.Block.File, Path: src.Block.Path, Text: err.Error()})
	}
	return out, problems
}

// toolMissing says so where a load that the real tool makes could not happen.
func (p *point) toolMissing(m *runplan.Measurement) problem.List {
	switch {
	case m.Runner != tool.RunnerExternal:
	case p.opt.Submitted:
		return problem.List{p.exp.Problem("spec.tool_runner",
			"%s generates the load in local runs only, because there is no image of it; run with --local, or remove tool_runner",
			m.Tool)}
	case p.opt.FindTool != nil:
		if err := p.opt.FindTool(m.Tool, m.Venv); err != nil {
			return problem.List{p.exp.Problem("spec.tool_runner", "%s", err)}
		}
	}
	return nil
}

// block finds the description of the load: the experiment's own block, else that of the profile's tool.
func (p *point) block(src *tool.Source, root *yaml.Node, profile *spec.BenchmarkProfile) bool {
	if profile != nil {
		src.Env = profile.Spec.Env
	}
	if own := p.spec("load").Load; own != nil {
		src.Name, src.Tool = "load", own
		src.Block = tool.Block{File: p.exp.File, Path: "spec.load", Node: spec.Get(root, inSpec(spec.Path{{Key: "load"}}))}
		return true
	}
	if profile == nil {
		return false
	}
	src.Name, src.Tool = profile.Metadata.Name, registry.All().TranslatorOf(profile.Spec.Tool)
	if profile.Spec.Tool == load.Native {
		src.Tool = profile.Spec.Load
	}
	src.Block = tool.Block{File: profile.File, Path: "spec." + src.Tool.Definition().Key}
	path, err := spec.ParsePath(src.Block.Path)
	src.Block.Node = spec.Get(profile.Root, path)
	return err == nil
}

// loadOverrides are the layers that change the load, weakest first: the experiment's and the model's.
func (p *point) loadOverrides(root *yaml.Node, model string) []tool.OverrideLayer {
	place := func(path ...spec.Seg) tool.Block {
		whole := append(inSpec(path), spec.Seg{Key: "benchmark"})
		return tool.Block{File: p.exp.File, Path: whole.String(), Node: spec.Get(root, whole)}
	}
	return []tool.OverrideLayer{
		{BenchmarkOverrides: p.spec("overrides").Overrides.Benchmark, Block: place(spec.Seg{Key: "overrides"})},
		{
			BenchmarkOverrides: p.spec("model_overrides").ModelOverrides[model].Benchmark,
			Block:              place(spec.Seg{Key: "model_overrides"}, spec.Seg{Key: model}),
		},
	}
}
