//go:build e2e

package cluster

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"bflow.dev/bflow/e2e/cluster/soak"
	"bflow.dev/bflow/runplan/contract"
)

const (
	soakPrefix = "bflow-soak-"    // of the namespaces of runs
	mostOpen   = 12               // runs that are not over, beyond which nobody submits
	recovery   = 10 * time.Minute // for what somebody has broken to work again
	soakEnds   = 40 * time.Minute // for all runs to end once nothing breaks any more
)

// TestSoak lets random runs come and go for as long as BFLOW_SOAK_FOR says, while people end them in every way and
// parts of both clusters break. A judge sees what the watches of both tell, from the beginning, and ends it at the
// first thing that must not be. BFLOW_SOAK_SEED has the same plan carried out again.
func TestSoak(t *testing.T) {
	text := os.Getenv("BFLOW_SOAK_FOR")
	if text == "" {
		t.Skip("BFLOW_SOAK_FOR does not say how long; make e2e-soak does")
	}
	length, err := time.ParseDuration(text)
	if err != nil {
		t.Fatalf("reading BFLOW_SOAK_FOR: %v", err)
	}
	seed := rand.Uint64N(1_000_000)
	if text := os.Getenv("BFLOW_SOAK_SEED"); text != "" {
		if seed, err = strconv.ParseUint(text, 10, 64); err != nil {
			t.Fatalf("reading BFLOW_SOAK_SEED: %v", err)
		}
	}
	faulty(t)
	s := newSoak(newLab(t, alone, aloneOnWorker), seed)
	people, faults := soak.Plan(seed, length, s.teams, []string{contract.TargetLocal, workerTarget})
	s.say("BFLOW_SOAK_SEED=%d: %d acts of people and %d faults in %s", seed, len(people), len(faults), length)
	calm := t.Run("trouble", func(t *testing.T) {
		for name, lane := range map[string][]soak.Action{"people": people, "faults": faults} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				s.in(t).play(lane, length)
			})
		}
	})
	if !calm || s.recorder.isWrong() {
		return
	}
	s.drain()
	s.recorder.end(t)
	s.empty()
	s.leave()
}

// soaking is a soak that goes on.
type soaking struct {
	*lab
	w        *lab
	teams    []string
	recorder *recorder
	done     *counts
	plans    *compiled
	began    time.Time
}

// newSoak gives the hub two controllers, a worker, three namespaces of runs, and a recorder.
func newSoak(l *lab, seed uint64) *soaking {
	l.t.Helper()
	l.controllers().scale(2)
	l.t.Cleanup(l.controllers().keepOne)
	l.controllers().replicas(2)
	s := &soaking{lab: l, w: l.onWorker(), done: newCounts(), plans: newCompiled(), began: time.Now()}
	for _, name := range []string{"a", "b", "c"} {
		s.teams = append(s.teams, soakPrefix+name)
		l.must("bootstrap", "namespace", "add", soakPrefix+name)
	}
	l.targets().add() // which is there for namespaces that come later, too
	s.priorities()
	s.recorder = record(s.lab, s.w, seed)
	l.t.Cleanup(s.verdict)
	return s
}

// in is the soak for a test inside another.
func (s *soaking) in(t *testing.T) *soaking {
	inner := *s
	inner.lab, inner.w = s.lab.in(t), s.w.in(t)
	return &inner
}

// say prints a line with the time.
func (s *soaking) say(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "soak: %s %s\n", time.Now().UTC().Format("15:04:05"), fmt.Sprintf(format, args...))
}

// priorities makes the classes that the runs name.
func (s *soaking) priorities() {
	s.t.Helper()
	all := s.api.Resource(schema.GroupVersionResource{
		Group: "kueue.x-k8s.io", Version: "v1beta2", Resource: "workloadpriorityclasses",
	})
	for i, name := range soak.Priorities() {
		u := &unstructured.Unstructured{
			Object: map[string]any{"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": "WorkloadPriorityClass",
				"metadata": map[string]any{"name": name}, "value": int64(1000 - i)},
		}
		if _, err := all.Create(s.t.Context(), u, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
			s.t.Fatal(err)
		}
		s.t.Cleanup(func() {
			if err := all.Delete(context.WithoutCancel(s.t.Context()), name, metav1.DeleteOptions{}); err != nil &&
				!apierrors.IsNotFound(err) {
				s.t.Error(err)
			}
		})
	}
}

// play carries actions out one after the other, each when its time has come, until the time is over or something is
// wrong.
func (s *soaking) play(actions []soak.Action, length time.Duration) {
	for _, a := range actions {
		select {
		case <-s.recorder.wrong:
			return
		case <-time.After(time.Until(s.began.Add(a.At))):
		}
		if time.Since(s.began) > length {
			s.say("no time was left for: %s", a)
			return
		}
		began := time.Now()
		said, is := s.act(a)
		if is {
			s.done.add(a.Do)
		}
		s.say("%s: %s (%s)", a, said, time.Since(began).Round(time.Second))
	}
}

// act does what an action says; false means that there was nothing to do it to.
func (s *soaking) act(a soak.Action) (said string, done bool) {
	switch a.Do {
	case soak.Submit:
		return s.put(a)
	case soak.Cancel, soak.Abort, soak.Delete, soak.Release:
		return s.stop(a)
	default:
		return s.hurt(a), true
	}
}

// drain ends what still waits, and waits until every run is over.
func (s *soaking) drain() {
	s.t.Helper()
	s.say("nothing breaks any more; runs that wait are cancelled, the others end")
	s.controllers().kill(ourController) // a clock that was shifted stays so until its process ends
	s.controllers().replicas(2)
	for _, o := range s.recorder.open() {
		if o.Annotations[contract.AnnotationAdmitted] == "" {
			s.cancelIn(o.Namespace, o.Name)
		}
	}
	said := ""
	s.awaitAnswer(soakEnds, "every run to end and to be released", func() string {
		if s.recorder.isWrong() {
			return ""
		}
		var open []string
		for _, o := range s.recorder.open() {
			open = append(open, o.Namespace+"/"+o.Name)
		}
		if now := fmt.Sprintf("%d runs are open: %s", len(open), strings.Join(open, " ")); now != said {
			said = now
			s.say("%s", said)
		}
		if len(open) > 0 {
			return said
		}
		return ""
	})
}

// soakKinds are what may be there for a run, and must not when it is over.
func soakKinds() []schema.GroupVersionResource {
	return []schema.GroupVersionResource{services, deployments, jobs, secrets, pods}
}

// empty waits until neither cluster has anything of a run but what is kept on purpose, no queue holds any quota, and no
// target is in doubt: the API servers are asked.
func (s *soaking) empty() {
	s.t.Helper()
	s.await(beforeForce, "nothing to be left of any run", func() string {
		left := s.leftOn(s.lab, soakKinds())
		left = append(left, s.leftOn(s.w, append(soakKinds(), configMaps))...)
		for _, target := range []string{contract.TargetLocal, workerTarget} {
			left = append(left, s.inUse(target)...)
		}
		return strings.Join(left, ", ")
	})
}

// leftOn is what carries the label of a run in the namespaces of the soak, without pods that have ended on the hub:
// those are kept with their TaskRuns.
func (s *soaking) leftOn(l *lab, kinds []schema.GroupVersionResource) (left []string) {
	for _, kind := range kinds {
		found, err := l.listIn(kind, "", contract.LabelRun)
		if err != nil {
			return append(left, err.Error())
		}
		for _, u := range found {
			phase, _, _ := unstructured.NestedString(u.Object, "status", "phase")
			ended := l == s.lab && (phase == "Succeeded" || phase == "Failed")
			if strings.HasPrefix(u.GetNamespace(), soakPrefix) && !ended {
				left = append(left, fmt.Sprintf("%s %s/%s on %s", kind.Resource, u.GetNamespace(), u.GetName(), l.name))
			}
		}
	}
	return left
}

// inUse is what a target says is held or in doubt there.
func (s *soaking) inUse(target string) (said []string) {
	queue, err := s.getIn(clusterQueue, "", target)
	if err != nil {
		return []string{err.Error()}
	}
	if n, _, _ := unstructured.NestedInt64(queue.Object, "status", "reservingWorkloads"); n > 0 {
		said = append(said, fmt.Sprintf("%d Workloads of queue %s", n, target))
	}
	flavor, err := s.getIn(flavors, "", target)
	if err != nil {
		return append(said, err.Error())
	}
	for _, key := range []string{contract.AnnotationDirty, contract.AnnotationOwed} {
		if text := flavor.GetAnnotations()[key]; text != "" {
			said = append(said, fmt.Sprintf("%s=%s of target %s", key, text, target))
		}
	}
	return said
}

// leave takes the namespaces and the target away, and waits until neither cluster knows anything of them.
func (s *soaking) leave() {
	s.t.Helper()
	for _, name := range s.teams {
		s.must("bootstrap", "namespace", "remove", name, "--data", "--wait", "5m")
	}
	s.must("target", "remove", workerTarget, "--kubeconfig", s.w.kubeconfig, "--wait", "5m")
	for _, l := range []*lab{s.lab, s.w} {
		l.await(goneWithin, "the namespaces of the soak to be gone from "+l.name, func() string {
			all, err := l.listIn(namespaces, "", "")
			if err != nil {
				return err.Error()
			}
			var left []string
			for _, n := range all {
				if slices.Contains(s.teams, n.GetName()) {
					left = append(left, n.GetName())
				}
			}
			left = append(left, s.leftOn(l, append(soakKinds(), configMaps))...)
			return strings.Join(left, ", ")
		})
	}
}

// verdict prints the table, and fails the test with what must not be and the path of the log that shows it.
func (s *soaking) verdict() {
	s.t.Helper()
	s.recorder.stop()
	s.recorder.going.Wait()
	if err := s.recorder.print(os.Stderr, s.done.all()); err != nil {
		s.t.Error(err)
	}
	for _, sentence := range s.recorder.sentences() {
		s.t.Error(sentence)
	}
	s.recorder.close(s.t)
}
