//go:build e2e

package cluster

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"bflow.dev/bflow/runplan/contract"
)

// mistrusted is a namespace of runs whose people trust nobody else, and whom nobody else trusts.
const mistrusted = "bflow-edit-test"

// attempt is one call of kubectl by somebody who means harm. In its words OWN is a run of theirs that waits, STARTED
// one of theirs that was let start, OTHER one of namespace benchflow, WORKLOAD what stands for the second in its queue.
type attempt struct {
	name   string
	args   string // words, parted by blanks; '...' is one word
	file   string // what `-f -` reads
	kept   bool   // it is allowed, and docs/trust.md says so
	refuse string // what the refusal says; "" = that it is forbidden
}

// person is a ServiceAccount of namespace mistrusted, and what it calls kubectl with.
type person struct {
	*lab
	kubeconfig string
	runs       *strings.Replacer
}

// TestWhoMayEditOneNamespaceReachesNoOther tries the attempts with real tokens: as somebody with edit in one namespace
// of runs, and as somebody who has bflow-user alone.
func TestWhoMayEditOneNamespaceReachesNoOther(t *testing.T) {
	if testing.Short() {
		t.Skip("a hundred calls of kubectl; the rules themselves are tried in short tests")
	}
	l := newLab(t, runs(2))
	l.admin("version")
	l.team().add(mistrusted)
	l.create(waitingRun("other", namespace))
	t.Cleanup(func() { l.admin("delete", "pipelinerun", "other", "-n", namespace, "--wait=false") })
	l.create(waitingRun("own", mistrusted))
	started := l.submit(l.write("started.yaml", of(mistrusted, experiment(oneOfEight, "10m", ""))), "-n", mistrusted)[0]
	l.await(10*time.Minute, started+" to be let start", func() string {
		pr, err := l.getIn(pipelineRuns, mistrusted, started)
		if err != nil {
			return err.Error()
		}
		if pr.GetAnnotations()[contract.AnnotationAdmitted] == "" {
			return "it waits"
		}
		return ""
	})
	names := strings.NewReplacer("WORKLOAD", l.of(started).workload(), "OWN", "own", "STARTED", started,
		"OTHER", "other", "TEAM", mistrusted)
	for role, tries := range map[string][]attempt{"edit": append(attempts(), onlyEdit()...), "bflow-user": attempts()} {
		who := newPerson(l, role, names)
		for _, a := range tries {
			t.Run(role+" "+a.name, func(t *testing.T) { who.try(t, a) })
		}
	}
	l.must("cancel", started, "-n", mistrusted)
}

// workload is the name of what stands for a run in its queue.
func (lr labRun) workload() (name string) {
	lr.l.t.Helper()
	lr.l.await(5*time.Minute, "the Workload of "+lr.name, func() string {
		all, err := lr.l.listIn(workloads, mistrusted, "")
		if err != nil {
			return err.Error()
		}
		for _, w := range all {
			for _, owner := range w.GetOwnerReferences() {
				if owner.Name == lr.name {
					name = w.GetName()
					return ""
				}
			}
		}
		return "there is none"
	})
	return name
}

// waitingRun is a run in a queue that nobody serves.
func waitingRun(name, in string) string {
	return fmt.Sprintf(`{apiVersion: tekton.dev/v1, kind: PipelineRun, metadata: {name: %s, namespace: %s,
  labels: {bflow.dev/plan-hash: abc, kueue.x-k8s.io/queue-name: nowhere}, annotations: {bflow.dev/requests: '{"nvidia.com/gpu":"1"}'}},
  spec: {status: PipelineRunPending, pipelineSpec: {tasks: [{name: t, taskSpec: {steps: [{name: s, image: busybox, command: ["true"]}]}}]}}}
`, name, in)
}

// try carries an attempt out. Whatever it would make or change is only asked for, so that no attempt helps the next.
func (p *person) try(t *testing.T, a attempt) {
	t.Helper()
	args := []string{"--kubeconfig", p.kubeconfig}
	for _, word := range regexp.MustCompile(`'[^']*'|\S+`).FindAllString(p.runs.Replace(a.args), -1) {
		args = append(args, strings.Trim(word, "'"))
	}
	if a.file != "" {
		file := filepath.Join(t.TempDir(), "object.yaml")
		if err := os.WriteFile(file, []byte(p.runs.Replace(a.file)), 0o600); err != nil {
			t.Fatal(err)
		}
		args = append(args, "-f", file)
	}
	if dry := regexp.MustCompile(`^(create|apply|patch|label|annotate|delete|scale|set|replace|expose) ` +
		``); dry.MatchString(a.args) && !strings.HasPrefix(a.args, "create token") {
		args = append(args, "--dry-run=server")
	}
	r := p.command(time.Minute, os.Getenv("BFLOW_E2E_KUBECTL"), args...)
	want := a.refuse
	if want == "" {
		want = "(?i)forbidden|cannot "
	}
	switch {
	case a.kept && r.code != 0:
		t.Errorf("it is refused: %s", r.err)
	case !a.kept && r.code == 0:
		t.Errorf("kubectl %s is allowed:\n%.300s", a.args, r.out)
	case !a.kept && !regexp.MustCompile(want).MatchString(r.err):
		t.Errorf("it is refused for another reason than %q: %s", want, r.err)
	}
}

// admin is kubectl of whoever has set the cluster up.
func (l *lab) admin(args ...string) string {
	l.t.Helper()
	kubectl := os.Getenv("BFLOW_E2E_KUBECTL")
	if kubectl == "" {
		l.t.Skip("BFLOW_E2E_KUBECTL names no kubectl")
	}
	r := l.command(time.Minute, kubectl, args...)
	if r.code != 0 {
		l.t.Fatalf("kubectl %q: %s", args, r.err)
	}
	return r.out
}

// newPerson makes a ServiceAccount of namespace mistrusted that is bound to a ClusterRole there.
func newPerson(l *lab, role string, runs *strings.Replacer) *person {
	l.t.Helper()
	name := "with-" + role
	l.admin("-n", mistrusted, "create", "serviceaccount", name)
	l.admin("-n", mistrusted, "create", "rolebinding", name, "--clusterrole", role, "--serviceaccount",
		mistrusted+":"+name)
	config, err := clientcmd.LoadFromFile(l.kubeconfig)
	if err != nil {
		l.t.Fatal(err)
	}
	token := strings.TrimSpace(l.admin("-n", mistrusted, "create", "token", name, "--duration", "1h"))
	for user := range config.AuthInfos {
		config.AuthInfos[user] = &clientcmdapi.AuthInfo{Token: token}
	}
	p := &person{lab: l, kubeconfig: filepath.Join(l.dir, name+".kubeconfig"), runs: runs}
	if err := clientcmd.WriteToFile(*config, p.kubeconfig); err != nil {
		l.t.Fatal(err)
	}
	return p
}
