package tool

import (
	"fmt"
	"regexp"
	"slices"

	"bflow.dev/bflow/internal/problem"
	"bflow.dev/bflow/load/demand"
	"bflow.dev/bflow/load/shape"
	"bflow.dev/bflow/runplan"
)

// AddStage appends a stage that at describes, under a name that no other stage has.
func (d *Draft) AddStage(at Value, s runplan.Stage) {
	if s.Name == "" {
		s.Name = shape.StageName(&s)
	}
	s.Name = d.freeName(s.Name)
	if data := d.Data; s.Duration == 0 && s.Requests == 0 && data.Conversations > 0 && !data.Reuse {
		s.Requests = data.Conversations * data.Turns
	}
	d.CheckBound(at, s)
	d.Stages = append(d.Stages, s)
}

func (d *Draft) freeName(name string) string {
	if d.stages == nil {
		d.stages = map[string]int{}
	}
	free := name
	for d.stages[free] > 0 {
		d.stages[name]++ // goes on where it ended: a thousand stages may have one load value
		free = fmt.Sprintf("%s-%d", name, d.stages[name])
	}
	d.stages[free] = 1
	return free
}

// CheckBound finds stages that would never end. A trace ends with its file.
func (d *Draft) CheckBound(at Value, s runplan.Stage) {
	if s.Duration == 0 && s.Requests == 0 && !shape.Of(s.Shape).Replays {
		at.why = s.Name
		d.endless = append(d.endless, at)
	}
}

// boundPath matches the settings that bound a stage.
var boundPath = regexp.MustCompile(`constraint|(duration|requests|seconds|count|num.prompts|samples)$`)

// refuseEndless leaves a block to the real tool where that may know bounds that were not read here, and says
// nothing of bounds that are there but wrong.
func (d *Draft) refuseEndless() {
	broken := func(p problem.Problem) bool { return !p.Warning && boundPath.MatchString(p.Path) }
	if len(d.external) > 0 && !d.src.Alone || slices.ContainsFunc(d.problems, broken) {
		return
	}
	for _, v := range d.endless {
		v.Errorf("stage %q has no bound and would never end: give it a duration or a number of requests", v.why)
	}
}

// finish decides who runs the load.
func (d *Draft) finish() {
	d.refuseEndless()
	if d.Over.promptForm.IsSet() {
		d.API.PromptForm = PromptForms()[d.Over.values.PromptForm]
	}
	if d.src.Alone {
		d.reportBeyond()
	}
	switch d.src.Runner {
	case RunnerExternal:
		d.handOver()
	case RunnerNative, RunnerAuto, "":
		d.settle()
	default:
		d.Block.Errorf("tool_runner: %s", NotOneOf(d.src.Runner, []string{RunnerAuto, RunnerNative, RunnerExternal}))
	}
	if d.Runner == RunnerNative {
		for _, problem := range demand.Bounds(&d.Measurement) {
			d.Block.Errorf("%v", problem)
		}
	}
	d.takeEnvCredentials()
	d.takeLiterals()
	d.Notes = d.notes
}

// settle decides on what only the real tool can do: there is no image of one, so the load needs a tool on this host.
func (d *Draft) settle() {
	installed := d.src.Venv != "" && !d.src.Submitted && d.src.Runner != RunnerNative
	for _, v := range d.external {
		switch {
		case installed:
			v.Notef("%s: beyond load-gen, so %s in %s makes this load", v.why, d.Tool, d.src.Venv)
		case d.runsOwn == nil:
			v.Errorf("%s: beyond load-gen; remove it", v.why)
		default:
			v.Errorf("%s: beyond load-gen; remove it, or have %s itself make the load in a local run: tool_runner: external",
				v.why, d.Tool)
		}
	}
	if installed && len(d.external) > 0 {
		d.handOver()
	}
}

// reportBeyond reports what only the real tool can do instead of asking for it.
func (d *Draft) reportBeyond() {
	for _, v := range d.external {
		d.beyond.Add(problem.At(v.file, v.Node, v.Path, "%s", v.why))
	}
	d.external = nil
}

// takeEnvCredentials takes credentials out of the load pod's environment.
func (d *Draft) takeEnvCredentials() {
	for _, name := range []string{"OPENAI_API_KEY", "GUIDELLM__OPENAI__API_KEY"} {
		key := d.Env[name]
		if len(runplan.References(key)) > 0 {
			continue
		}
		if key != "" {
			d.TakeKey(d.Block, key)
		}
		delete(d.Env, name)
	}
}
