package engine

import (
	"slices"
	"strconv"
	"testing"

	"bflow.dev/bflow/runplan"
)

// llamaCpp is the server of llama.cpp, which loads a file of the model's folder.
func llamaCpp() Engine {
	return Engine{
		Kind: "llama-cpp", About: "the server of llama.cpp",
		Port: 8080, FixedPort: true, HealthPath: "/health", MetricsPath: "/metrics",
		ServesFiles: true, NoVLLMArgs: true, RunsHere: true, StartBudget: loading,
		Program: orWritten(func(d *runplan.Deployment, at Listener) (Program, error) {
			own := []string{"--model=" + d.ModelPath() + "/model.gguf", "--alias=" + d.Model.Name, "--host=" + at.Host,
				"--port=" + strconv.Itoa(at.Port), "--metrics"}
			return Program{Command: []string{"llama-server"}, Args: slices.Concat(own, d.Engine.Args), Env: cachesInTmp()}, nil
		}),
	}
}

func TestAnEngineIsOneFile(t *testing.T) {
	d := deployment("llama-cpp")
	d.ModelStorage = &runplan.ModelStorage{CacheDir: "/models", MountPath: "/cache"}
	p, err := llamaCpp().Program(d, Listener{Host: "0.0.0.0", Port: 8080})
	want := []string{"--model=/cache/models/acme-tiny/model.gguf", "--alias=acme/tiny", "--host=0.0.0.0", "--port=8080",
		"--metrics", "--last=1"}
	if err != nil || !slices.Equal(p.Args, want) {
		t.Errorf("got %q, %v, want %q", p.Args, err, want)
	}
}
