package engine

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"bflow.dev/bflow/runplan"
)

// llmdSim is llm-d-inference-sim, which answers as vLLM does and computes nothing. It counts the tokens of prompts by
// itself, so that it needs no network. Of the arguments of vLLM it takes those that it knows; its own are in
// engine.args.
func llmdSim() Engine {
	return Engine{
		Kind: "llm-d-inference-sim", About: "llm-d's simulator of vLLM",
		Port: 8000, HealthPath: "/health/ready", MetricsPath: "/metrics", MetricsOf: "vllm",
		Light:       true,
		StartBudget: func(*runplan.Engine) time.Duration { return 5 * time.Minute },
		Program: orWritten(func(d *runplan.Deployment, at Listener) (Program, error) {
			// Without a model there is nothing that bounds a context; the simulator would by itself, to 1024 tokens.
			own := []string{"--model=" + d.Model.Name, "--port=" + strconv.Itoa(at.Port), "--force-dummy-tokenizer",
				"--max-model-len=131072"}
			return Program{Args: slices.Concat(own, llmdSimArgs(d.Args), d.Engine.Args)}, nil
		}),
	}
}

// llmdSimArgs are the arguments of vLLM that the simulator knows, each with its value, spelt with dashes. It ends with
// an error at any other. Those of v0.10.2, from pkg/common/parser.go.
func llmdSimArgs(args []string) (known []string) {
	taken := false
	for _, arg := range args {
		if strings.HasPrefix(arg, "-") {
			name, _, _ := strings.Cut(arg, "=")
			spelt := strings.ReplaceAll(name, "_", "-")
			arg = spelt + strings.TrimPrefix(arg, name)
			taken = isOfLLMDSim(spelt)
		}
		if taken {
			known = append(known, arg)
		}
	}
	return known
}

func isOfLLMDSim(name string) bool {
	switch name {
	case "--max-model-len", "--max-num-seqs", "--max-loras", "--max-cpu-loras", "--lora-modules", "--block-size", "--seed",
		"--enable-prefix-caching", "--no-enable-prefix-caching", "--enforce-eager", "--mm-processor-kwargs",
		"--ec-transfer-config", "--enable-sleep-mode":
		return true
	}
	return false
}
