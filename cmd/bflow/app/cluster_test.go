package app

import (
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"bflow.dev/bflow/internal/apitest"
	"bflow.dev/bflow/results"
)

// servers is where a script keeps its API server.
type servers struct{}

// ends lets a server end with its script.
type ends struct{ ts *testscript.TestScript }

func (e ends) Cleanup(f func()) { e.ts.Defer(f) }

// apiserver starts a small API server with a namespace and a queue, and sets KUBECONFIG: apiserver [WITHOUT]
// WITHOUT is the start of a group that is not installed.
func apiserver(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) > 1 {
		ts.Fatalf("usage: apiserver [WITHOUT]")
	}
	srv := apitest.New(ends{ts}, "bench")
	srv.ServeRuns()
	srv.Put("/apis/kueue.x-k8s.io/v1beta2/namespaces/bench/localqueues/local", map[string]any{})
	if len(args) > 0 {
		srv.Unserve(args[0])
	}
	*ts.Value(servers{}).(**apitest.Server) = srv
	path, err := srv.Kubeconfig(ts.Getenv("WORK"))
	ts.Check(err)
	ts.Setenv("KUBECONFIG", path)
}

// tekton plays the controllers for the one run that there is: tekton starts | fails TASK CODE WORDS | succeeds
func tekton(ts *testscript.TestScript, neg bool, args []string) {
	srv := *ts.Value(servers{}).(**apitest.Server)
	runs := srv.List("/apis/tekton.dev/v1/namespaces/bench/pipelineruns/")
	if neg || len(args) == 0 || len(runs) != 1 {
		ts.Fatalf("usage: tekton starts | fails TASK CODE WORDS | succeeds; there are %d runs", len(runs))
	}
	name := filepath.Base(runs[0])
	condition := map[string]any{
		"type": "Succeeded", "status": "Unknown", "reason": "Running", "message": "Tasks Completed: 0",
	}
	switch args[0] {
	case "fails":
		condition = map[string]any{
			"type": "Succeeded", "status": "False", "reason": "Failed", "message": "Tasks Completed: 1 (Failed: 1)",
		}
		task, exit, words := args[1], args[2], strings.Join(args[3:], " ")
		srv.Say("bench", name+"-"+task+"-pod", "step-"+task, words)
		srv.EndLog("bench", name+"-"+task+"-pod", "step-"+task)
		srv.Put("/apis/tekton.dev/v1/namespaces/bench/taskruns/"+name+"-"+task, failedTask(srv.Get(runs[0]), task, exit))
	case "succeeds":
		condition = map[string]any{
			"type": "Succeeded", "status": "True", "reason": "Succeeded", "message": "Tasks Completed: 2",
		}
	}
	srv.Change(runs[0], func(o apitest.Object) {
		delete(o["spec"].(apitest.Object), "status")
		o["status"] = map[string]any{"conditions": []any{condition}, "startTime": time.Now().UTC().Format(time.RFC3339),
			"pipelineSpec": map[string]any{"tasks": []any{map[string]any{"name": "provision"}},
				"finally": []any{map[string]any{"name": "finish"}}},
			"childReferences": []any{
				map[string]any{"name": name + "-provision", "pipelineTaskName": "provision", "kind": "TaskRun"}}}
	})
}

// serveResults plays the volume of the one run that there is, which holds a folder, and the pod that shows it; RUN is
// the name of the run: results FOLDER
func serveResults(ts *testscript.TestScript, neg bool, args []string) {
	srv := *ts.Value(servers{}).(**apitest.Server)
	runs := srv.List("/apis/tekton.dev/v1/namespaces/bench/pipelineruns/")
	if neg || len(args) != 1 || len(runs) != 1 {
		ts.Fatalf("usage: results FOLDER; there are %d runs", len(runs))
	}
	name := filepath.Base(runs[0])
	ts.Setenv("RUN", name)
	root, err := os.OpenRoot(ts.MkAbs(args[0]))
	ts.Check(err)
	ts.Defer(func() { root.Close() })
	labels := func(task string) map[string]any {
		return map[string]any{"labels": map[string]any{"tekton.dev/pipelineRun": name, "tekton.dev/pipelineTask": task}}
	}
	srv.Put("/apis/tekton.dev/v1/namespaces/bench/taskruns/"+name+"-provision",
		map[string]any{"metadata": labels("provision"),
			"spec": map[string]any{
				"workspaces": []any{
					map[string]any{"name": "run", "persistentVolumeClaim": map[string]any{"claimName": "pvc"}}},
			}})
	srv.Put("/apis/tekton.dev/v1/namespaces/bench/taskruns/"+name+"-collect",
		map[string]any{"metadata": labels("collect"), "spec": map[string]any{},
			"status": map[string]any{
				"taskSpec": map[string]any{
					"steps": []any{map[string]any{"name": "collect", "image": "reg.example/collect@sha256:1"}}},
			}})
	srv.OnCreate(func(q apitest.Request, pod apitest.Object) {
		if q.Resource != "pods" {
			return
		}
		containers, _, _ := unstructured.NestedSlice(pod, "spec", "containers")
		words, _, _ := unstructured.NestedStringSlice(containers[0].(map[string]any), "args")
		_, sum, _ := strings.Cut(strings.Join(words, " "), "--token-sha256=")
		srv.Proxy(http.StripPrefix("/bench/"+q.Name+":8080", results.Guarded(root, sum, false, func() {})))
		pod["status"] = map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": "True"}}}
		srv.Put(q.Path, pod)
	})
}

// failedTask is a TaskRun of a run, whose labels it inherits.
func failedTask(pr apitest.Object, task, exit string) map[string]any {
	number, _ := strconv.Atoi(exit)
	run, _, _ := unstructured.NestedString(pr, "metadata", "name")
	labels, _, _ := unstructured.NestedMap(pr, "metadata", "labels")
	labels["tekton.dev/pipelineRun"], labels["tekton.dev/pipelineTask"] = run, task
	return map[string]any{
		"metadata": map[string]any{"labels": labels},
		"status": map[string]any{"podName": run + "-" + task + "-pod",
			"conditions": []any{map[string]any{"type": "Succeeded", "status": "False", "reason": "Failed",
				"message": `"step-` + task + `" exited with code ` + exit + `: Error`}},
			"steps": []any{
				map[string]any{"name": task, "container": "step-" + task,
					"terminated": map[string]any{"exitCode": number}},
			}}}
}
