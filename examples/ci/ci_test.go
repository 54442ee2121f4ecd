package ci

import (
	"bytes"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"bflow.dev/bflow/pipelines"
	"bflow.dev/bflow/pipelines/check"
	"bflow.dev/bflow/runplan/contract"

	"sigs.k8s.io/yaml"
)

// placeholders are what Pipelines-as-Code fills in, with values as they may be.
func placeholders() map[string]string {
	return map[string]string{
		"repo_url": "https://git.example/team/models", "revision": strings.Repeat("0", 40), "pull_request_number": "7",
		"repo_owner": "team", "repo_name": "models", "sender": "jane",
	}
}

func TestPipelinesAsCodeStartsThePipelineAsItIs(t *testing.T) {
	text, err := os.ReadFile("pipelines-as-code.yaml")
	if err != nil {
		t.Fatal(err)
	}
	text = regexp.MustCompile(`{{ *([a-z_]+) *}}`).ReplaceAllFunc(text, func(found []byte) []byte {
		value, ok := placeholders()[strings.Trim(string(found), "{} ")]
		if !ok {
			t.Errorf("nobody fills in %s", found)
		}
		return []byte(value)
	})
	bundle, err := pipelines.Parse(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	task, pipeline, err := pipelines.Experiment(pipelines.Release{
		Version: "v0.1.0", Images: map[string]string{"bflow": "reg.example/bflow:v0.1.0"},
	})
	if err != nil {
		t.Fatal(err)
	}
	bundle.Tasks, bundle.Pipelines = append(bundle.Tasks, task), append(bundle.Pipelines, pipeline)
	checker, err := check.New()
	if err != nil {
		t.Fatal(err)
	}
	if err := checker.Bundle(bundle); err != nil {
		t.Error(err)
	}
	run := bundle.PipelineRuns[0]
	if run.Spec.TaskRunTemplate.ServiceAccountName != contract.AccountSubmit {
		t.Errorf("it runs as %q", run.Spec.TaskRunTemplate.ServiceAccountName)
	}
	trusted := false
	for _, p := range run.Spec.Params {
		trusted = trusted || p.Name == contract.ParamTrustedOnly && p.Value.StringVal == "true"
	}
	if !trusted {
		t.Error("it runs what a fork has written")
	}
}

// workflow is a workflow of GitHub Actions, as far as ours goes.
type workflow struct {
	Name string `json:"name"`
	On   struct {
		Push struct {
			Branches []string `json:"branches"`
		} `json:"push"`
		Dispatch struct {
			Inputs map[string]map[string]string `json:"inputs"`
		} `json:"workflow_dispatch"`
	} `json:"on"`
	Permissions map[string]string `json:"permissions"`
	Concurrency map[string]string `json:"concurrency"`
	Jobs        map[string]struct {
		RunsOn   string `json:"runs-on"`
		Timeout  int    `json:"timeout-minutes"`
		Defaults struct {
			Run map[string]string `json:"run"`
		} `json:"defaults"`
		Env   map[string]string `json:"env"`
		Steps []struct {
			Name string            `json:"name"`
			If   string            `json:"if"`
			Uses string            `json:"uses"`
			With map[string]any    `json:"with"`
			Env  map[string]string `json:"env"`
			Run  string            `json:"run"`
		} `json:"steps"`
	} `json:"jobs"`
}

// TestTheWorkflowGatesOnTheVerdict: its commands have the flags that they are given, the exit code of bflow run is that
// of its step, and nothing from outside is part of a command.
func TestTheWorkflowGatesOnTheVerdict(t *testing.T) {
	text, err := os.ReadFile("github-actions.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var w workflow
	// "on" is a word for true in the YAML of old
	if err := yaml.UnmarshalStrict(bytes.Replace(text, []byte("\non:"), []byte("\n\"on\":"), 1), &w); err != nil {
		t.Fatal(err)
	}
	job := w.Jobs["gate"]
	gates := 0
	for _, step := range job.Steps {
		if strings.Contains(step.Run, "${{") {
			t.Errorf("step %q: what GitHub puts into a command is read by the shell: %s", step.Name, step.Run)
		}
		for _, line := range strings.Split(step.Run, "\n") {
			for _, problem := range unknown(t, line) {
				t.Errorf("step %q: %s", step.Name, problem)
			}
		}
		if strings.Contains(step.Run, "bflow run ") && strings.Contains(step.Run, " --follow") && step.If == "" {
			gates++
		}
	}
	if gates != 1 || job.Defaults.Run["shell"] != "bash" {
		t.Errorf("%d steps wait for the verdict, by shell %q", gates, job.Defaults.Run["shell"])
	}
	if len(w.Permissions) != 1 || w.Permissions["contents"] != "read" {
		t.Errorf("it may do more than read: %v", w.Permissions)
	}
}

// unknown returns what the bflow command in a line has that the reference of the command line does not know.
func unknown(t *testing.T, line string) []string {
	t.Helper()
	found := regexp.MustCompile(`\bbflow ([a-z]+)([^|<;]*)`).FindStringSubmatch(line)
	if found == nil {
		return nil
	}
	reference, err := os.ReadFile("../../docs/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, ok := strings.Cut(string(reference), "\n## bflow "+found[1]+"\n")
	if !ok {
		return []string{"there is no bflow " + found[1]}
	}
	section, _, _ = strings.Cut(section, "\n## ")
	var problems []string
	for _, word := range strings.Fields(found[2]) {
		flag := regexp.MustCompile(`--?[a-z-]+`).FindString(word)
		if flag == "" || !strings.HasPrefix(strings.TrimPrefix(word, "${SET:+"), "-") {
			continue
		}
		if !slices.Contains(strings.FieldsFunc(section, func(r rune) bool { return strings.ContainsRune("`|, \n", r) }),
			flag) {
			problems = append(problems, fmt.Sprintf("bflow %s has no flag %s", found[1], flag))
		}
	}
	return problems
}
