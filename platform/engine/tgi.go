package engine

import (
	"slices"
	"strconv"

	"bflow.dev/bflow/runplan"
)

// tgi is Text Generation Inference. Its image keeps caches in /data, which nobody may write.
func tgi() Engine {
	return Engine{
		Kind: "tgi", About: "Text Generation Inference",
		Port: 8080, FixedPort: true, HealthPath: "/health", MetricsPath: "/metrics",
		ServesFiles: true, NoVLLMArgs: true, StartBudget: loading,
		Program: orWritten(func(d *runplan.Deployment, at Listener) (Program, error) {
			own := append([]string{
				"--model-id=" + d.ModelPath(), "--num-shard=" + gpus(d), "--hostname=" + at.Host,
				"--port=" + strconv.Itoa(at.Port),
			}, revision(d)...)
			env := cachesInTmp()
			env["HUGGINGFACE_HUB_CACHE"] = env["HF_HOME"] + "/hub"
			return Program{Command: []string{"text-generation-launcher"}, Args: slices.Concat(own, d.Engine.Args),
				Env: env}, nil
		}),
	}
}
