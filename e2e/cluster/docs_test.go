//go:build e2e

package cluster

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"bflow.dev/bflow/e2e/docs"
)

// elsewhere are commands of the pages that other tests run, by how they begin, and why.
var elsewhere = []struct{ page, command, why string }{
	{"docs/start.md", "kubectl create secret generic bflow-git", "the tests of Git have a server for it"},
	{"docs/ci.md", "kubectl create secret generic bflow-webhook", "the tests of Triggers have one of theirs"},
	{"docs/ci.md", "body=", "the tests of Triggers send it"},
	{"docs/ci.md", "signature=", "the tests of Triggers send it"},
	{"docs/ci.md", "curl", "the tests of Triggers send it"},
	{"docs/ci.md", "kubectl get events", "what it prints is of other days"},
	{"docs/bootstrap.md", "bflow bootstrap --single-cluster",
		"TestBootstrapComesAndGoes installs the images of this build, on a cluster of its own"},
	{"docs/bootstrap.md", "oc ", "there is no OpenShift"},
}

// TestEveryCommandOfAPageRunsOnACluster walks pages about clusters, in order, with the first experiment of the guide.
func TestEveryCommandOfAPageRunsOnACluster(t *testing.T) {
	l := newLab(t, runs(4))
	ran := 0
	first := firstOfTheGuide(t)
	deleteFirst(l) // an interrupted make e2e leaves runs of the same name
	l.write("first.yaml", first)
	l.write("sweep.yaml", strings.Replace(first, "name: first", "name: sweep", 1)+"  matrix: {repeat: 240}\n")
	t.Cleanup(func() {
		l.admin("delete", "serviceaccount/ci", "rolebinding/ci", "-n", namespace, "--ignore-not-found")
	})
	for _, page := range []string{"docs/bootstrap.md", "docs/cluster.md", "docs/start.md",
		"docs/ci.md", "docs/matrix.md"} {
		blocks, err := docs.Read(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, b := range blocks {
			for _, c := range b.Commands() {
				if !ofAnother(page, c.Line) {
					ran++
					walk(l, b, c)
				}
			}
		}
	}
	t.Logf("%d commands ran, %d are run elsewhere", ran, len(elsewhere))
	for _, matrix := range l.list(pipelineRuns, "bflow.dev/experiment=sweep,bflow.dev/role=matrix") {
		l.must("delete", "--force", matrix.GetName())
	}
	deleteFirst(l)
}

// deleteFirst ends and deletes the runs of the guide's experiment, which the pages name by their first letters.
func deleteFirst(l *lab) {
	l.t.Helper()
	for _, run := range l.list(pipelineRuns, "bflow.dev/experiment=first") {
		l.bflow("cancel", "--yes", run.GetName())
		l.of(run.GetName()).waitForEnd(20 * time.Minute)
		l.of(run.GetName()).nothingLeft(beforeForce)
		l.must("delete", run.GetName())
	}
}

func firstOfTheGuide(t *testing.T) string {
	t.Helper()
	blocks, err := docs.Read("docs/guide.md")
	if err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(blocks, func(b docs.Block) bool { return b.File() == "first.yaml" })
	if i < 0 {
		t.Fatal("the guide has no first.yaml")
	}
	return blocks[i].Text
}

func ofAnother(page, line string) bool {
	for _, e := range elsewhere {
		if e.page == page && strings.HasPrefix(line, e.command) {
			return true
		}
	}
	return false
}

// walk runs a command of a page as it stands, but for the namespace and the name of the cluster.
func walk(l *lab, b docs.Block, c docs.Command) {
	l.t.Helper()
	there := strings.NewReplacer("-n bench\n", "-n "+namespace+"\n", "-n bench ", "-n "+namespace+" ",
		"namespace bench", "namespace "+namespace,
		"cluster hub", "cluster "+strings.TrimSpace(l.admin("config", "current-context")))
	path := strings.Join([]string{os.Getenv("BFLOW_E2E_BIN"), filepath.Dir(os.Getenv("BFLOW_E2E_TKN")),
		filepath.Dir(os.Getenv("BFLOW_E2E_KUBECTL")), os.Getenv("PATH")}, ":")
	r := l.command(20*time.Minute, "env", "PATH="+path, "bash", "-eu", "-o", "pipefail", "-c",
		"exec 2>&1\n"+there.Replace(c.Line+"\n"))
	for i := range c.Says {
		c.Says[i] = strings.TrimSuffix(there.Replace(c.Says[i]+"\n"), "\n")
	}
	if r.code != 0 {
		l.t.Errorf("%s:%d: %s: exit code %d:\n%s", b.Page, b.Line, c.Line, r.code, r.out)
	}
	if want := docs.Missing(c.Says, r.out); want != "" {
		l.t.Errorf("%s:%d: %s does not print %q, but:\n%s", b.Page, b.Line, c.Line, want, r.out)
	}
}
