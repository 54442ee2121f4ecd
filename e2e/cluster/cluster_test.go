//go:build e2e

package cluster

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// namespace is where the runs of these tests live: the one that bootstrap makes.
const namespace = "benchflow"

// Kinds that the tests look at.
var (
	pods         = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	events       = schema.GroupVersionResource{Version: "v1", Resource: "events"}
	services     = schema.GroupVersionResource{Version: "v1", Resource: "services"}
	secrets      = schema.GroupVersionResource{Version: "v1", Resource: "secrets"}
	deployments  = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	jobs         = schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "jobs"}
	pipelines    = schema.GroupVersionResource{Group: "tekton.dev", Version: "v1", Resource: "pipelines"}
	pipelineRuns = schema.GroupVersionResource{Group: "tekton.dev", Version: "v1", Resource: "pipelineruns"}
	taskRuns     = schema.GroupVersionResource{Group: "tekton.dev", Version: "v1", Resource: "taskruns"}
	workloads    = schema.GroupVersionResource{Group: "kueue.x-k8s.io", Version: "v1beta2", Resource: "workloads"}
	configMaps   = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}
	crds         = schema.GroupVersionResource{
		Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions",
	}
	clusterQueue = schema.GroupVersionResource{Group: "kueue.x-k8s.io", Version: "v1beta2", Resource: "clusterqueues"}
)

// write puts a file into the working directory and returns its name.
func (l *lab) write(name, text string) string {
	l.t.Helper()
	if err := os.WriteFile(filepath.Join(l.dir, name), []byte(text), 0o644); err != nil {
		l.t.Fatal(err)
	}
	return name
}

// result is how a command ended.
type result struct {
	code     int
	out, err string
}

func (l *lab) command(limit time.Duration, program string, args ...string) result {
	l.t.Helper()
	r, err := l.try(limit, program, args...)
	if err != nil {
		l.t.Fatal(err)
	}
	return r
}

// try may be called by any goroutine. An error means that the command did not come to an end of its own.
func (l *lab) try(limit time.Duration, program string, args ...string) (result, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(l.t.Context()), limit) // clean-ups run commands too
	defer cancel()
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir = l.dir
	cmd.Env = append(os.Environ(), "KUBECONFIG="+l.kubeconfig, "BFLOW_RUNS_DIR="+l.runs)
	var out, errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errs
	err := cmd.Run()
	if ctx.Err() != nil {
		return result{}, fmt.Errorf("%s %q did not end within %s:\n%s%s", program, args, limit, out.String(), errs.String())
	}
	if err != nil && cmd.ProcessState == nil {
		return result{}, err
	}
	return result{cmd.ProcessState.ExitCode(), out.String(), errs.String()}, nil
}

func (l *lab) bflow(args ...string) result {
	l.t.Helper()
	return l.command(5*time.Minute, bflowPath(), args...)
}

func bflowPath() string { return filepath.Join(os.Getenv("BFLOW_E2E_BIN"), "bflow") }

// must is bflow where anything but exit code 0 fails the test.
func (l *lab) must(args ...string) string {
	l.t.Helper()
	r := l.bflow(args...)
	if r.code != 0 {
		l.t.Fatalf("bflow %q: exit %d\n%s%s", args, r.code, r.out, r.err)
	}
	return r.out
}

// submit starts the runs of an experiment through the bundle and returns their names, in the order of the plans.
func (l *lab) submit(file string, more ...string) []string {
	l.t.Helper()
	args := append([]string{
		"run", file, "--bundle", os.Getenv("BFLOW_E2E_BUNDLE"), "--lock", os.Getenv("BFLOW_E2E_LOCK")}, more...)
	names := strings.Fields(l.must(args...)) // --follow prints a table after the names, which callers do not read
	l.t.Cleanup(func() {
		if l.t.Failed() { // nobody ended it, and it holds what other tests wait for
			l.bflow("cancel", names[0])
		}
	})
	return names
}

// pod decodes a Pod.
func pod(u *unstructured.Unstructured) (*corev1.Pod, error) {
	var p corev1.Pod
	return &p, runtime.DefaultUnstructuredConverter.FromUnstructured(u.Object, &p)
}

// condition is that of type Succeeded of a PipelineRun.
func condition(pr *unstructured.Unstructured) (status, reason string) {
	list, _, _ := unstructured.NestedSlice(pr.Object, "status", "conditions")
	for _, item := range list {
		if c, ok := item.(map[string]any); ok && c["type"] == "Succeeded" {
			status, _ = c["status"].(string)
			reason, _ = c["reason"].(string)
		}
	}
	return status, reason
}
