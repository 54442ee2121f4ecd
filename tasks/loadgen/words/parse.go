package words

import (
	"cmp"
	"errors"
	"path"
	"slices"
	"strings"

	"bflow.dev/bflow/load"
)

// Parse reads the command line of another tool: args without the program's own name, as in "guidellm benchmark --rate 4",
// "vllm bench serve ...", "benchmark_serving.py ...", "inference-perf -c F", "aiperf profile ...". No args at all are GuideLLM's, told by its variables.
//
// env returns NAME=value pairs; files reads a file that the words name (.env is asked for too and may be missing). Flags
// beat files, files beat variables. Words that nobody knows and words that only the real tool can follow are errors; with
// lenient they are warnings and left out. The error joins the findings that are no warnings; the Request is complete
// when it is nil.
func Parse(args []string, env func() []string, files func(path string) ([]byte, error), lenient bool) (Request, []Finding, error) {
	p := newParser(env, files, lenient)
	tool, rest := p.tool(args)
	switch tool {
	case load.GuideLLM:
		p.guidellm(rest)
	case load.VLLMBench, load.InferenceMAX:
		p.vllmBench(tool, rest)
	case load.InferencePerf:
		p.inferencePerf(rest)
	case load.AIPerf:
		p.aiperf(rest)
	}
	p.finish()
	p.redact()
	return p.req, p.findings, p.err()
}

// Spoken reports whether args, or without any the environment, are the words of another tool.
func Spoken(args []string, env func() []string) bool {
	if len(args) > 0 {
		switch args[0] {
		case "guidellm", "vllm", "inference-perf", "aiperf":
			return true
		}
		return isInferenceMAX(args[0])
	}
	return slices.ContainsFunc(env(), func(pair string) bool {
		return strings.HasPrefix(pair, "GUIDELLM_TARGET=") || strings.HasPrefix(pair, "GUIDELLM__SPEC__BACKEND")
	})
}

// tool tells whose words args are, and returns those behind its name and its subcommand.
func (p *parser) tool(args []string) (string, []string) {
	if len(args) == 0 {
		return load.GuideLLM, nil
	}
	if isInferenceMAX(args[0]) {
		return load.InferenceMAX, args[1:]
	}
	switch args[0] {
	case "guidellm":
		return load.GuideLLM, args[1:]
	case "vllm":
		return load.VLLMBench, p.command(args, "bench", "serve")
	case "inference-perf":
		return load.InferencePerf, args[1:]
	case "aiperf":
		return load.AIPerf, p.command(args, "profile")
	}
	p.errorf(args[0], "no tool of this name: want guidellm, vllm, inferencemax, inference-perf or aiperf")
	return "", nil
}

// isInferenceMAX reports whether a program is the script of InferenceMAX, by its own name or by that of the project.
func isInferenceMAX(program string) bool {
	return program == load.InferenceMAX || path.Base(program) == "benchmark_serving.py"
}

// command checks the subcommands that stand behind the tool's name.
func (p *parser) command(args []string, want ...string) []string {
	for i, w := range want {
		if len(args) <= i+1 || args[i+1] != w {
			p.errorf(args[0], "want %s %s", args[0], strings.Join(want, " "))
			return nil
		}
	}
	return args[len(want)+1:]
}

// redact takes the key out of what is said.
func (p *parser) redact() {
	if p.req.Key == "" {
		return
	}
	for i := range p.findings {
		p.findings[i].Text = strings.ReplaceAll(p.findings[i].Text, string(p.req.Key), p.req.Key.String())
	}
}

// err joins the errors.
func (p *parser) err() error {
	var errs []error
	for _, f := range p.findings {
		if !f.Warning {
			errs = append(errs, f)
		}
	}
	return errors.Join(errs...)
}

// finish translates the block and drops what has been said twice.
func (p *parser) finish() {
	if !p.incomplete {
		p.translate()
	}
	slices.SortStableFunc(p.findings, func(a, b Finding) int {
		if a.Warning != b.Warning {
			return cmp.Compare(btoi(a.Warning), btoi(b.Warning))
		}
		return 0
	})
	p.findings = slices.Compact(p.findings)
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}
