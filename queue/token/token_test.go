package token

import (
	"encoding/json"
	"errors"
	"maps"
	"strings"
	"testing"
	"time"

	"bflow.dev/bflow/pipelines"
	"bflow.dev/bflow/queue/queuetest"
	"bflow.dev/bflow/runplan/contract"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"knative.dev/pkg/apis"
)

func TestATaskHasATokenWhileItRuns(t *testing.T) {
	w := newWorld(t, makeTask())
	if after := w.must(); after != TokenLifetime/2 {
		t.Errorf("looked at again after %s, want when half of its life is over", after)
	}
	first := w.holds()
	if !w.valid(first) || w.life[first] > 3600 {
		t.Fatalf("it holds %q, bound to %q, for %d s", first, w.bound[first], w.life[first])
	}
	if data := w.there(contract.SubmitBond("e")).Data; len(data) > 0 {
		t.Errorf("what tokens are bound to holds %d keys", len(data))
	}
	w.restart()
	w.Clock.Step(TokenLifetime/2 - time.Second)
	if after := w.must(); after != time.Second || w.holds() != first {
		t.Errorf("a controller that has started again: after %s it looks again, %q lies there", after, w.holds())
	}
	w.Clock.Step(time.Second)
	w.must()
	if second := w.holds(); second == first || !w.valid(second) || !w.valid(first) {
		t.Errorf("renewed: %q after %q; valid %v and %v", second, first, w.valid(second), w.valid(first))
	}
	w.ends(corev1.ConditionTrue, "Succeeded")
	w.must()
	if w.holds() != "" || w.there(contract.SubmitBond("e")) != nil {
		t.Error("a token is left of a task that has ended")
	}
	if after := w.must(); after != 0 {
		t.Errorf("a task without a token is looked at again after %s", after)
	}
}

// TestACancelledTaskCanStillCancelItsRuns: its pod is told to end when the task is done already.
func TestACancelledTaskCanStillCancelItsRuns(t *testing.T) {
	for _, reason := range []string{"TaskRunCancelled", "TaskRunTimeout"} {
		t.Run(reason, func(t *testing.T) {
			w := newWorld(t, makeTask())
			w.must()
			token := w.holds()
			w.ends(corev1.ConditionFalse, reason)
			w.Clock.Step(RevokeGracePeriod - time.Second)
			if after := w.must(); after != time.Second || !w.valid(token) || w.holds() != token {
				t.Errorf("a second too early: valid %v, holds %q, again after %s", w.valid(token), w.holds(), after)
			}
			w.Clock.Step(time.Second)
			w.must()
			if w.valid(token) || w.holds() != "" {
				t.Error("it outlives its minute")
			}
		})
	}
}

// TestAControllerThatIsKilledEndsNoTokenInUse kills it after each of its writes, in turn.
func TestAControllerThatIsKilledEndsNoTokenInUse(t *testing.T) {
	for writes := range 20 {
		w := newWorld(t, makeTask())
		w.left = writes
		_, err := w.look()
		if err != nil && !errors.Is(err, errKilled) {
			t.Fatal(err)
		}
		seen := w.holds()
		w.left = -1
		w.restart()
		w.must()
		if !w.valid(w.holds()) || seen != "" && !w.valid(seen) {
			t.Errorf("killed after %d writes: the pod had %q, valid: %v; it has %q, valid: %v", writes, seen, w.valid(seen),
				w.holds(), w.valid(w.holds()))
		}
		if err == nil { // so many writes are not needed
			return
		}
	}
	t.Error("it never came to an end")
}

// TestACacheThatIsBehindEndsNoTokenInUse: to bind tokens anew would end those of the pod.
func TestACacheThatIsBehindEndsNoTokenInUse(t *testing.T) {
	w := newWorld(t, makeTask())
	behind := queuetest.Builder(t).WithObjects(makeTask()).Build()
	w.cached = behind
	w.restart()
	w.must()
	token := w.holds()
	if after := w.must(); after == 0 || w.holds() != token || !w.valid(token) {
		t.Errorf("the second look: holds %q, had %q, valid: %v, again after %s", w.holds(), token, w.valid(token), after)
	}
}

func TestWhatSomebodyDeletesIsMadeAgain(t *testing.T) {
	w := newWorld(t, makeTask())
	w.must()
	if err := w.Client.Delete(t.Context(), w.there(contract.SubmitBond("e"))); err != nil {
		t.Fatal(err)
	}
	w.Clock.Step(TokenLifetime / 2)
	if _, err := w.look(); err == nil || !strings.Contains(err.Error(),
		`giving task "e" a token of account bflow-submit: asking for it: `) {
		t.Errorf("it says %v", err)
	}
	w.must()
	if !w.valid(w.holds()) {
		t.Errorf("it holds %q", w.holds())
	}
}

func TestWhoGetsNoToken(t *testing.T) {
	for _, row := range []struct {
		name string
		task *tektonv1.TaskRun
	}{
		{"a task that asks for none", makeTask(func(tr *tektonv1.TaskRun) { tr.Labels = nil })},
		{"a task that asks for one of another account", makeTask(
			func(tr *tektonv1.TaskRun) { tr.Labels[contract.LabelToken] = "controller" })},
		{"a task that is being deleted", makeTask(func(tr *tektonv1.TaskRun) {
			now := metav1.Now()
			tr.DeletionTimestamp, tr.Finalizers = &now, []string{"example.com/kept"}
		})},
		{"a task that had ended before the controller saw it", makeTask(func(tr *tektonv1.TaskRun) {
			tr.Status.SetCondition(&apis.Condition{Type: apis.ConditionSucceeded, Status: corev1.ConditionTrue})
		})},
	} {
		t.Run(row.name, func(t *testing.T) {
			w := newWorld(t, row.task)
			if after := w.must(); after != 0 || w.holds() != "" || len(w.bound) > 0 {
				t.Errorf("it got %q, and is looked at again after %s", w.holds(), after)
			}
		})
	}
}

// TestEveryTaskThatWaitsForATokenGetsOne makes a TaskRun of every Task there is, with the labels that Tekton gives it.
func TestEveryTaskThatWaitsForATokenGetsOne(t *testing.T) {
	images := map[string]string{"bflow": "reg.example/bflow:v1", contract.SimEngine: "reg.example/sim:v1"}
	for _, binary := range []string{contract.Provision, contract.Smoketest, contract.LoadGen, contract.Collect,
		contract.MLflowPush} {
		images[binary] = "reg.example/" + binary + ":v1"
	}
	all, err := pipelines.Tasks(pipelines.Release{Version: "v1", Images: images})
	if err != nil {
		t.Fatal(err)
	}
	experiment, _, err := pipelines.Experiment(pipelines.Release{Version: "v1", Images: images})
	if err != nil {
		t.Fatal(err)
	}
	matrix := pipelines.Matrix{Image: images["bflow"], Points: 2, Pieces: 1}.Spec()
	for _, task := range append(matrix.Tasks, matrix.Finally...) {
		if task.TaskSpec != nil {
			all = append(all, &tektonv1.Task{ObjectMeta: metav1.ObjectMeta{Name: task.Name,
				Labels: task.TaskSpec.Metadata.Labels}, Spec: task.TaskSpec.TaskSpec})
		}
	}
	waiting := 0
	for _, task := range append(all, experiment) {
		run := makeTask(func(tr *tektonv1.TaskRun) { tr.Labels = maps.Clone(task.Labels) })
		w := newWorld(t, run)
		w.must()
		for name, keys := range needed(t, task, run.Name) {
			waiting++
			secret := w.there(name)
			for _, key := range keys {
				if secret == nil || len(secret.Data[key]) == 0 {
					t.Errorf("the pod of task %s waits for key %s of Secret %s for ever", task.Name, key, name)
				}
			}
		}
		if asks(run) && len(needed(t, task, run.Name)) == 0 {
			t.Errorf("task %s asks for a token that it does not mount", task.Name)
		}
	}
	if waiting != 2 {
		t.Errorf("%d tasks wait for a token, want the experiment's and the last one of a matrix", waiting)
	}
}

// needed are the keys of Secrets without which the pod of a task does not start, by the names of the Secrets.
func needed(t *testing.T, task *tektonv1.Task, run string) map[string][]string {
	t.Helper()
	text, err := json.Marshal(task.Spec.Volumes)
	if err != nil {
		t.Fatal(err)
	}
	var volumes []corev1.Volume
	if err := json.Unmarshal([]byte(strings.ReplaceAll(string(text), "$(context.taskRun.name)", run)),
		&volumes); err != nil {
		t.Fatal(err)
	}
	out := map[string][]string{}
	for _, v := range volumes {
		if s := v.Secret; s != nil && (s.Optional == nil || !*s.Optional) {
			out[s.SecretName] = []string{}
		}
		if v.Projected == nil {
			continue
		}
		for _, source := range v.Projected.Sources {
			if s := source.Secret; s != nil && (s.Optional == nil || !*s.Optional) {
				for _, item := range s.Items {
					out[s.Name] = append(out[s.Name], item.Key)
				}
			}
		}
	}
	return out
}
