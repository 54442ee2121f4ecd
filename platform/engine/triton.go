package engine

import (
	"encoding/json"
	"net/url"
	"path"
	"strconv"
	"strings"

	"bflow.dev/bflow/runplan"
)

// repository is the folder of the models of Triton.
const repository = "/model-repository"

// triton is Triton with its vLLM backend. The backend reads its arguments from a file of the model, and no other place.
func triton() Engine {
	return Engine{
		Kind: "triton", About: "Triton with its vLLM backend",
		Port: 8000, FixedPort: true, MetricsPort: 8002, HealthPath: "/v2/health/ready", MetricsPath: "/metrics",
		ServesFiles: true, NoVLLMArgs: true, StartBudget: loading,
		Route: func(model, path string) string {
			const models = "/v2/models/"
			return strings.Replace(path, models+url.PathEscape(model)+"/", models+TritonModel(model)+"/", 1)
		},
		Program: orWritten(tritonProgram),
	}
}

func tritonProgram(d *runplan.Deployment, at Listener) (Program, error) {
	args := []string{"--model-repository=" + repository, "--http-port=" + strconv.Itoa(at.Port), "--grpc-port=8001",
		"--metrics-port=" + strconv.Itoa(d.Engine.MetricsPort)}
	model, err := json.MarshalIndent(map[string]any{"model": d.ModelPath(),
		"tensor_parallel_size": max(1, d.TensorParallel), "disable_log_stats": false}, "", "  ")
	folder := path.Join(repository, TritonModel(d.Model.Name))
	files := []File{
		{Path: path.Join(folder, "config.pbtxt"), Text: tritonConfig},
		{Path: path.Join(folder, "1", "model.json"), Text: string(model) + "\n"},
	}
	return Program{Command: []string{"tritonserver"}, Args: append(args, d.Engine.Args...), Env: cachesInTmp(),
		Files: files}, err
}

// TritonModel is what a model is called in Triton's repository, where a name is that of a folder.
func TritonModel(model string) string { return runplan.ModelFolder(model) }

// tritonConfig is the least that the backend completes: batches, inputs and outputs are its own.
const tritonConfig = `backend: "vllm"
instance_group [
  {
    count: 1
    kind: KIND_MODEL
  }
]
parameters: {
  key: "REPORT_CUSTOM_METRICS"
  value: { string_value: "yes" }
}
`
