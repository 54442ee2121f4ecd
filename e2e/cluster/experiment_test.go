//go:build e2e

package cluster

import (
	"context"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"

	"bflow.dev/bflow/pipelines/bundle"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/verdict"
)

// brief is an experiment that takes few seconds.
const brief = `
apiVersion: bflow.dev/v1alpha1
kind: Experiment
metadata: {name: brief}
spec:
  namespace: benchflow
  model: {name: demo/tiny}
  deployment_profile: sim
  overrides: {runtime: {resources: {limits: {nvidia.com/gpu: "1"}}}}
  load: {data: {input: 16, output: 4}, stages: [{rate: 20, duration: 2s}]}
`

// Overrides of it.
const (
	untilCancelled = "load.stages=[{rate: 5, duration: 20m}]"
	asksForAll     = `overrides.runtime.resources.limits={nvidia.com/gpu: "8"}`
)

// tkn runs the real tkn; anything but exit code 0 fails the test.
func (l *lab) tkn(args ...string) string {
	l.t.Helper()
	path := os.Getenv("BFLOW_E2E_TKN")
	if path == "" {
		l.t.Skip("BFLOW_E2E_TKN names no tkn")
	}
	r := l.command(10*time.Minute, path, append(args, "--namespace", namespace)...)
	if r.code != 0 {
		l.t.Fatalf("tkn %q: exit %d\n%s%s", args, r.code, r.out, r.err)
	}
	return r.out
}

// starts starts Pipeline bflow-experiment as a person would, without naming an account, and returns its PipelineRun.
func (l *lab) starts(params map[string]string, more ...string) string {
	l.t.Helper()
	args := []string{
		"pipeline", "start", contract.Experiment, "--use-param-defaults", "--output", "name",
		"--param", "load-cpu=200m",
	}
	for key, value := range params {
		args = append(args, "--param", key+"="+value)
	}
	made := strings.TrimSpace(l.tkn(append(args, more...)...))
	l.t.Cleanup(func() {
		_ = l.api.Resource(pipelineRuns).Namespace(namespace).Delete(context.WithoutCancel(l.t.Context()), made,
			metav1.DeleteOptions{})
	})
	return made
}

// children are the runs that a PipelineRun has started.
func (lr labRun) children() (names []string) {
	for _, run := range lr.l.list(pipelineRuns, contract.LabelParent+"="+lr.name) {
		names = append(names, run.GetName())
	}
	return names
}

// child waits for the one run of a PipelineRun.
func (lr labRun) child() (run string) {
	lr.l.t.Helper()
	lr.l.await(10*time.Minute, "the run of "+lr.name, func() string {
		if status, reason := condition(lr.l.run(lr.name)); status == "False" {
			lr.l.t.Fatalf("%s ended before: %s\n%s", lr.name, reason, lr.l.tkn("pipelinerun", "logs", lr.name))
		}
		names := lr.children()
		if len(names) != 1 {
			return "there are " + strings.Join(names, ", ")
		}
		run = names[0]
		return ""
	})
	return run
}

// results are those of a PipelineRun.
func (lr labRun) results() map[string]string {
	lr.l.t.Helper()
	all := map[string]string{}
	list, _, _ := unstructured.NestedSlice(lr.l.run(lr.name).Object, "status", "results")
	for _, item := range list {
		r, _ := item.(map[string]any)
		name, _ := r["name"].(string)
		all[name], _ = r["value"].(string)
	}
	return all
}

// measured says whether a run came to the end that it should: where other tests keep this machine busy, its numbers are
// marked as invalid, and rightly.
func measured(word string) bool { return word == verdict.Pass || word == verdict.Invalid }

// TestTknStartsListsAndFollows runs an experiment by the installed Pipeline. Its plan is that of bflow run and of bflow
// compile, whose objects the API server takes as they are.
func TestTknStartsListsAndFollows(t *testing.T) {
	l := newLab(t)
	pr := l.starts(map[string]string{contract.ParamExperiment: brief, contract.ParamOverrides: "load.data.output=8"})
	logs := l.tkn("pipelinerun", "logs", "--follow", pr)
	l.of(pr).waitForEnd(10 * time.Minute)
	said := l.of(pr).results()
	run := l.of(pr).child()
	word := said[contract.ResultVerdict]
	if !measured(word) || said[contract.ResultRuns] != run || !strings.Contains(logs, run) ||
		!strings.Contains(logs, "verdict: "+word) {
		t.Fatalf("results %v of run %s, log:\n%s", said, run, logs)
	}
	if list := l.tkn("pipelinerun", "list"); !strings.Contains(list, pr) || !strings.Contains(list, run) {
		t.Errorf("tkn lists neither or one:\n%s", list)
	}
	if out := l.must("status", run); !strings.Contains(out, "Succeeded") {
		t.Errorf("bflow status:\n%s", out)
	}
	l.of(run).nothingLeft(beforeForce)
	l.of(pr).noToken()

	file := l.write("brief.yaml", brief)
	byRun := l.submit(file, "--set", "load.data.output=8")[0]
	byCompile := l.create(l.must(
		"compile", file, "--set", "load.data.output=8", "--lock", os.Getenv("BFLOW_E2E_LOCK"), "--load-cpu", "200m"))
	for _, other := range []string{byRun, byCompile} {
		hash := l.run(other).GetLabels()[contract.LabelPlanHash]
		if hash == "" || !strings.HasPrefix(said[contract.ResultPlanHashes], hash) {
			t.Errorf("plan of %s is %s, of tkn's run %s", other, hash, said[contract.ResultPlanHashes])
		}
		l.must("cancel", other)
		l.of(other).waitForEnd(20 * time.Minute)
		l.of(other).nothingLeft(beforeForce)
	}
}

// create makes every object of a stream, as kubectl create does, and returns the PipelineRun.
func (l *lab) create(stream string) (run string) {
	l.t.Helper()
	run, err := l.createAs(stream, "")
	if err != nil {
		l.t.Fatal(err)
	}
	return run
}

// createAs is create for a PipelineRun of a name, unless that is "". Only a PipelineRun that is there already is an
// error.
func (l *lab) createAs(stream, name string) (run string, err error) {
	docs := utilyaml.NewYAMLOrJSONDecoder(strings.NewReader(stream), 4096)
	for {
		var u unstructured.Unstructured
		if err := docs.Decode(&u.Object); err != nil {
			return run, nil
		}
		if len(u.Object) == 0 {
			continue
		}
		gvk := u.GroupVersionKind()
		isRun := gvk.Kind == "PipelineRun"
		if isRun && name != "" {
			u.SetName(name)
			u.SetGenerateName("")
		}
		kind := schema.GroupVersionResource{Group: gvk.Group, Version: gvk.Version, Resource: strings.ToLower(gvk.Kind) + "s"}
		made, err := l.api.Resource(kind).Namespace(u.GetNamespace()).Create(l.t.Context(), &u, metav1.CreateOptions{})
		if err != nil && (isRun || !apierrors.IsAlreadyExists(err)) {
			return "", err
		}
		if isRun {
			run = made.GetName()
		}
	}
}

// TestTheEndOfAnExperimentIsTheEndOfItsRuns ends the PipelineRun in every way that there is.
func TestTheEndOfAnExperimentIsTheEndOfItsRuns(t *testing.T) {
	t.Parallel()
	for _, row := range []struct {
		name     string
		override string
		more     []string // of tkn pipeline start
		at       func(l *lab, parent, run string)
		act      func(l *lab, parent string)
		goesOn   bool // the run does not end with it, but when it is deleted
	}{
		{name: "cancelled while its run loads", override: untilCancelled, at: loading, act: cancelByTkn},
		{name: "cancelled while its run provisions", override: untilCancelled, at: provisioning, act: cancelByTkn},
		{name: "deleted while its run loads", override: untilCancelled, at: loading, act: deletion},
		{name: "timed out", override: untilCancelled, more: []string{"--pipeline-timeout", "45s"},
			at:  func(*lab, string, string) {},
			act: func(l *lab, parent string) { l.of(parent).waitForEnd(20 * time.Minute) }, goesOn: true},
	} {
		t.Run(row.name, func(t *testing.T) {
			l := newLab(t)
			parent := l.starts(
				map[string]string{contract.ParamExperiment: brief, contract.ParamOverrides: row.override}, row.more...)
			run := l.of(parent).child()
			row.at(l, parent, run)
			row.act(l, parent)
			if row.goesOn {
				l.of(parent).waitForEnd(20 * time.Minute)
				if status, reason := condition(l.run(run)); status != "Unknown" {
					t.Errorf("the run has ended: %s", reason)
				}
				deletion(l, parent)
				l.of(run).gone()
			}
			l.of(run).waitForEnd(20 * time.Minute)
			l.of(run).nothingLeft(beforeForce)
			l.of(parent).noToken()
		})
	}
}

// noToken waits until no token to submit is left of a PipelineRun. A task that was cancelled keeps its own for a
// minute.
func (lr labRun) noToken() {
	lr.l.t.Helper()
	lr.l.await(3*time.Minute, "the end of the token of "+lr.name, func() string {
		for _, s := range lr.l.list(secrets, contract.LabelToken+"="+contract.TokenSubmit) {
			if strings.HasPrefix(s.GetName(), "bflow-"+lr.name+"-") {
				return "there is Secret " + s.GetName()
			}
		}
		return ""
	})
}

func loading(l *lab, _, run string)      { l.t.Helper(); during("load-gen-0")(l, run) }
func provisioning(l *lab, _, run string) { l.t.Helper(); during("provision")(l, run) }
func cancelByTkn(l *lab, parent string)  { l.t.Helper(); l.tkn("pipelinerun", "cancel", parent) }
func deletion(l *lab, parent string)     { l.t.Helper(); byDeletion(l, parent) }

// TestAPodThatIsKilledSubmitsNothingTwice takes the pod of the waiting task away without a word to it, as a lost node
// does. Tekton makes another.
func TestAPodThatIsKilledSubmitsNothingTwice(t *testing.T) {
	l := newLab(t)
	parent := l.starts(map[string]string{contract.ParamExperiment: brief, contract.ParamOverrides: untilCancelled})
	run := l.of(parent).child()
	loading(l, parent, run)
	first := l.of(parent).pod()
	at := int64(0)
	if err := l.api.Resource(pods).Namespace(namespace).Delete(t.Context(), first.GetName(),
		metav1.DeleteOptions{GracePeriodSeconds: &at}); err != nil {
		t.Fatal(err)
	}
	l.awaitAnswer(10*time.Minute, "another pod that waits", func() string {
		if pod := l.of(parent).pod(); pod == nil || pod.GetUID() == first.GetUID() {
			return "there is none"
		}
		if logs := l.tkn("pipelinerun", "logs", parent); !strings.Contains(logs, run) {
			return logs
		}
		return ""
	})
	if again := l.of(parent).child(); again != run {
		t.Errorf("it has made %s beside %s", again, run)
	}
	cancelByTkn(l, parent)
	l.of(run).waitForEnd(20 * time.Minute)
	l.of(run).nothingLeft(beforeForce)
}

// pod is the pod of the task of a PipelineRun, nil where there is none.
func (lr labRun) pod() *unstructured.Unstructured {
	lr.l.t.Helper()
	for _, p := range lr.l.list(pods, "tekton.dev/pipelineRun="+lr.name) {
		if p.GetDeletionTimestamp() == nil {
			return &p
		}
	}
	return nil
}

// TestAQueuedExperimentThatIsCancelledNeverStarts cancels one whose run waits for the GPUs of another.
func TestAQueuedExperimentThatIsCancelledNeverStarts(t *testing.T) {
	l := newLab(t, alone)
	holder := l.starts(map[string]string{
		contract.ParamExperiment: brief, contract.ParamOverrides: untilCancelled + "\n" + asksForAll,
	})
	held := l.of(holder).child()
	loading(l, holder, held)
	parent := l.starts(map[string]string{contract.ParamExperiment: brief})
	run := l.of(parent).child()
	cancelByTkn(l, parent)
	l.of(run).waitForEnd(10 * time.Minute)
	if n := len(l.list(taskRuns, "tekton.dev/pipelineRun="+run)); n > 0 {
		t.Errorf("%d tasks of a run that was cancelled in the queue were started", n)
	}
	cancelByTkn(l, holder)
	for _, run := range []string{run, held} {
		l.of(run).waitForEnd(20 * time.Minute)
		l.of(run).nothingLeft(beforeForce)
	}
}

// TestTknReadsTheBundle lists its objects by tkn and by our own reader.
func TestTknReadsTheBundle(t *testing.T) {
	l := newLab(t)
	tkn := os.Getenv("BFLOW_E2E_TKN")
	if tkn == "" {
		t.Skip("BFLOW_E2E_TKN names no tkn")
	}
	at := os.Getenv("BFLOW_E2E_BUNDLE")
	r := l.command(time.Minute, tkn, "bundle", "list", at, "--cache-dir", t.TempDir())
	if r.code != 0 {
		t.Fatalf("tkn: exit %d\n%s%s", r.code, r.out, r.err)
	}
	ref, err := name.ParseReference(at)
	if err != nil {
		t.Fatal(err)
	}
	img, err := remote.Image(ref)
	if err != nil {
		t.Fatal(err)
	}
	entries, err := bundle.Read(img)
	if err != nil {
		t.Fatal(err)
	}
	listed := strings.Fields(r.out)
	for _, e := range entries {
		if want := e.Kind + ".tekton.dev/" + e.Name; !slices.Contains(listed, want) {
			t.Errorf("tkn does not list %s:\n%s", want, r.out)
		}
	}
	for _, want := range []string{"task.tekton.dev/provision", "task.tekton.dev/bflow-experiment",
		"pipeline.tekton.dev/bflow-experiment"} {
		if !slices.Contains(listed, want) {
			t.Errorf("tkn does not list %s:\n%s", want, r.out)
		}
	}
	if len(listed) != len(entries) {
		t.Errorf("tkn lists %d objects of %d", len(listed), len(entries))
	}
	if said := l.command(time.Minute, tkn, "bundle", "list", at, "pipeline", contract.Experiment, "-o", "yaml",
		"--cache-dir", t.TempDir()); !strings.Contains(said.out, "displayName: Run an experiment") {
		t.Errorf("tkn shows %s%s", said.out, said.err)
	}
}
