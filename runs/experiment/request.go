// Package experiment is the task of Pipeline bflow-experiment: the words in the params of its PipelineRun, the runs
// that it submits as bflow run does and waits for, and its results.
package experiment

import (
	"errors"
	"fmt"
	"strings"

	"bflow.dev/bflow/generator/spec"
	"bflow.dev/bflow/internal/scalar"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/runs/gitsource"
)

// Request is what somebody wants who started the Pipeline.
type Request struct {
	Text      string            // the experiment; "" = it lies in Git
	Git       *gitsource.Source // nil = Text
	Overrides []string          // PATH=VALUE
	Wait      bool
	LoadCPU   string
	Bundle    string
}

// Read reads the params of the PipelineRun. It says everything that is wrong at once.
func Read(params map[string]string) (Request, error) {
	r := Request{Text: params[contract.ParamExperiment], Overrides: Overrides(params[contract.ParamOverrides]),
		LoadCPU: strings.TrimSpace(params[contract.ParamLoadCPU]), Bundle: strings.TrimSpace(params[contract.ParamBundle])}
	var problems []error
	flag := func(name string, otherwise bool) bool {
		text := strings.TrimSpace(params[name])
		if text == "" {
			return otherwise
		}
		value, err := scalar.Bool(scalar.Node(text))
		if err != nil {
			problems = append(problems, fmt.Errorf("param %q: %w", name, err))
		}
		return value
	}
	r.Wait = flag(contract.ParamWait, true)
	trusted := flag(contract.ParamTrustedOnly, false)
	url := strings.TrimSpace(params[contract.ParamGitURL])
	hasText := strings.TrimSpace(r.Text) != ""
	switch {
	case url != "" && hasText:
		problems = append(problems, fmt.Errorf("params %q and %q exclude each other: the experiment comes from one of them",
			contract.ParamExperiment, contract.ParamGitURL))
	case url == "" && !hasText:
		problems = append(problems,
			fmt.Errorf("no experiment is given: pass its text as param %q, or the repository with its file as "+
				"%q and %q",
				contract.ParamExperiment, contract.ParamGitURL, contract.ParamPath))
	case url != "":
		r.Git = &gitsource.Source{URL: url, Revision: strings.TrimSpace(params[contract.ParamRevision]),
			Paths: strings.Fields(params[contract.ParamPath]), TrustedOnly: trusted}
		if len(r.Git.Paths) == 0 {
			problems = append(problems, fmt.Errorf("param %q is empty: it must name the file in the repository",
				contract.ParamPath))
		}
	}
	return r, errors.Join(problems...)
}

// Overrides parts text into PATH=VALUE. Each line has one; a line with several is parted at blanks before the next
// PATH=, outside of quotes and brackets, because forms and comments have one line. Empty lines, and lines after #,
// count for nothing.
func Overrides(text string) []string {
	var all []string
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		all = append(all, parted(line)...)
	}
	return all
}

func parted(line string) []string {
	var parts []string
	begin, depth, quote := 0, 0, rune(0)
	for i, c := range line {
		switch {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '"' || c == '\'':
			quote = c
		case c == '[' || c == '{':
			depth++
		case c == ']' || c == '}':
			depth--
		case c == ' ' && depth <= 0 && begins(line[i+1:]):
			parts = append(parts, strings.TrimSpace(line[begin:i]))
			begin = i + 1
		}
	}
	return append(parts, strings.TrimSpace(line[begin:]))
}

// begins reports whether text begins with PATH=.
func begins(text string) bool {
	name, _, ok := spec.Assignment(text)
	if !ok || strings.HasPrefix(name, "-") {
		return false
	}
	path, err := spec.ParsePath(name)
	if err != nil || path.String() != name { // a key with a blank that is not quoted is a word before another
		return false
	}
	for _, seg := range path {
		if strings.ContainsAny(seg.Key, "'{}(),;:") {
			return false
		}
	}
	return true
}
