package app

import (
	"path/filepath"
	"strings"
	"testing"

	"bflow.dev/bflow/internal/apitest"
	"bflow.dev/bflow/internal/eventually"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/runs/gitsource/gittest"
)

func TestAnExperimentOfARepository(t *testing.T) {
	r := gittest.Serve(t, "")
	commit := r.Commit("bench/small.yaml", smallExperiment)
	r.Push("refs/heads/main")
	fork := r.Commit("bench/small.yaml", smallExperiment+"\n# theirs\n")
	r.Push("refs/pull/1/head")
	d := newDesk(t, map[string]string{
		"git-url": r.URL, "revision": "main", "path": "bench/small.yaml", "trusted-only": "true", "wait": "false",
	})
	if code := d.step(eventually.Context(t)); code != 0 {
		t.Fatalf("exit code %d\n%s", code, d.err.String())
	}
	notes := d.srv.Get(d.children()[0])["metadata"].(apitest.Object)["annotations"].(apitest.Object)
	if want := r.URL + "@" + commit + ":bench/small.yaml"; notes[contract.AnnotationSource] != want {
		t.Errorf("source %v, want %s", notes[contract.AnnotationSource], want)
	}
	if left, _ := filepath.Glob(filepath.Join(d.dir, "bflow-git-*")); len(left) > 0 {
		t.Errorf("left behind: %v", left)
	}

	// The branch moves on: a second try goes by the commit of the first.
	r.Git(r.Work, "checkout", "-q", commit)
	r.Commit("bench/small.yaml", strings.Replace(smallExperiment, "rate: 10", "rate: 11", 1))
	r.Push("refs/heads/main")
	if code := d.step(eventually.Context(t)); code != 0 || len(d.children()) != 1 {
		t.Errorf("exit code %d, runs %v\n%s", code, d.children(), d.err.String())
	}

	d = newDesk(t, map[string]string{
		"git-url": r.URL, "revision": "refs/pull/1/head", "path": "bench/small.yaml", "trusted-only": "true",
	})
	if code := d.step(eventually.Context(t)); code != 1 || len(d.children()) > 0 {
		t.Errorf("a fork: exit code %d, runs %v", code, d.children())
	}
	d.says("commit "+fork+" is on no branch of the repository", "it may come from a fork")
}

// TestALiteralCredentialIsNeverReadBack: the answer to a patch is the whole Secret.
func TestALiteralCredentialIsNeverReadBack(t *testing.T) {
	text := strings.Replace(smallExperiment, "  load: {data: {input: 16, output: 4}, stages: [{rate: 10, duration: 2s}]}", `  benchmark_profile: own
---
apiVersion: bflow.dev/v1alpha1
kind: BenchmarkProfile
metadata: {name: own}
spec:
  guidellm: {backend: {api_key: abc}, profile: {kind: concurrent, streams: [4]}, constraint: [{kind: max_requests, count: 10}]}`, 1)
	d := newDesk(t, map[string]string{"experiment": text, "wait": "false"})
	if code := d.step(eventually.Context(t)); code != 0 {
		t.Fatalf("exit code %d\n%s", code, d.err.String())
	}
	made := d.srv.List("/api/v1/namespaces/bench/secrets/")
	if len(made) != 1 {
		t.Fatalf("Secrets %v", made)
	}
	owners := d.srv.Get(made[0])["metadata"].(apitest.Object)["ownerReferences"].([]any)
	if len(owners) != 1 || owners[0].(apitest.Object)["name"] != starter {
		t.Errorf("owners %v", owners)
	}
	for _, q := range d.srv.Requests() {
		if q.Resource == "secrets" && q.Verb != "create" {
			t.Errorf("%s", q)
		}
	}
}
