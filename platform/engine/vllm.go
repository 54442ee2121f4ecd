package engine

import (
	"path"
	"slices"
	"strconv"

	"bflow.dev/bflow/runplan"
)

// vllm is the OpenAI server of vLLM.
func vllm() Engine {
	return Engine{
		Kind: Default, About: "vLLM's server of OpenAI's API",
		Port: 8000, HealthPath: "/health", MetricsPath: "/metrics", MetricsOf: "vllm",
		ServesFiles: true, Downloader: huggingFace(), RunsHere: true, StartBudget: loading,
		Program: func(d *runplan.Deployment, at Listener) (Program, error) {
			p := Program{Command: d.Engine.Command, Env: vllmEnv(d),
				Args: slices.Concat(vllmArgs(d, at), d.Args, d.Engine.Args)}
			if len(p.Command) == 0 {
				p.Command = []string{"python3", "-m", "vllm.entrypoints.openai.api_server"}
			}
			return p, nil
		},
	}
}

// vllmArgs are those that bflow owns, in the order of the format.
func vllmArgs(d *runplan.Deployment, at Listener) []string {
	return append([]string{
		"--model=" + d.ModelPath(), "--served-model-name=" + d.Model.Name, "--tensor-parallel-size=" + gpus(d),
		"--port=" + strconv.Itoa(at.Port), "--host=" + at.Host,
	}, revision(d)...)
}

// vllmEnv keeps every cache of vLLM and its libraries on a volume that can be written.
func vllmEnv(d *runplan.Deployment) map[string]string {
	env := map[string]string{
		"HOME": "/tmp/vllm-home", "USER": "bflow", "XDG_CACHE_HOME": "/tmp/cache", "VLLM_CACHE_ROOT": "/tmp/vllm",
		"TRITON_CACHE_DIR": "/tmp/triton", "TORCHINDUCTOR_CACHE_DIR": "/tmp/inductor", "HF_MODULES_CACHE": "/tmp/hf-modules",
		"HF_HOME": "/tmp/huggingface",
	}
	if s := d.ModelStorage; s != nil {
		home := path.Join(s.MountPath, s.CacheDir)
		env["HF_HOME"], env["HF_HUB_CACHE"], env["TRANSFORMERS_CACHE"] = home, home+"/hub", home+"/hub"
	}
	return env
}

// huggingFace fetches a model with the library that images of these servers bring.
func huggingFace() []string {
	return []string{"python3", "-c", "import sys; from huggingface_hub import snapshot_download; " +
		"snapshot_download(sys.argv[1], revision=sys.argv[2] or None, local_dir=sys.argv[3])"}
}
