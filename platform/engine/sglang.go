package engine

import (
	"slices"
	"strconv"

	"bflow.dev/bflow/runplan"
)

// sglang is the server of SGLang. It has metrics only where it is asked for them.
func sglang() Engine {
	return Engine{
		Kind: "sglang", About: "SGLang's server",
		Port: 8000, HealthPath: "/health", MetricsPath: "/metrics", MetricsOf: "sglang",
		ServesFiles: true, Downloader: huggingFace(), RunsHere: true, StartBudget: loading,
		Program: orWritten(func(d *runplan.Deployment, at Listener) (Program, error) {
			own := append([]string{
				"--model-path=" + d.ModelPath(), "--served-model-name=" + d.Model.Name, "--tp-size=" + gpus(d),
				"--port=" + strconv.Itoa(at.Port), "--host=" + at.Host, "--enable-metrics",
			}, revision(d)...)
			return Program{Command: []string{"python3", "-m", "sglang.launch_server"},
				Args: slices.Concat(own, d.Args, d.Engine.Args), Env: cachesInTmp()}, nil
		}),
	}
}
