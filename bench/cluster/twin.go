package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// twinName is that of the minimal Pipeline, and the start of the names of its runs.
const twinName = "bench-cluster-minimal"

type object = map[string]any

// makeTwin creates the minimal Pipeline in the measure of a run that has ended, and keeps its PipelineRun for later.
func (l *lab) makeTwin(ctx context.Context, run string) error {
	pr, err := l.kind(pipelineRuns).Namespace(l.o.namespace).Get(ctx, run, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("looking at %s: %w", run, err)
	}
	list, err := l.kind(taskRuns).Namespace(l.o.namespace).List(ctx, metav1.ListOptions{
		LabelSelector: labelRun + "=" + run,
	})
	if err != nil {
		return fmt.Errorf("looking at the tasks of %s: %w", run, err)
	}
	pipeline, twin, err := minimalOf(pr, list.Items)
	if err != nil {
		return err
	}
	api := l.kind(pipelines).Namespace(l.o.namespace)
	_ = api.Delete(ctx, twinName, metav1.DeleteOptions{}) // of a measurement that was interrupted
	if _, err := api.Create(ctx, pipeline, metav1.CreateOptions{}); err != nil {
		return fmt.Errorf("creating the minimal Pipeline: %w", err)
	}
	l.twin = twin
	return nil
}

// minimalOf returns the Pipeline that somebody would write by hand for as many tasks and steps on the same images, and
// a PipelineRun of it with the volume, account and pod template of the run.
func minimalOf(
	pr *unstructured.Unstructured, taskRuns []unstructured.Unstructured,
) (pipeline, run *unstructured.Unstructured, err error) {
	slices.SortFunc(taskRuns, func(a, b unstructured.Unstructured) int {
		return strings.Compare(creation(&a), creation(&b))
	})
	var tasks, last []any
	before := ""
	for _, tr := range taskRuns {
		name := tr.GetLabels()[labelTask]
		steps, _, _ := unstructured.NestedSlice(tr.Object, "status", "taskSpec", "steps")
		if name == "" || len(steps) == 0 {
			return nil, nil, fmt.Errorf("looking at TaskRun %q: its status tells no steps", tr.GetName())
		}
		task := object{
			"name": name, "taskSpec": minimalTask(steps),
			"workspaces": []any{object{"name": "run", "workspace": "run"}},
		}
		if tr.GetLabels()["tekton.dev/memberOf"] == "finally" {
			last = append(last, task)
			continue
		}
		if before != "" {
			task["runAfter"] = []any{before}
		}
		tasks, before = append(tasks, task), name
	}
	spec := object{"workspaces": []any{object{"name": "run"}}, "tasks": tasks, "finally": last}
	pipeline = &unstructured.Unstructured{Object: object{"apiVersion": "tekton.dev/v1", "kind": "Pipeline",
		"metadata": object{"name": twinName}, "spec": spec}}
	return pipeline, runOf(pr), nil
}

// creation orders the TaskRuns of a chain: those of one second by their start, which only one of them can have.
func creation(tr *unstructured.Unstructured) string {
	started, _, _ := unstructured.NestedString(tr.Object, "status", "startTime")
	return tr.GetCreationTimestamp().UTC().Format("2006-01-02T15:04:05Z") + started
}

// minimalTask has a step for each step, with its image and its requests; the program prints its usage and exits.
func minimalTask(steps []any) object {
	var minimal []any
	for _, s := range steps {
		given, _ := s.(object)
		step := object{"name": given["name"], "image": given["image"], "command": given["command"],
			"args": usage(given["args"]),
			"securityContext": object{"allowPrivilegeEscalation": false, "runAsNonRoot": true,
				"capabilities":   object{"drop": []any{"ALL"}},
				"seccompProfile": object{"type": "RuntimeDefault"}}}
		if r := given["computeResources"]; r != nil {
			step["computeResources"] = r
		}
		minimal = append(minimal, step)
	}
	return object{"workspaces": []any{object{"name": "run"}}, "steps": minimal}
}

// usage turns the arguments of a step into those with which the same program prints how it is called.
func usage(args any) []any {
	list, _ := args.([]any)
	if len(list) > 0 {
		if verb, _ := list[0].(string); !strings.HasPrefix(verb, "-") {
			return []any{verb, "--help"}
		}
	}
	return []any{"--help"}
}

// runOf is the PipelineRun of the minimal Pipeline.
func runOf(pr *unstructured.Unstructured) *unstructured.Unstructured {
	spec := object{"pipelineRef": object{"name": twinName}}
	if t, ok, _ := unstructured.NestedMap(pr.Object, "spec", "taskRunTemplate"); ok {
		spec["taskRunTemplate"] = t
	}
	// some override what steps request
	if sizes, ok, _ := unstructured.NestedSlice(pr.Object, "spec", "taskRunSpecs"); ok {
		spec["taskRunSpecs"] = sizes
	}
	given, _, _ := unstructured.NestedSlice(pr.Object, "spec", "workspaces")
	for _, w := range given {
		if w, _ := w.(object); w["name"] == "run" {
			spec["workspaces"] = []any{w}
		}
	}
	return &unstructured.Unstructured{Object: object{"apiVersion": "tekton.dev/v1", "kind": "PipelineRun",
		"metadata": object{"generateName": twinName + "-"}, "spec": spec}}
}
