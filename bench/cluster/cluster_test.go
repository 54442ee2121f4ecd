package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

func parse(t *testing.T, text string) *unstructured.Unstructured {
	t.Helper()
	o := &unstructured.Unstructured{}
	json, err := yaml.YAMLToJSON([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if err := o.UnmarshalJSON(json); err != nil {
		t.Fatal(err)
	}
	return o
}

// at is so many milliseconds after the beginning of the test's time.
func at(ms int) time.Time { return time.UnixMilli(int64(ms)) }

const podHead = `{apiVersion: v1, kind: Pod, metadata: {name: p, labels: {tekton.dev/pipelineRun: r, ` +
	`tekton.dev/pipelineTask: one}}, `

func TestTimelineIsWhatWasReceived(t *testing.T) {
	w := &watcher{runs: map[string]*timeline{}}
	run := func(ms int, text string) {
		w.note(observation{
			pipelineRuns,
			parse(t, `{apiVersion: tekton.dev/v1, kind: PipelineRun, metadata: {name: r}, `+text+`}`), at(ms),
		})
	}
	task := func(ms int, text string) {
		w.note(observation{
			taskRuns, parse(t, `{apiVersion: tekton.dev/v1, kind: TaskRun, metadata: {name: r-one, labels: `+
				`{tekton.dev/pipelineRun: r, tekton.dev/pipelineTask: one}}, `+text+`}`), at(ms),
		})
	}
	pod := func(ms int, text string) {
		w.note(observation{pods, parse(t, podHead+text+`}`), at(ms)})
	}
	run(100, `spec: {status: PipelineRunPending}`)
	run(500, `spec: {}`)
	run(600, `spec: {}, status: {conditions: [{type: Succeeded, status: Unknown}]}`)
	task(700, `spec: {}`)
	pod(800, `spec: {containers: []}`)
	pod(810, `spec: {nodeName: node, containers: []}, status: {initContainerStatuses: [{state: {running: {}}}], `+
		`containerStatuses: [{state: {waiting: {}}}]}`)
	pod(1000, `spec: {nodeName: node, containers: []}, status: {initContainerStatuses: [{state: {terminated: `+
		`{exitCode: 0}}}], containerStatuses: [{state: {running: {}}}]}`)
	pod(1900,
		`spec: {nodeName: node, containers: []}, status: {containerStatuses: [{state: {terminated: {exitCode: 0}}}]}`)
	task(2000, `status: {conditions: [{type: Succeeded, status: "True"}]}`)
	run(2300, `spec: {}, status: {conditions: [{type: Succeeded, status: "True"}]}`)
	l := w.runs["r"]
	var got []int64
	for m := range marks {
		got = append(got, l.span("one", m).Milliseconds())
	}
	got = append(got, l.tail().Milliseconds())
	if diff := cmp.Diff([]int64{200, 100, 10, 190, 0, 900, 100, 300}, got); diff != "" {
		t.Errorf("asked, pod, node, init, start, steps, done, end (-want +got):\n%s", diff)
	}
	m := &measured{timeline: l, wait: time.Second, load: 300 * time.Millisecond}
	if m.cost() != 500*time.Millisecond {
		t.Errorf("of 1.8 s, 1 s for the engine and 0.3 s of load, %s are left", m.cost())
	}
}

func TestAFailedRunSaysWhy(t *testing.T) {
	l := &timeline{}
	l.noteRun(parse(
		t, `{kind: PipelineRun, status: {conditions: [{type: Succeeded, status: "False", message: task one failed}]}}`),
		at(1))
	if l.failed != "task one failed" {
		t.Errorf("%q", l.failed)
	}
}

func TestWhatARunRecorded(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("deployment/endpoint.json", `{"started":"2026-01-01T00:00:01.5Z","ready":"2026-01-01T00:00:04Z"}`)
	write("events.jsonl", `{"time":"2026-01-01T00:00:04Z","source":"provision","event":"ready"}
{"time":"2026-01-01T00:00:06Z","source":"load-gen","event":"stage_started"}
{"time":"2026-01-01T00:00:07Z","source":"load-gen","event":"stage_ended"}
{"time":"2026-01-01T00:00:07.1Z","source":"load-gen","event":"stage_started"}
{"time":"2026-01-01T00:00:09.25Z","source":"load-gen","event":"stage_ended"}
`)
	if wait, err := readWait(dir); err != nil || wait != 2500*time.Millisecond {
		t.Errorf("the engine took %s: %v", wait, err)
	}
	if load, err := readLoad(dir); err != nil || load != 3250*time.Millisecond {
		t.Errorf("the load took %s: %v", load, err)
	}
	write("events.jsonl", `{"time":"2026-01-01T00:00:04Z","source":"provision","event":"ready"}`)
	if _, err := readLoad(dir); err == nil || !strings.Contains(err.Error(), "no stage") {
		t.Errorf("a run without load: %v", err)
	}
}

func TestMinimalPipelineIsInTheMeasureOfTheRun(t *testing.T) {
	pr := parse(t, `
kind: PipelineRun
spec:
  taskRunTemplate: {serviceAccountName: bflow-runner}
  taskRunSpecs: [{pipelineTaskName: provision, timeout: 3m}]
  workspaces: [{name: plan, configMap: {name: p}}, {name: run, volumeClaimTemplate: {spec: {accessModes: [ReadWriteOnce]}}}]
`)
	first := parse(t, `
kind: TaskRun
metadata: {name: a, creationTimestamp: "2026-01-01T00:00:01Z", labels: {tekton.dev/pipelineTask: provision, tekton.dev/memberOf: tasks}}
status: {taskSpec: {steps: [{name: provision, image: i1, command: [/provision], args: [up, --run-id=r], env: [{name: A}], computeResources: {requests: {cpu: 50m}}}]}}
`)
	last := parse(t, `
kind: TaskRun
metadata: {name: b, creationTimestamp: "2026-01-01T00:00:03Z", labels: {tekton.dev/pipelineTask: finish, tekton.dev/memberOf: finally}}
status: {taskSpec: {steps: [{name: x, image: i1, command: [/provision], args: [down]}, {name: y, image: i2, command: [/collect], args: [--a=b]}]}}
`)
	pipeline, run, err := minimalOf(pr, []unstructured.Unstructured{*last, *first})
	if err != nil {
		t.Fatal(err)
	}
	const hardened = `{allowPrivilegeEscalation: false, runAsNonRoot: true, capabilities: {drop: [ALL]}, ` +
		`seccompProfile: {type: RuntimeDefault}}`
	want := parse(t, `
apiVersion: tekton.dev/v1
kind: Pipeline
metadata: {name: bench-cluster-minimal}
spec:
  workspaces: [{name: run}]
  tasks:
  - name: provision
    workspaces: [{name: run, workspace: run}]
    taskSpec:
      workspaces: [{name: run}]
      steps: [{name: provision, image: i1, command: [/provision], args: [up, --help], computeResources: {requests: {cpu: 50m}}, securityContext: `+hardened+`}]
  finally:
  - name: finish
    workspaces: [{name: run, workspace: run}]
    taskSpec:
      workspaces: [{name: run}]
      steps:
      - {name: x, image: i1, command: [/provision], args: [down, --help], securityContext: `+hardened+`}
      - {name: y, image: i2, command: [/collect], args: [--help], securityContext: `+hardened+`}
`)
	if diff := cmp.Diff(want.Object, pipeline.Object); diff != "" {
		t.Errorf("Pipeline (-want +got):\n%s", diff)
	}
	want = parse(t, `
apiVersion: tekton.dev/v1
kind: PipelineRun
metadata: {generateName: bench-cluster-minimal-}
spec:
  pipelineRef: {name: bench-cluster-minimal}
  taskRunTemplate: {serviceAccountName: bflow-runner}
  taskRunSpecs: [{pipelineTaskName: provision, timeout: 3m}]
  workspaces: [{name: run, volumeClaimTemplate: {spec: {accessModes: [ReadWriteOnce]}}}]
`)
	if diff := cmp.Diff(want.Object, run.Object); diff != "" {
		t.Errorf("PipelineRun (-want +got):\n%s", diff)
	}
}

func TestVerdictIsTheRatioOfMedians(t *testing.T) {
	some := func(all ...int) (runs []*measured) {
		for _, ms := range all {
			runs = append(runs, &measured{timeline: &timeline{begin: at(0), end: at(ms)}})
		}
		return runs
	}
	var out strings.Builder
	if table(&out, some(1000, 1160, 9000), some(1000, 1000, 1)) {
		t.Errorf("1.16 passed:\n%s", &out)
	}
	if !table(&out, some(1000, 1150, 9000), some(1000, 1000, 1)) {
		t.Errorf("1.15 failed:\n%s", &out)
	}
}
