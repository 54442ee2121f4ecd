//go:build e2e

package cluster

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"bflow.dev/bflow/e2e/canary"
	"bflow.dev/bflow/runplan/contract"
)

// planted are the places of canaries on a cluster.
var planted = []string{
	0: "key of the server, in a Secret", 1: "header, in a Secret", 2: "literal header",
	3: "literal variable of the engine", 4: "literal value of the body",
	5: "token of the tracking server",
}

// TestNoCredentialComesOutOfACluster plants canaries in everything that holds a credential there, has a run here, one
// on the worker and a matrix use them, and searches every object, log and audit log of both clusters, what commands
// print and fetch, and what the tracking server keeps.
func TestNoCredentialComesOutOfACluster(t *testing.T) {
	if testing.Short() {
		t.Skip("e2e/canary looks at one host in short tests")
	}
	l := newLab(t, alone, withWorker)
	l.admin("version")
	w := l.onWorker()
	l.secret("canary", "key", canary.Word(0))
	l.secret("canary-header", "key", canary.Word(1))
	l.mlflow().useToken(canary.Word(5))

	said := map[string]string{}
	do := func(args ...string) {
		r := l.bflow(args...)
		said["bflow "+strings.Join(args, " ")] = r.out + r.err
		if r.code != 0 {
			t.Errorf("bflow %q: exit %d\n%s%s", args, r.code, r.out, r.err)
		}
	}
	at := []string{"--bundle", os.Getenv("BFLOW_E2E_BUNDLE"), "--lock", os.Getenv("BFLOW_E2E_LOCK")}
	var all []string
	for name, more := range map[string]string{"here": "", "there": onTheWorker, "matrix": "  matrix: {repeat: 2}\n"} {
		file := l.write(name+".yaml", guarded(more))
		do("validate", file)
		do(append([]string{"compile", file}, at[2:]...)...)
		r := l.bflow(append([]string{"run", file}, at...)...)
		said["bflow run "+file] = r.out + r.err
		if r.code != 0 {
			t.Fatalf("bflow run %s: exit %d\n%s%s", file, r.code, r.out, r.err)
		}
		all = append(all, strings.Fields(r.out)[0])
	}
	for _, run := range all {
		do("watch", "--plain", run)
		do("status", run)
		do("status", run, "-o", "json")
		do("report", run, "-o", "json")
	}
	do("list", "-o", "json")
	for _, run := range l.list(pipelineRuns, contract.LabelExperiment+"=guarded") {
		if name := run.GetName(); run.GetLabels()[contract.LabelPlanHash] != "" {
			do("logs", name)
			do("fetch", name, "--out", filepath.Join(l.dir, "fetched", name))
		}
	}

	search := func(where string, data []byte) {
		for _, found := range canary.Find(data) {
			t.Errorf("%s holds %s (%q)", where, found, planted)
		}
	}
	for what, text := range said {
		search(what, []byte(text))
	}
	for _, dir := range []string{filepath.Join(l.dir, "fetched"), l.runs, os.Getenv("E2E_WORK") + "/artifacts"} {
		files(t, dir, search)
	}
	for _, cluster := range []*lab{l, w} {
		searchCluster(cluster, search)
	}
}

// guarded is an experiment with credentials wherever one may stand.
func guarded(more string) string {
	return fmt.Sprintf(`
apiVersion: bflow.dev/v1alpha1
kind: Experiment
metadata: {name: guarded}
spec:
  namespace: benchflow
  model: {name: demo/tiny}
  deployment_profile: sim
  overrides: {runtime: {resources: {limits: {nvidia.com/gpu: "1"}}, env: {HF_TOKEN: %s}}}
  load:
    api:
      api_key_secret: {name: canary, key: key}
      headers: {X-Other-Key: {valueFrom: {secretKeyRef: {name: canary-header, key: key}}}, Ocp-Apim-Subscription-Key: %s}
      body: {api_key: %s}
    data: {input: 16, output: 4}
    stages: [{rate: 20, duration: 2s}]
%s`, canary.Word(3), canary.Word(2), canary.Word(4), more)
}

// useToken has the tracking server be spoken to with a token, until the end of the test.
func (tr tracking) useToken(token string) {
	tr.l.t.Helper()
	api := tr.l.api.Resource(secrets).Namespace(namespace)
	set := fmt.Sprintf(`{"stringData":{%q:%q}}`, contract.EnvMLflowToken, token)
	if _, err := api.Patch(tr.l.t.Context(), contract.SecretMLflow, types.MergePatchType, []byte(set),
		metav1.PatchOptions{}); err != nil {
		tr.l.t.Fatal(err)
	}
	tr.l.t.Cleanup(func() {
		ctx, cancel := afterwards()
		defer cancel()
		if _, err := api.Patch(ctx, contract.SecretMLflow, types.MergePatchType,
			fmt.Appendf(nil, `{"data":{%q:null}}`, contract.EnvMLflowToken), metav1.PatchOptions{}); err != nil {
			tr.l.t.Error(err)
		}
	})
}

// searchCluster has every object of the cluster but Secrets looked at, the logs of pods where bflow is, and the audit
// log. Secrets may hold canaries where people have put them, and where bflow keeps literal ones for a run.
func searchCluster(l *lab, search func(where string, data []byte)) {
	l.t.Helper()
	kubectl := func(args ...string) string {
		return l.admin(append([]string{"--kubeconfig", l.kubeconfig}, args...)...)
	}
	for _, kind := range strings.Fields(kubectl("api-resources", "--verbs=list", "-o", "name")) {
		if kind != "secrets" && !strings.HasPrefix(kind, "events") {
			search(kind+" of "+l.name, []byte(kubectl("get", kind, "-A", "-o", "json", "--ignore-not-found")))
		}
	}
	search("events of "+l.name, []byte(kubectl("get", "events", "-A", "-o", "json")))
	for _, in := range []string{namespace, contract.NamespaceSystem, "tekton-pipelines"} {
		all, err := l.listIn(pods, in, "")
		if err != nil {
			l.t.Fatal(err)
		}
		for _, p := range all {
			search("the log of "+p.GetName(),
				[]byte(kubectl("logs", "-n", in, p.GetName(), "--all-containers", "--ignore-errors")))
		}
	}
	held, err := l.listIn(secrets, "", "")
	if err != nil {
		l.t.Fatal(err)
	}
	for _, s := range held {
		text, err := s.MarshalJSON()
		if err != nil {
			l.t.Fatal(err)
		}
		mine := []string{"canary", "canary-header", contract.SecretMLflow}
		if s.GetNamespace() != namespace ||
			!slices.Contains(mine, s.GetName()) && !strings.HasPrefix(s.GetName(), "bflow-literal-") {
			search("Secret "+s.GetNamespace()+"/"+s.GetName()+" of "+l.name, text)
		}
	}
	rotated, err := filepath.Glob(strings.TrimSuffix(l.audit, ".log") + "*.log")
	if err != nil || l.audit == "" {
		l.t.Logf("%s has no audit log: %v", l.name, err)
	}
	for _, file := range rotated {
		data, err := os.ReadFile(file)
		if err != nil {
			l.t.Fatal(err)
		}
		search(file, data)
	}
}

// files has every file below dir searched.
func files(t *testing.T, dir string, search func(where string, data []byte)) {
	t.Helper()
	n := 0
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		search(path, data)
		n++
		return err
	})
	if err != nil && !os.IsNotExist(err) {
		t.Error(err)
	}
	t.Logf("%d files below %s were searched", n, dir)
}
