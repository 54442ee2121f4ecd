package local

import (
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"bflow.dev/bflow/pipelines"

	v1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
)

// TestTektonExamples says for each example of the Tekton module whether it runs here or why not, in
// testdata/examples.txt. Where nothing but foreign images is in the way, it says so: mapped to this host they run.
func TestTektonExamples(t *testing.T) {
	root := exampleDir(t)
	var lines strings.Builder
	count := 0
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".yaml" {
			return err
		}
		name, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		count++
		fmt.Fprintf(&lines, "%s: %s\n", name, judge(t, path))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if count != 149 {
		t.Errorf("%d examples, want 149", count)
	}
	golden(t, "testdata/examples.txt", lines.String())
}

func exampleDir(t *testing.T) string {
	t.Helper()
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/tektoncd/pipeline").Output()
	if err != nil {
		t.Fatal(err)
	}
	return filepath.Join(strings.TrimSpace(string(dir)), "examples", "v1")
}

func judge(t *testing.T, path string) string {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	objects, err := pipelines.Parse(f)
	if err != nil {
		return err.Error()
	}
	refusals := Check(Options{Objects: objects})
	if len(refusals) == 0 {
		return "runs"
	}
	if left := Check(Options{Objects: objects, HostImages: imagesOf(objects)}); len(left) == 0 {
		return "runs with its images mapped to this host; without: " + refusals[0].String()
	} else {
		refusals = left
	}
	reasons := make([]string, len(refusals))
	for i, r := range refusals {
		reasons[i] = r.String()
	}
	return strings.Join(reasons, "; ")
}

// imagesOf maps every image of objects to this host.
func imagesOf(objects pipelines.Bundle) map[string]string {
	images := map[string]string{}
	add := func(spec v1.TaskSpec) {
		for _, s := range spec.Steps {
			images[s.Image] = "/"
		}
		if spec.StepTemplate != nil {
			images[spec.StepTemplate.Image] = "/"
		}
	}
	for _, t := range objects.Tasks {
		add(t.Spec)
	}
	specs := []*v1.PipelineSpec{}
	for _, p := range objects.Pipelines {
		specs = append(specs, &p.Spec)
	}
	for _, r := range objects.PipelineRuns {
		if r.Spec.PipelineSpec != nil {
			specs = append(specs, r.Spec.PipelineSpec)
		}
	}
	for _, spec := range specs {
		for _, pt := range append(append([]v1.PipelineTask{}, spec.Tasks...), spec.Finally...) {
			if pt.TaskSpec != nil {
				add(pt.TaskSpec.TaskSpec)
			}
		}
	}
	return images
}

// notHere are examples that Check accepts with their images mapped, and that want more of an image than a shell.
func notHere() map[string]string {
	return map[string]string{
		"pipelineruns/no-ci/windows-node-affinity.yaml":                   "needs Windows",
		"pipelineruns/no-ci/windows-node-selectors.yaml":                  "needs Windows",
		"pipelineruns/pipelinerun-with-final-tasks.yaml":                  "clones a repository",
		"pipelineruns/pipelinerun-with-task-timeout-override.yaml":        "sleeps for ten seconds",
		"pipelineruns/alpha/pipelinerun-large-results.yaml":               "needs results by sidecar logs",
		"pipelineruns/using-optional-workspaces-in-when-expressions.yaml": "needs ash",
		"pipelineruns/beta/using-retries-and-retry-count-variables.yaml":  "needs a sh that knows ==",
		"pipelineruns/beta/pipelinerun-with-matrix.yaml":                  "needs a sh that knows ==",
	}
}

// TestTektonExamplesEndAsTheySay runs the examples that need nothing but a shell. Their scripts check what they are
// given and fail otherwise, so that each is a test of Tekton's semantics, written by its authors.
func TestTektonExamplesEndAsTheySay(t *testing.T) {
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("the examples need bash on this host")
	}
	root := exampleDir(t)
	for line := range strings.Lines(read(t, "testdata/examples.txt")) {
		name, verdict, _ := strings.Cut(line, ": ")
		if !strings.HasPrefix(verdict, "runs") || notHere()[name] != "" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := testOptions(t.TempDir(), filepath.Join(t.TempDir(), "run"))
			o.Objects = parse(t, read(t, filepath.Join(root, name)))
			o.HostImages = imagesOf(o.Objects)
			s, err := Run(t.Context(), o)
			if err != nil || s.State != Succeeded {
				t.Errorf("%v\n%s", err, describe(t, o.RunDir, s, err))
			}
		})
	}
}
