package load

import (
	"fmt"
	"regexp"
	"slices"

	"bflow.dev/bflow/internal/problem"
	"bflow.dev/bflow/load/demand"
	"bflow.dev/bflow/load/shape"
	"bflow.dev/bflow/runplan"
)

// addStage appends a stage that at describes, under a name that no other stage has.
func (t *translator) addStage(at value, s runplan.Stage) {
	if s.Name == "" {
		s.Name = shape.StageName(&s)
	}
	s.Name = t.freeName(s.Name)
	if d := t.m.Data; s.Duration == 0 && s.Requests == 0 && d.Conversations > 0 && !d.Reuse {
		s.Requests = d.Conversations * d.Turns
	}
	t.checkBound(at, s)
	t.m.Stages = append(t.m.Stages, s)
}

func (t *translator) freeName(name string) string {
	if t.named == nil {
		t.named = map[string]int{}
	}
	free := name
	for t.named[free] > 0 {
		t.named[name]++ // goes on where it ended: a thousand stages may have one load value
		free = fmt.Sprintf("%s-%d", name, t.named[name])
	}
	t.named[free] = 1
	return free
}

// checkBound finds stages that would never end. A trace ends with its file.
func (t *translator) checkBound(at value, s runplan.Stage) {
	if s.Duration == 0 && s.Requests == 0 && !shape.Of(s.Shape).Replays {
		at.why = s.Name
		t.endless = append(t.endless, at)
	}
}

// boundPath matches the settings that bound a stage.
var boundPath = regexp.MustCompile(`constraint|(duration|requests|seconds|count|num.prompts|samples)$`)

// refuseEndless leaves a block to the real tool where that may know bounds that were not read here, and says
// nothing of bounds that are there but wrong.
func (t *translator) refuseEndless() {
	broken := func(p problem.Problem) bool { return !p.Warning && boundPath.MatchString(p.Path) }
	if len(t.external) > 0 && !t.src.Alone || slices.ContainsFunc(t.problems, broken) {
		return
	}
	for _, v := range t.endless {
		v.errorf("stage %q has no bound and would never end: give it a duration or a number of requests", v.why)
	}
}

// finish decides who runs the load.
func (t *translator) finish() {
	t.refuseEndless()
	if t.over.promptForm.set() {
		t.m.API.PromptForm = promptForms()[t.over.PromptForm]
	}
	if t.src.Alone {
		t.beyond()
	}
	switch t.src.Runner {
	case RunnerExternal:
		t.toTool()
	case RunnerNative, RunnerAuto, "":
		t.settle()
	default:
		t.block.errorf("tool_runner: %s", notOneOf(t.src.Runner, []string{RunnerAuto, RunnerNative, RunnerExternal}))
	}
	if t.m.Runner == RunnerNative {
		for _, problem := range demand.Bounds(&t.m) {
			t.block.errorf("%v", problem)
		}
	}
	t.envCredentials()
	t.literals()
	t.m.Notes = t.notes
}

// settle decides on what only the real tool can do: there is no image of one, so the load needs a tool on this host.
func (t *translator) settle() {
	installed := t.src.Venv != "" && !t.src.Submitted && t.src.Runner != RunnerNative
	for _, v := range t.external {
		switch {
		case installed:
			v.notef("%s: beyond load-gen, so %s in %s makes this load", v.why, t.m.Tool, t.src.Venv)
		case t.m.Tool == InferenceMAX:
			v.errorf("%s: beyond load-gen; remove it", v.why)
		default:
			v.errorf("%s: beyond load-gen; remove it, or have %s itself make the load in a local run: tool_runner: external", v.why, t.m.Tool)
		}
	}
	if installed && len(t.external) > 0 {
		t.toTool()
	}
}

// beyond tells what only the real tool can do instead of asking for it.
func (t *translator) beyond() {
	for _, v := range t.external {
		t.told.Add(problem.At(v.file, v.node, v.path, "%s", v.why))
	}
	t.external = nil
}

// envCredentials takes credentials out of the load pod's environment.
func (t *translator) envCredentials() {
	for _, name := range []string{"OPENAI_API_KEY", "GUIDELLM__OPENAI__API_KEY"} {
		key := t.m.Env[name]
		if len(runplan.References(key)) > 0 {
			continue
		}
		if key != "" {
			t.apiKey(t.block, key)
		}
		delete(t.m.Env, name)
	}
}
