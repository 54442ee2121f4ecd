//go:build e2e

package cluster

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"bflow.dev/bflow/bootstrap/objects"
	"bflow.dev/bflow/internal/audit"
	"bflow.dev/bflow/runplan/contract"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// TestARunGoesToOneOfTheTargetsThatItAllows: by name, of which one is unknown, and by a label.
func TestARunGoesToOneOfTheTargetsThatItAllows(t *testing.T) {
	l := newLab(t, withWorker)
	w := l.onWorker()
	l.targets().add("--label", "lab=two")
	for name, which := range map[string]string{"names": "{any_of: [nowhere, worker]}", "label": "{selector: {lab: two}}"} {
		t.Run(name, func(t *testing.T) {
			l, w := l.in(t), w.in(t)
			run := l.submit(l.write("any.yaml", experiment(fourOfEight, "2s", "  target_cluster: "+which+"\n")))[0]
			l.of(run).succeeded()
			pr := l.run(run)
			if pr.GetLabels()[contract.LabelTarget] != workerTarget ||
				!strings.HasPrefix(pr.GetAnnotations()[contract.AnnotationChosen], workerTarget+": ") {
				t.Errorf("it ran on %q: %q", pr.GetLabels()[contract.LabelTarget], pr.GetAnnotations()[contract.AnnotationChosen])
			}
			if report := l.must("report", run, "-o", "json"); !strings.Contains(report, `"target": "worker"`) {
				t.Errorf("its report does not say where it ran:\n%.3000s", report)
			}
			l.of(run).nothingLeft(beforeForce)
			w.of(run).nothingLeftThere(beforeForce)
		})
	}
}

// TestTheTokenOfATargetIsRenewed lets half of its life be over.
func TestTheTokenOfATargetIsRenewed(t *testing.T) {
	l := newLab(t, aloneOnWorker) // nobody else adds the target, which makes another token too
	l.onWorker()
	api := l.api.Resource(secrets).Namespace(contract.NamespaceSystem)
	past := fmt.Sprintf(`{"metadata":{"annotations":{%q:%q}}}`,
		contract.AnnotationTokenRenew, time.Now().Add(-time.Hour).UTC().Format(time.RFC3339))
	before, err := api.Patch(t.Context(), contract.TargetCredentials(workerTarget), types.MergePatchType, []byte(past),
		metav1.PatchOptions{})
	if err != nil {
		t.Fatal(err)
	}
	l.await(10*time.Minute, "another token", func() string {
		now, err := l.getIn(secrets, contract.NamespaceSystem, before.GetName())
		if err != nil {
			return err.Error()
		}
		renew, err := time.Parse(time.RFC3339, now.GetAnnotations()[contract.AnnotationTokenRenew])
		if err != nil || renew.Before(time.Now()) {
			return "it is to be renewed at " + renew.String()
		}
		if fmt.Sprint(now.Object["data"]) == fmt.Sprint(before.Object["data"]) {
			return "it is the same"
		}
		return ""
	})
	if list := l.must("target", "list"); !strings.Contains(list, workerTarget+"  yes") {
		t.Errorf("with its new token:\n%s", list)
	}
}

// TestWhatATargetMayNotBe asks for what is refused, one sentence each.
func TestWhatATargetMayNotBe(t *testing.T) {
	l := newLab(t, withWorker)
	l.onWorker()
	here, there := l.kubeconfig, os.Getenv("BFLOW_E2E_WORKER_KUBECONFIG")
	for _, row := range []struct {
		name string
		args []string
		want string
	}{
		{"the hub", []string{"add", "x", "--kubeconfig", here}, "is the hub itself"},
		{"one cluster twice", []string{"add", "x", "--kubeconfig", there}, `is already target "worker"`},
		{"another context", []string{"add", "x", "--kubeconfig", there, "--context", "y"}, `has no context "y"`},
		{"one that is not there", []string{"remove", "x"}, "the hub has no such target"},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := l.bflow(append([]string{"target"}, row.args...)...)
			if r.code == 0 || !strings.Contains(r.err, row.want) || strings.Count(strings.TrimSpace(r.err), "\n") > 0 {
				t.Errorf("exit %d\n%s", r.code, r.err)
			}
		})
	}
}

// TestATargetIsRemoved though somebody else has stopped its queue. What another hub needs would stay.
func TestATargetIsRemoved(t *testing.T) {
	hubs := newLabs(t, onEveryHub, aloneOnWorker)
	l := hubs[0]
	w := l.onWorker()
	for _, other := range hubs[1:] {
		if list := other.must("target", "list"); strings.Contains(list, workerTarget) {
			other.must("target", "remove", workerTarget, "--kubeconfig", os.Getenv("BFLOW_E2E_WORKER_KUBECONFIG"))
		}
	}
	stop := []byte(`{"spec":{"stopPolicy":"HoldAndDrain"}}`)
	if _, err := l.api.Resource(clusterQueue).Patch(t.Context(), workerTarget, types.MergePatchType, stop,
		metav1.PatchOptions{FieldManager: "somebody"}); err != nil {
		t.Fatal(err)
	}
	l.must("target", "remove", workerTarget, "--kubeconfig", os.Getenv("BFLOW_E2E_WORKER_KUBECONFIG"))
	if list := l.must("target", "list"); strings.Contains(list, workerTarget) {
		t.Errorf("it is listed still:\n%s", list)
	}
	for _, left := range []struct {
		what            string
		in              *lab
		kind            schema.GroupVersionResource
		namespace, name string
	}{
		{"queue", l, clusterQueue, "", workerTarget},
		{"credentials", l, secrets, contract.NamespaceSystem, contract.TargetCredentials(workerTarget)},
		{"namespace there", w, namespaces, "", contract.NamespaceSystem},
	} {
		left.in.await(10*time.Minute, "its "+left.what+" to go", func() string {
			if _, err := left.in.getIn(left.kind, left.namespace, left.name); !apierrors.IsNotFound(err) {
				return fmt.Sprintf("it is there: %v", err)
			}
			return ""
		})
	}
}

// spareThere are rights on a target that the log of these tests need not show.
func spareThere() map[string]string {
	all := map[string]string{
		"devices.bflow.dev": "asked for by the admission policy of devices, where the " +
			"target is a hub too",
		"persistentvolumeclaims":                   "claims that an experiment says to make",
		"may list nodes":                           "asked once a pod is unschedulable",
		"resourceclaims.resource.k8s":              "read where the cluster serves dynamic resource allocation",
		"resourceslices.resource.k8s":              "the same",
		"leases.coordination.k8s.io":               "kept once a run names shared platform state",
		"may get jobs.batch":                       "asked once a step finds that its Job is there already",
		"bflow-agent may delete":                   "what runs leave, which those that end well do not",
		"bflow-agent may create serviceaccounts/t": "its own next token is asked for after a day",
	}
	sparePicker(all)
	return all
}

// TestRightsOnATargetAreRightsUsed reads the audit log of the worker after the other tests.
func TestRightsOnATargetAreRightsUsed(t *testing.T) {
	path := os.Getenv("BFLOW_E2E_WORKER_AUDIT")
	if path == "" {
		t.Skip("BFLOW_E2E_WORKER_AUDIT names no audit log of a worker on which these tests have run")
	}
	ours := func(account string) bool {
		return account == namespace+"/"+contract.AccountRunner || account == namespace+"/"+contract.AccountPicker ||
			account == contract.NamespaceSystem+"/"+contract.AccountAgent
	}
	log, err := audit.Read(wholeLog(t, path), ours, func(binding string) bool {
		return strings.HasPrefix(binding, "bflow-")
	})
	if err != nil {
		t.Fatal(err)
	}
	all, err := objects.Target{Name: workerTarget, Namespaces: []string{namespace}}.Objects()
	if err != nil {
		t.Fatal(err)
	}
	granted, err := audit.Granted(all)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range log.Unused(granted) {
		if !streamed(log, r) && !slices.ContainsFunc(words(spareThere()),
			func(word string) bool { return strings.Contains(r.String(), word) }) {
			t.Errorf("never used: %s", r)
		}
	}
	for r, n := range log.Refused {
		onlyOnHub := r.Namespace == newTeam && r.Verb == "list" // the hub looks there, too, for what runs have left
		if !onlyOnHub && !has(granted, r) {
			t.Errorf("refused %d times: %s", n, r)
		}
	}
}
