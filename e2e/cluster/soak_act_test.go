//go:build e2e

package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"bflow.dev/bflow/e2e/cluster/soak"
	"bflow.dev/bflow/runplan/contract"
)

// counts are how often what happened.
type counts struct {
	sync.Mutex
	of map[soak.Act]int
}

func newCounts() *counts { return &counts{of: map[soak.Act]int{}} }

func (c *counts) add(act soak.Act) {
	c.Lock()
	defer c.Unlock()
	c.of[act]++
}

func (c *counts) all() map[soak.Act]int {
	c.Lock()
	defer c.Unlock()
	return maps.Clone(c.of)
}

// compiled are the objects of runs, by what they are of.
type compiled struct {
	sync.Mutex
	of map[string]string
}

func newCompiled() *compiled { return &compiled{of: map[string]string{}} }

// streamOf is what bflow compile prints for the run of an action.
func (s *soaking) streamOf(a soak.Action) string {
	s.t.Helper()
	s.plans.Lock()
	defer s.plans.Unlock()
	key := a.Namespace + "-" + a.Name
	if text := s.plans.of[key]; text != "" {
		return text
	}
	more := fmt.Sprintf("  target_clusters: [%s]\n  queue: {priority: %s}\n", a.Target, a.Priority)
	if a.Points > 1 {
		more += fmt.Sprintf("  matrix: {repeat: %d}\n", a.Points)
	}
	engine := fmt.Sprintf(`overrides: {runtime: {resources: {limits: {nvidia.com/gpu: "%d"}}}}`, a.GPUs)
	file := s.write(key+".yaml", of(a.Namespace, experiment(engine, a.For.String(), more)))
	s.plans.of[key] = s.must("compile", file, "--load-cpu", "50m", "--bundle", os.Getenv("BFLOW_E2E_BUNDLE"), "--lock",
		os.Getenv("BFLOW_E2E_LOCK"))
	return s.plans.of[key]
}

// put submits a run. One of its name that is over makes place for it.
func (s *soaking) put(a soak.Action) (said string, done bool) {
	open := s.recorder.open()
	if len(open) >= mostOpen {
		return fmt.Sprintf("%d runs are open, which is enough", len(open)), false
	}
	stream := s.streamOf(a)
	_, err := s.createAs(stream, a.Name)
	if !apierrors.IsAlreadyExists(err) {
		return submitted(err)
	}
	for _, o := range open {
		if o.Namespace == a.Namespace && o.Name == a.Name {
			return "the one before is not over", false
		}
	}
	s.retry("the run before to make place", func() (result, error) {
		err := s.api.Resource(pipelineRuns).Namespace(a.Namespace).Delete(s.t.Context(), a.Name, metav1.DeleteOptions{})
		if err == nil {
			err = errors.New("it is being deleted")
		}
		if apierrors.IsNotFound(err) {
			err = nil
		}
		return result{}, err
	})
	_, err = s.createAs(stream, a.Name)
	return submitted(err)
}

func submitted(err error) (said string, done bool) {
	if err != nil {
		return "refused: " + err.Error(), false
	}
	return "it queues", true
}

// stop ends one of the runs that are open, in the way of the action.
func (s *soaking) stop(a soak.Action) (said string, done bool) {
	open := s.recorder.open()
	if len(open) == 0 {
		return "no run is there", false
	}
	o := open[a.Pick%uint64(len(open))]
	name := o.Namespace + "/" + o.Name
	runs := s.api.Resource(pipelineRuns).Namespace(o.Namespace)
	var err error
	switch a.Do {
	case soak.Cancel:
		return name + ": " + s.cancelIn(o.Namespace, o.Name), true
	case soak.Release:
		return name + ": " + s.cancelIn(o.Namespace, o.Name, "--force"), true
	case soak.Abort:
		_, err = runs.Patch(s.t.Context(), o.Name, types.MergePatchType, []byte(`{"spec":{"status":"Cancelled"}}`),
			metav1.PatchOptions{})
	case soak.Delete:
		err = runs.Delete(s.t.Context(), o.Name, metav1.DeleteOptions{})
	}
	if err != nil {
		return name + ": " + err.Error(), false
	}
	return name, true
}

// cancelIn says what bflow cancel has said.
func (s *soaking) cancelIn(namespace, name string, more ...string) string {
	r, err := s.try(recovery, bflowPath(), append([]string{"cancel", name, "-n", namespace, "--yes"}, more...)...)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("exit %d, %s", r.code, strings.TrimSpace(r.out+r.err))
}

// hurt breaks something, and returns when it is whole again, or will be by itself.
func (s *soaking) hurt(a soak.Action) (said string) {
	s.answering()
	seconds := fmt.Sprintf("%.0f", a.For.Seconds())
	switch a.Do {
	case soak.KillLeader:
		leader := s.controllers().leaderWithin(recovery, "")
		err := s.api.Resource(pods).Namespace(ourController.namespace).Delete(s.t.Context(), leader,
			metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))})
		if err != nil {
			return leader + ": " + err.Error()
		}
		return fmt.Sprintf("%s; %s leads", leader, s.controllers().leaderWithin(recovery, leader))
	case soak.PauseLeader:
		leader := s.controllers().leaderWithin(recovery, "")
		s.fault("stop", "bflow-controller", seconds, leader)
		return fmt.Sprintf("%s; %s leads", leader, s.controllers().leaderWithin(recovery, ""))
	case soak.SkewLeader:
		leader := s.controllers().leaderWithin(recovery, "")
		s.fault("skew", "bflow-controller", seconds, leader)
		return leader
	case soak.KillTekton:
		s.controllers().kill(tektonController)
	case soak.PauseManager:
		s.fault("stop", "kube-controller-manager", seconds)
	case soak.KillServer:
		s.fault("restart", "kube-apiserver")
	case soak.KillStore:
		s.fault("restart", "etcd")
	case soak.KillWorker:
		s.w.fault("restart", "kube-apiserver")
	case soak.CutWorker:
		s.recorder.tell(soak.Event{At: time.Now(), Cluster: workerTarget, Verb: soak.Cut})
		s.w.fault("cut", seconds)
		s.recorder.tell(soak.Event{At: time.Now(), Cluster: workerTarget, Verb: soak.Back})
	case soak.LoseTarget:
		return s.targetLost(a.For)
	case soak.LoseNamespace:
		return s.namespaceLost(a.Namespace)
	}
	return "done"
}

// targetLost deletes what the hub knows of the way to the worker, and adds the worker again after some time.
func (s *soaking) targetLost(lasts time.Duration) string {
	s.retry("the Secret of the target to be deleted", func() (result, error) {
		err := s.api.Resource(secrets).Namespace(contract.NamespaceSystem).Delete(context.WithoutCancel(s.t.Context()),
			"bflow-target-"+workerTarget, metav1.DeleteOptions{})
		if apierrors.IsNotFound(err) {
			err = nil
		}
		return result{}, err
	})
	<-time.After(lasts)
	s.retry("the worker to be a target again", func() (result, error) {
		return s.try(recovery, bflowPath(), "target", "add", workerTarget, "--kubeconfig", s.w.kubeconfig)
	})
	return "added again"
}

// namespaceLost deletes a namespace of runs and makes it again.
func (s *soaking) namespaceLost(name string) string {
	began := time.Now()
	s.team().deleteWithin(recovery, name)
	gone := time.Since(began).Round(time.Second)
	s.retry("namespace "+name+" to be made again", func() (result, error) {
		return s.try(recovery, bflowPath(), "bootstrap", "namespace", "add", name)
	})
	return fmt.Sprintf("gone after %s, and made again", gone)
}

// answering waits until both API servers answer, after what the fault before has done to them.
func (s *soaking) answering() {
	s.t.Helper()
	s.retry("the API servers to answer", func() (result, error) {
		for _, l := range []*lab{s.lab, s.w} {
			if _, err := l.api.Resource(namespaces).Get(s.t.Context(), contract.NamespaceSystem,
				metav1.GetOptions{}); err != nil {
				return result{}, err
			}
		}
		return result{}, nil
	})
}

// retry waits until a command goes well: what it speaks to may be coming back.
func (s *soaking) retry(what string, command func() (result, error)) {
	s.t.Helper()
	s.awaitAnswer(recovery, what, func() string {
		r, err := command()
		if err != nil {
			return err.Error()
		}
		if r.code != 0 {
			return fmt.Sprintf("exit %d: %s%s", r.code, r.out, r.err)
		}
		return ""
	})
}
