//go:build e2e

package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"bflow.dev/bflow/runplan/contract"
)

// partDelay is how long runs may wait for a part that they do not need, and for one that has come back.
const partDelay = time.Minute

var (
	clusterRoles = schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterroles"}
	roles        = schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "roles"}
)

// TestAPartThatIsGoneDelaysOnlyWhoNeedsIt takes a part away, restarts the controller, and gives the part back: a run
// that does not need it starts meanwhile, and one that does soon afterwards.
func TestAPartThatIsGoneDelaysOnlyWhoNeedsIt(t *testing.T) {
	t.Parallel()
	const team = "bflow-e2e-part"
	for _, row := range []struct {
		name      string
		more      bool                // not in short tests
		faulty    bool                // requests are refused meanwhile
		everybody bool                // no run can do without it
		take      func(l *lab) func() // returns what gives it back
		needs     func(l *lab) func() // starts what needs it, and returns what waits for that once it is back
	}{
		{name: "the label of a team's namespace", take: func(l *lab) func() {
			l.team().add(team)
			return l.team().label(team, "false")
		}, needs: func(l *lab) func() {
			run := l.submit(l.write("team.yaml", of(team, experiment(oneOfEight, "1s", ""))))[0]
			return func() { l.team().letStart(team, run); l.must("cancel", run) }
		}},
		{name: "the right to CustomRuns", faulty: true, take: func(l *lab) func() {
			return withoutRule(l, clusterRoles, "", "bflow-controller-runs", "customruns")
		}, needs: func(l *lab) func() {
			parent := l.submit(l.write("three.yaml", threePoints))[0]
			return func() {
				l.await(partDelay, "the runs of matrix "+parent, func() string {
					if len(l.list(pipelineRuns, contract.LabelMatrix+"="+parent)) == 0 {
						return "there are none"
					}
					return ""
				})
				l.must("cancel", parent)
			}
		}},
		{name: "the right to the Secrets of targets", more: true, faulty: true, take: func(l *lab) func() {
			return withoutRule(l, roles, contract.NamespaceSystem, "bflow-controller", "secrets")
		}},
		{name: "Tekton's webhook", more: true, everybody: true, take: func(l *lab) func() {
			return l.controllers().stop("tekton-pipelines", "tekton-pipelines-webhook")
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			if row.more && testing.Short() {
				t.Skip("others are tried in short tests")
			}
			if row.faulty {
				faulty(t)
			}
			l := newLab(t, alone)
			give := row.take(l)
			t.Cleanup(give)
			l.controllers().kill(ourController)
			needs := func() {}
			if row.needs != nil {
				needs = row.needs(l)
			}
			if !row.everybody {
				l.must("cancel", submitSingle(l))
			}
			give()
			needs()
			if row.everybody {
				run := submitSingle(l)
				l.of(run).succeeded()
				l.of(run).ranOnce()
			}
			l.quota().awaitFree(beforeForce)
		})
	}
}

// submitSingle submits a run that needs a GPU of the hub and nothing else, and waits until it is let start.
func submitSingle(l *lab) string {
	l.t.Helper()
	run := l.submit(l.write("single.yaml", experiment(oneOfEight, "1s", "")))[0]
	l.team().letStart(namespace, run)
	return run
}

// letStart waits until a run is let start.
func (ns teams) letStart(namespace, run string) {
	ns.l.t.Helper()
	ns.l.await(partDelay, run+" to be let start", func() string {
		pr, err := ns.l.getIn(pipelineRuns, namespace, run)
		if err != nil {
			return err.Error()
		}
		if pr.GetAnnotations()[contract.AnnotationAdmitted] == "" {
			return fmt.Sprintf("it is not: %s", pr.GetAnnotations()[contract.AnnotationReason])
		}
		return ""
	})
}

// label sets the label of runs on a namespace, and returns what sets it to true.
func (ns teams) label(name, value string) (back func()) {
	ns.l.t.Helper()
	set := func(value string) error {
		patch := fmt.Appendf(nil, `{"metadata":{"labels":{%q:%q}}}`, contract.LabelEnabled, value)
		_, err := ns.l.api.Resource(namespaces).Patch(context.WithoutCancel(ns.l.t.Context()), name, types.MergePatchType,
			patch, metav1.PatchOptions{})
		return err
	}
	if err := set(value); err != nil {
		ns.l.t.Fatal(err)
	}
	return func() { _ = set("true") } // the namespace may be gone by then
}

// withoutRule takes the rules about a resource out of a role, and returns what puts them back.
func withoutRule(l *lab, kind schema.GroupVersionResource, in, name, resource string) (back func()) {
	l.t.Helper()
	role, err := l.getIn(kind, in, name)
	if err != nil {
		l.t.Fatal(err)
	}
	all, _, _ := unstructured.NestedSlice(role.Object, "rules")
	var kept []any
	for _, rule := range all {
		of, _, _ := unstructured.NestedStringSlice(rule.(map[string]any), "resources")
		if len(of) != 1 || of[0] != resource {
			kept = append(kept, rule)
		}
	}
	if len(kept) == len(all) {
		l.t.Fatalf("%s %s has no rule about %s", kind.Resource, name, resource)
	}
	set := func(rules []any) {
		patch, err := json.Marshal(map[string]any{"rules": rules})
		if err == nil {
			_, err = l.api.Resource(kind).Namespace(in).Patch(context.WithoutCancel(l.t.Context()), name,
				types.MergePatchType, patch, metav1.PatchOptions{})
		}
		if err != nil {
			l.t.Fatal(err)
		}
	}
	set(kept)
	return func() { set(all) }
}

// stop ends a Deployment of one replica, and returns what brings it back and waits for it.
func (cs controllers) stop(in, name string) (back func()) {
	cs.l.t.Helper()
	set := func(replicas int) {
		patch := fmt.Appendf(nil, `{"spec":{"replicas":%d}}`, replicas)
		if _, err := cs.l.api.Resource(deployments).Namespace(in).Patch(context.WithoutCancel(cs.l.t.Context()), name,
			types.MergePatchType, patch, metav1.PatchOptions{}); err != nil {
			cs.l.t.Fatal(err)
		}
		cs.l.await(5*time.Minute, fmt.Sprintf("%d pods of %s to be there", replicas, name), func() string {
			d, err := cs.l.getIn(deployments, in, name)
			if err != nil {
				return err.Error()
			}
			now, _, _ := unstructured.NestedInt64(d.Object, "status", "availableReplicas")
			if int(now) != replicas {
				return fmt.Sprintf("there are %d", now)
			}
			return ""
		})
	}
	set(0)
	return func() { set(1) }
}
