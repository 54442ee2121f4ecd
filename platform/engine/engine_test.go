package engine

import (
	"slices"
	"strings"
	"testing"

	"bflow.dev/bflow/runplan"
)

func deployment(kind string) *runplan.Deployment {
	return &runplan.Deployment{Model: runplan.Model{Name: "acme/tiny", Revision: "abc"}, TensorParallel: 2,
		Args: []string{"--max-model-len=8"}, Engine: runplan.Engine{Kind: kind, MetricsPort: 8002, Sim: &runplan.Sim{},
			Args: []string{"--last=1"}}}
}

// TestEveryEngineIsWhole: each says what it is, and has a program that takes the arguments of the file.
func TestEveryEngineIsWhole(t *testing.T) {
	var kinds []string
	for _, e := range All() {
		if slices.Contains(kinds, e.Kind) || e.About == "" || e.HealthPath == "" || e.MetricsPath == "" {
			t.Errorf("engine %q is there twice, or leaves out what it is or where it answers", e.Kind)
		}
		kinds = append(kinds, e.Kind)
		d := deployment(e.Kind)
		p, err := e.Program(d, Listener{Host: "127.0.0.1", Port: 8123})
		if err != nil {
			t.Errorf("engine %s: %v", e.Kind, err)
		}
		line := strings.Join(slices.Concat(p.Command, p.Args), " ")
		if !strings.HasSuffix(line, "--last=1") || e.StartBudget(&d.Engine) <= 0 {
			t.Errorf("engine %s is started by %q, within %s", e.Kind, line, e.StartBudget(&d.Engine))
		}
		if !e.NeedsCommand && !strings.Contains(line, "8123") {
			t.Errorf("engine %s does not listen where it is told to: %q", e.Kind, line)
		}
		if e.ServesFiles && !strings.Contains(line+filesOf(p), "acme") {
			t.Errorf("engine %s is not told its model: %q", e.Kind, line)
		}
		if used := strings.Contains(line, "--max-model-len=8"); used == e.NoVLLMArgs && e.ServesFiles {
			t.Errorf("engine %s takes arguments of vLLM: %t, and says the opposite", e.Kind, used)
		}
	}
}

func filesOf(p Program) (text string) {
	for _, f := range p.Files {
		text += f.Path + "\n" + f.Text
	}
	return text
}

func TestAFileMayGiveTheCommandLineOfAnyEngine(t *testing.T) {
	for _, e := range All() {
		if e.OwnImage != "" {
			continue
		}
		d := deployment(e.Kind)
		d.Engine.Command = []string{"serve"}
		p, err := e.Program(d, Listener{Port: 8123})
		if err != nil || p.Command[0] != "serve" || len(p.Files) > 0 {
			t.Errorf("engine %s is started by %q with %v, %v", e.Kind, p.Command, p.Files, err)
		}
	}
}

func TestWhatACommandLineLeavesOpenIsPutIn(t *testing.T) {
	d := deployment("command")
	d.Engine.Command = []string{"serve", "$(model)", "$(model_path)", "--port=$(port)"}
	d.ModelStorage = &runplan.ModelStorage{CacheDir: "/models", MountPath: "/cache"}
	p, err := command().Program(d, Listener{Port: 8123})
	want := []string{"serve", "acme/tiny", "/cache/models/acme-tiny", "--port=8123"}
	if err != nil || !slices.Equal(p.Command, want) {
		t.Errorf("got %q, %v, want %q", p.Command, err, want)
	}
}

// TestRequestsGoToTheModelOfTheRepository: its name there is that of a folder.
func TestRequestsGoToTheModelOfTheRepository(t *testing.T) {
	for _, row := range []struct{ name, model, path, want string }{
		{"a name with a slash", "acme/tiny", "/v2/models/acme%2Ftiny/generate_stream",
			"/v2/models/acme-tiny/generate_stream"},
		{"a plain name", "tiny", "/v2/models/tiny/generate", "/v2/models/tiny/generate"},
		{"another model of the repository", "acme/tiny", "/v2/models/ensemble/generate", "/v2/models/ensemble/generate"},
	} {
		if got := triton().Route(row.model, row.path); got != row.want {
			t.Errorf("%s: got %s, want %s", row.name, got, row.want)
		}
	}
}

func TestAnEngineThatIsNotKnownIsACommandLine(t *testing.T) {
	if e := Of("orca"); e.Kind != "orca" || !e.NeedsCommand {
		t.Errorf("got %+v", e)
	}
	if _, known := Find("orca"); known || len(Kinds()) != len(All()) {
		t.Errorf("it is known, or not all of %q are", Kinds())
	}
}

func TestTheSimulatorOfLLMDIsGivenWhatItKnowsOfVLLM(t *testing.T) {
	d := deployment("llm-d-inference-sim")
	d.Args = []string{"--max-model-len=8", "--gpu-memory-utilization", "0.9", "--max_num_seqs", "4", "--swap-space=1",
		"--no-enable-prefix-caching"}
	p, err := llmdSim().Program(d, Listener{Host: "0.0.0.0", Port: 8000})
	want := []string{"--model=acme/tiny", "--port=8000", "--force-dummy-tokenizer", "--max-model-len=131072",
		"--max-model-len=8",
		"--max-num-seqs", "4", "--no-enable-prefix-caching", "--last=1"}
	if err != nil || !slices.Equal(p.Args, want) || p.Command != nil {
		t.Errorf("got %q %q, %v, want %q", p.Command, p.Args, err, want)
	}
}
