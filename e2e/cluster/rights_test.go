//go:build e2e

package cluster

import (
	"bufio"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"bflow.dev/bflow/bootstrap/objects"
	"bflow.dev/bflow/internal/audit"
	"bflow.dev/bflow/runplan/contract"
)

// spare are rights that the log of these tests need not show, and why they are granted all the same. A word stands for
// all rights whose text has it.
func spare() map[string]string {
	all := map[string]string{
		"bflow-submit may get pods":   "asked once a task waits for a node",
		"submit may get customruns":   "an experiment of several points that Pipeline bflow-experiment starts",
		"submit may watch customruns": "the same",
		"submit may list customruns":  "the same",
		"submit may list configmaps":  "summaries of the runs of a matrix, for its page",
		"runner may get taskruns":     "asked by a launcher that is told to end: is it a cancel, or does only its pod go",
		"devices.bflow.dev":           "asked for by the admission policy of devices, which is no request of an account",
		"runner may get namespaces":   "asked for a run that the controller has not let start",
		"bflow-runner may get leases": "asked by runs that share a platform on the target",
		"runs/finalizers":             "asked for by an admission plugin that OpenShift runs and this cluster does not",
		"workloads/finalizers":        "the same",
		"resourceclaims.resource.k8s": "read where the cluster serves dynamic resource allocation",
		"resourceslices.resource.k8s": "the same",
		"patch resourceflavors":       "marks a target that could not be cleaned",
		"patch events":                "an event that repeats",
		"delete workloads":            "a Workload that no longer fits its run, which nothing of ours brings about",
		"workloadpriorityclasses":     "read once a run names a priority",
		"persistentvolumeclaims":      "claims that an experiment says to make",
		"may list nodes":              "asked once a pod is unschedulable",
		"secrets in bflow-system":     "credentials of other targets",
		"may get serviceaccounts":     "asked once an experiment names an account for its tasks",
		"token in bflow-system":       "tokens for Prometheus servers that bootstrap was told of",
	}
	sparePicker(all)
	return all
}

// sparePicker adds the rights of endpoint pickers where none can be run.
func sparePicker(all map[string]string) {
	if os.Getenv("BFLOW_E2E_PICKER") == "" {
		all[contract.AccountPicker+" may"] = "used by endpoint pickers, of which there is no image here"
	}
}

// streamed reports whether r is the list before a watch that was used: the client of today asks for both at once where
// the server can, and for the list by itself where it is older.
func streamed(log audit.Log, r audit.Right) bool {
	watch := r
	watch.Verb = "watch"
	return r.Verb == "list" && log.Used[watch] > 0
}

// knows reports whether an account has used any of its rights.
func knows(log audit.Log, account string) bool {
	for r := range log.Used {
		if strings.HasSuffix(r.Account, "/"+account) {
			return true
		}
	}
	return false
}

// TestRightsGrantedAreRightsUsed reads the audit logs of the hubs after the other tests: every right of a
// ServiceAccount of bflow was used on one of them, which grant the same, and nothing was refused on any.
func TestRightsGrantedAreRightsUsed(t *testing.T) {
	for _, hub := range theHubs() {
		if hub.audit == "" {
			t.Skipf("the variables name no audit log of the API server of %s, on which these tests have run", hub.name)
		}
	}
	newLab(t, alone).controllers().leadAnew()
	var logs []io.Reader
	for _, hub := range theHubs() {
		logs = append(logs, wholeLog(t, hub.audit))
	}
	text := io.MultiReader(logs...)
	ours := func(account string) bool {
		return strings.HasPrefix(account, namespace+"/bflow-") || strings.HasPrefix(account, "bflow-system/bflow-")
	}
	log, err := audit.Read(text, ours, func(binding string) bool { return strings.HasPrefix(binding, "bflow-") })
	if err != nil {
		t.Fatal(err)
	}
	all, err := objects.Objects(objects.Config{
		Namespaces: []string{namespace}, Pieces: triggersPiece(t, knows(log, "bflow-listener")),
	})
	if err != nil {
		t.Fatal(err)
	}
	granted, err := audit.Granted(all)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range log.Unused(granted) {
		if !streamed(log, r) &&
			!slices.ContainsFunc(words(spare()), func(word string) bool { return strings.Contains(r.String(), word) }) {
			t.Errorf("never used: %s", r)
		}
	}
	restarted := os.Getenv("E2E_FAULT_CMD") != "" // an API server that starts does not know the roles for a moment
	for r, n := range log.Refused {
		if !restarted || !has(granted, r) {
			t.Errorf("refused %d times: %s", n, r)
		}
	}
}

// leadAnew takes the Lease of the controllers away, so that the one that leads makes another: that is done once in the
// life of an installation, and the log of one that is in use no longer tells of it.
func (cs controllers) leadAnew() {
	cs.l.t.Helper()
	at := cs.l.api.Resource(leases).Namespace(contract.NamespaceSystem)
	old, err := at.Get(cs.l.t.Context(), contract.AccountController, metav1.GetOptions{})
	if err != nil {
		cs.l.t.Fatal(err)
	}
	if err := at.Delete(cs.l.t.Context(), old.GetName(), metav1.DeleteOptions{}); err != nil {
		cs.l.t.Fatal(err)
	}
	cs.l.awaitAnswer(time.Minute, "a controller to lead again", func() string {
		lease, err := at.Get(cs.l.t.Context(), old.GetName(), metav1.GetOptions{})
		switch {
		case err != nil:
			return err.Error()
		case lease.GetUID() == old.GetUID():
			return "the Lease is still there"
		}
		return ""
	})
}

// has reports whether a request that was refused would have been within the rights.
func has(granted []audit.Right, refused audit.Right) bool {
	everywhere := refused
	everywhere.Namespace = ""
	return slices.Contains(granted, refused) || slices.Contains(granted, everywhere)
}

// wholeLog is the log with what the API server has rotated away from it. A test that fails tells where it begins:
// rights that were used before that look unused.
func wholeLog(t *testing.T, path string) io.Reader {
	t.Helper()
	names, err := filepath.Glob(strings.TrimSuffix(path, ".log") + "*.log") // audit-2026-11-22T06-47-01.889.log
	if err != nil || len(names) == 0 {
		t.Fatalf("no audit log at %s: %v", path, err)
	}
	var parts []io.Reader
	for _, name := range names {
		file, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { file.Close() })
		parts = append(parts, file)
	}
	whole := bufio.NewReader(io.MultiReader(parts...))
	first, _ := whole.Peek(4096)
	t.Cleanup(func() {
		if began := received.FindSubmatch(first); t.Failed() && began != nil {
			t.Logf("%s begins at %s; if tests ran before that, let the API server keep more of its audit log",
				names[0], began[1])
		}
	})
	return whole
}

// received is when a request came, in an event of an audit log.
var received = regexp.MustCompile(`"requestReceivedTimestamp":"([^"]+)"`)

func words(m map[string]string) []string {
	var out []string
	for word := range m {
		out = append(out, word)
	}
	return out
}
