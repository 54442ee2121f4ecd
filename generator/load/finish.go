package load

import (
	"fmt"
	"strconv"

	"bflow.dev/bflow/tasks/runplan"
)

// addStage appends a stage that at describes, under a name that no other stage has.
func (t *translator) addStage(at value, s runplan.Stage) {
	if s.Name == "" {
		s.Name = stageName(s)
	}
	s.Name = t.freeName(s.Name)
	t.checkBound(at, s)
	t.m.Stages = append(t.m.Stages, s)
}

func (t *translator) freeName(name string) string {
	free := name
	for n := 2; t.taken(free); n++ {
		free = fmt.Sprintf("%s-%d", name, n)
	}
	return free
}

func (t *translator) taken(name string) bool {
	for _, s := range t.m.Stages {
		if s.Name == name {
			return true
		}
	}
	return false
}

func stageName(s runplan.Stage) string {
	switch {
	case s.Shape == runplan.ShapeOpen && s.Between == nil:
		return "rate-" + strconv.FormatFloat(s.Rate, 'g', -1, 64)
	case s.Shape == runplan.ShapeClosed:
		return "concurrency-" + strconv.Itoa(s.Concurrency)
	case s.Shape == runplan.ShapeThroughput && s.MaxInflight > 0:
		return "throughput-" + strconv.Itoa(s.MaxInflight)
	default:
		return s.Shape
	}
}

// checkBound refuses a stage that would never end. A trace ends with its file.
func (t *translator) checkBound(at value, s runplan.Stage) {
	if s.Duration == 0 && s.Requests == 0 && s.Shape != runplan.ShapeTrace {
		at.errorf("stage %q has no bound and would never end: give it a duration or a number of requests", s.Name)
	}
}

// finish decides who runs the load.
func (t *translator) finish() {
	switch t.src.Runner {
	case RunnerExternal:
		t.toTool()
	case RunnerNative:
		for _, v := range t.external {
			v.errorf("%s, which the native generator cannot do: remove it or set tool_runner: auto", v.why)
		}
	case RunnerAuto, "":
		for _, v := range t.external {
			v.notef("%s; the load is run by the image of %s", v.why, t.m.Tool)
		}
		if len(t.external) > 0 {
			t.toTool()
		}
	default:
		t.block.errorf("tool_runner %s", notOneOf(t.src.Runner, []string{RunnerAuto, RunnerNative, RunnerExternal}))
	}
	t.envCredentials()
	t.m.Notes = t.notes
}

// envCredentials takes credentials out of the load pod's environment.
func (t *translator) envCredentials() {
	for _, name := range []string{"OPENAI_API_KEY", "GUIDELLM__OPENAI__API_KEY"} {
		if key := t.m.Env[name]; key != "" {
			t.apiKey(t.block, key)
		}
		delete(t.m.Env, name)
	}
	for _, name := range []string{"HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"} {
		if _, ok := t.m.Env[name]; ok {
			t.block.notef("env %s is left out: the runner takes it from Secret huggingface-token", name)
			delete(t.m.Env, name)
		}
	}
}

// toTool hands the block over as it is, but for credentials and what the runner owns.
func (t *translator) toTool() {
	if t.m.Tool == Native {
		t.block.errorf("tool_runner external needs a tool other than native")
		return
	}
	t.m.Runner = RunnerExternal
	block, _ := t.block.any().(map[string]any)
	if t.m.Tool == GuideLLM {
		t.overrideGuide(block)
	}
	t.m.External = withoutOwned(block)
}

// withoutOwned drops credentials and what the runner sets, at every depth.
func withoutOwned(x any) any {
	switch x := x.(type) {
	case map[string]any:
		for k, v := range x {
			if isCredential(k) || isOwned(k) {
				delete(x, k)
				continue
			}
			x[k] = withoutOwned(v)
		}
	case []any:
		for i, v := range x {
			x[i] = withoutOwned(v)
		}
	}
	return x
}

func isOwned(key string) bool {
	switch key {
	case "target", "base_url", "url", "output_path", "output_dir", "local_storage", "output_artifact_dir", "result_dir", "result_filename":
		return true
	}
	return false
}
