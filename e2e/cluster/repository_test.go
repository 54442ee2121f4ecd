//go:build e2e

package cluster

import (
	"context"
	"os"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/runs/gitsource/gittest"
)

// TestAnExperimentOfARepositoryAndOneOfAFork serves a repository from this host.
func TestAnExperimentOfARepositoryAndOneOfAFork(t *testing.T) {
	host := os.Getenv("BFLOW_E2E_HOST")
	if host == "" {
		t.Skip("BFLOW_E2E_HOST names no address at which pods reach this host")
	}
	l := newLab(t)
	r := gittest.ServeOn(t, host, "s3cret")
	l.secret(contract.SecretGit, r.Host, "s3cret")
	commit := r.Commit("bench/brief.yaml", brief)
	r.Push("refs/heads/main")
	r.Commit("bench/brief.yaml", brief+"# of a fork\n")
	r.Push("refs/pull/1/head")
	ask := map[string]string{
		contract.ParamGitURL: r.URL, contract.ParamRevision: "main", contract.ParamPath: "bench/brief.yaml",
		contract.ParamTrustedOnly: "true",
	}
	pr := l.starts(ask)
	l.of(pr).waitForEnd(20 * time.Minute)
	if said := l.of(pr).results(); !measured(said[contract.ResultVerdict]) {
		t.Fatalf("results %v, log:\n%s", said, l.tkn("pipelinerun", "logs", pr))
	}
	run := l.of(pr).child()
	if got, want := l.run(run).GetAnnotations()[contract.AnnotationSource],
		r.URL+"@"+commit+":bench/brief.yaml"; got != want {
		t.Errorf("source %s, want %s", got, want)
	}
	ask[contract.ParamRevision] = "refs/pull/1/head"
	pr = l.starts(ask)
	l.of(pr).waitForEnd(20 * time.Minute)
	if logs := l.tkn("pipelinerun", "logs", pr); !strings.Contains(logs, "it may come from a fork") ||
		len(l.of(pr).children()) > 0 {
		t.Errorf("runs %v, log:\n%s", l.of(pr).children(), logs)
	}
}

// secret makes a Secret with one key, for the time of the test.
func (l *lab) secret(name, key, value string) {
	l.t.Helper()
	secret := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "Secret", "metadata": map[string]any{"name": name},
		"stringData": map[string]any{key: value},
	}}
	if _, err := l.api.Resource(secrets).Namespace(namespace).Create(l.t.Context(), secret,
		metav1.CreateOptions{}); err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() {
		_ = l.api.Resource(secrets).Namespace(namespace).Delete(context.WithoutCancel(l.t.Context()), name,
			metav1.DeleteOptions{})
	})
}

// TestALiteralCredentialGoesWithItsExperiment: it becomes a Secret that the PipelineRun owns.
func TestALiteralCredentialGoesWithItsExperiment(t *testing.T) {
	l := newLab(t)
	text := strings.NewReplacer("name: brief", "name: literal", "  load: {data: {input: 16, output: 4}, stages: [{rate: 20, duration: 2s}]}", `  benchmark_profile: own
---
apiVersion: bflow.dev/v1alpha1
kind: BenchmarkProfile
metadata: {name: own}
spec:
  guidellm: {backend: {api_key: abc}, profile: {kind: concurrent, streams: [4]}, constraint: [{kind: max_duration, seconds: 600}]}`).Replace(brief)
	parent := l.starts(map[string]string{contract.ParamExperiment: text})
	run := l.of(parent).child()
	owned := func() string {
		for _, s := range l.list(secrets, contract.LabelExperiment+"=literal") {
			if ownedBy(&s, parent) {
				return s.GetName()
			}
		}
		return ""
	}
	if owned() == "" {
		t.Error("no Secret belongs to the PipelineRun")
	}
	deletion(l, parent)
	l.of(run).gone()
	l.await(10*time.Minute, "the Secret to be gone", owned)
	l.of(run).nothingLeft(beforeForce)
}
