//go:build e2e

package cluster

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/cgi"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// TestEventsRunExperiments sends events to the listener that bootstrap has made: what they start ends with a verdict,
// and its runs have the plan that bflow run would give them.
func TestEventsRunExperiments(t *testing.T) {
	l := newListener(newLab(t), namespace)
	if _, err := l.core.CoreV1().Services(namespace).Get(t.Context(), "el-bflow", metav1.GetOptions{}); err != nil {
		t.Fatalf("there is no listener: bflow bootstrap makes one where Tekton Triggers is: %v", err)
	}
	values := l.ownSecret()
	want := planHash(l.lab, small)
	longer := planHash(l.lab, strings.Replace(small, "output: 8", "output: 9", 1))

	t.Run("a signed webhook runs the experiment in it", func(t *testing.T) {
		l := l.in(t)
		pr := l.trigger(event{Key: "webhook", Body: object(map[string]any{"experiment": small, "author": "e2e"})}, values)
		l.checkRun(pr, want, "webhook by e2e")
	})
	t.Run("a webhook with overrides runs another plan", func(t *testing.T) {
		l := l.long(t)
		pr := l.trigger(event{Key: "webhook",
			Body: object(map[string]any{"experiment": small, "overrides": []string{"load.data.output=9"}})}, values)
		l.checkRun(pr, longer, "webhook by unknown")
	})
	t.Run("an experiment that is no YAML fails with the place", func(t *testing.T) {
		l := l.in(t)
		pr := l.trigger(event{Key: "webhook", Body: object(map[string]any{"experiment": "kind: Experiment\n\"}]}}: ["})},
			values)
		l.checkRefusal(pr, "experiment:2")
	})
	t.Run("a webhook that starts nothing is told of in an event", func(t *testing.T) {
		l := l.in(t)
		dropped := event{Key: "webhook",
			Body: object(map[string]any{"experiment": small, "overrides": []string{"load.stages[1].rate"}}),
			Tells: "Dropped: the webhook starts nothing: one of overrides is not of the form PATH=VALUE, such as " +
				"load.stages[1].rate=20"}
		id, err := l.send(dropped, sign(dropped, values))
		if err != nil {
			t.Fatal(err)
		}
		l.tells(dropped, id, values)
	})
	t.Run("git", func(t *testing.T) { l.git(t, want, values) })
}

// git sends events that name a repository. Without one they are skipped, and the tests before them are not.
func (l *listener) git(t *testing.T, want string, values map[string]string) {
	repository := serveGit(t)
	push := repository.commit("main", map[string]string{".bflow/push.yaml": small, "bench/gate.yaml": small})
	fork := repository.commit("refs/pull/7/head", map[string]string{
		"bench/gate.yaml": strings.Replace(small, "rate: 20", "rate: 21", 1),
	})
	_ = repository.commit("refs/pull/8/head", nil) // of a branch of the repository itself

	t.Run("a push runs the experiment of the repository", func(t *testing.T) {
		l := l.in(t)
		pr := l.trigger(event{Key: "github", Header: map[string]string{"X-GitHub-Event": "push"}, Body: object(map[string]any{
			"ref": "refs/heads/main", "after": push, "deleted": false, "sender": map[string]any{"login": "jane"},
			"repository": map[string]any{"clone_url": repository.url, "default_branch": "main"}})}, values)
		l.checkRun(pr, want, "github-push by jane")
	})
	comment := func(number int) event {
		return event{Key: "github", Header: map[string]string{"X-GitHub-Event": "issue_comment"}, Body: object(map[string]any{
			"action": "created", "issue": map[string]any{"number": number, "state": "open", "pull_request": map[string]any{}},
			"comment": map[string]any{"body": "/bflow run bench/gate.yaml", "author_association": "MEMBER",
				"user": map[string]any{"login": "jane"}},
			"repository": map[string]any{"clone_url": repository.url}, "sender": map[string]any{"login": "jane"}})}
	}
	t.Run("a comment runs the experiment of a pull request of the repository itself", func(t *testing.T) {
		l := l.long(t)
		l.checkRun(l.trigger(comment(8), values), want, "github-comment by jane")
	})
	t.Run("a comment on a pull request of a fork runs nothing", func(t *testing.T) {
		l := l.in(t)
		l.checkRefusal(l.trigger(comment(7), values), "commit "+fork+" is on no branch of the repository")
	})
	t.Run("the example for Pipelines-as-Code runs the experiment of the repository", func(t *testing.T) {
		l := l.long(t)
		l.checkRun(l.asCode(repository.url, push), want, "pull request 8 of team/models by jane")
	})
}

// long is in for a test that the short suite leaves out.
func (l *listener) long(t *testing.T) *listener {
	t.Helper()
	if testing.Short() {
		t.Skip("it is one more run of the same kind: make e2e-full has it")
	}
	return l.in(t)
}

func object(fields map[string]any) json.RawMessage {
	text, err := json.Marshal(fields)
	if err != nil {
		panic(err)
	}
	return text
}

// in returns l for a test inside another. They run one after the other: each load generator asks for a core.
func (l *listener) in(t *testing.T) *listener {
	t.Helper()
	return &listener{l.lab.in(t), l.core, l.namespace}
}

// ownSecret returns the keys of webhookSecret, which it makes for the time of the test where there is none.
func (l *listener) ownSecret() map[string]string {
	l.t.Helper()
	client := l.core.CoreV1().Secrets(l.namespace)
	made, err := client.Create(l.t.Context(),
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: webhookSecret}, StringData: keys()}, metav1.CreateOptions{})
	switch {
	case err == nil:
		l.t.Cleanup(func() {
			ctx, cancel := afterwards()
			defer cancel()
			if err := client.Delete(ctx, made.Name, metav1.DeleteOptions{}); err != nil {
				l.t.Error(err)
			}
		})
	case errors.IsAlreadyExists(err):
		made, err = client.Get(l.t.Context(), webhookSecret, metav1.GetOptions{})
	}
	if err != nil {
		l.t.Fatal(err)
	}
	values := map[string]string{}
	for k, v := range made.Data {
		values[k] = string(v)
	}
	return values
}

// planHash is the hash that bflow run gives to the one plan of an experiment.
func planHash(l *lab, text string) string {
	l.t.Helper()
	var plans []struct{ Hash string }
	out := l.must("plan", l.write("plan.yaml", text), "-o", "json")
	if err := json.Unmarshal([]byte(out), &plans); err != nil || len(plans) != 1 {
		l.t.Fatalf("%v in %s", err, out)
	}
	return plans[0].Hash
}

// trigger sends an event and returns the name of the PipelineRun that it starts. Interceptors remember for some seconds
// that there was no Secret, so it is sent again, each time later: on a busy host an earlier one may only be slow, and
// what that starts after all is deleted.
func (l *listener) trigger(e event, values map[string]string) string {
	l.t.Helper()
	var ids []string
	var name string
	wait := 5 * time.Second
	l.awaitAnswer(10*time.Minute, "the event to start something", func() string {
		id, err := l.send(e, sign(e, values))
		if err != nil {
			return err.Error()
		}
		ids = append(ids, id)
		name, err = l.first(ids, wait)
		wait *= 2
		if err != nil {
			return err.Error()
		}
		return ""
	})
	for _, id := range ids {
		for _, pr := range l.runsOf(id) {
			if pr.GetName() != name {
				l.delete(pr.GetName())
			}
		}
	}
	return l.deleteAfterwards(name)
}

// first waits until one of the events has started something.
func (l *listener) first(ids []string, wait time.Duration) (name string, err error) {
	l.t.Helper()
	over := time.After(wait)
	for {
		changed := l.changed()
		for _, id := range ids {
			if made := l.runsOf(id); len(made) > 0 {
				return made[0].GetName(), nil
			}
		}
		select {
		case <-over:
			return "", fmt.Errorf("none of events %q has started anything", ids)
		case <-changed:
		}
	}
}

// delete deletes a PipelineRun, and its runs with it.
func (l *listener) delete(name string) {
	ctx, cancel := afterwards()
	defer cancel()
	_ = l.api.Resource(pipelineRuns).Namespace(l.namespace).Delete(ctx, name, metav1.DeleteOptions{})
}

// deleteAfterwards deletes a PipelineRun, and its runs with it, when the test is over.
func (l *listener) deleteAfterwards(name string) string {
	l.t.Cleanup(func() { l.delete(name) })
	return name
}

// checkRun waits until the PipelineRun of bflow-experiment is done, and compares what it says with what its one run is.
func (l *listener) checkRun(name, hash, by string) {
	l.t.Helper()
	l.of(name).waitForEnd(20 * time.Minute)
	parent := l.run(name)
	if status, reason := condition(parent); status != "True" {
		l.t.Fatalf("%s ended with %s\n%s", name, reason, l.log(name))
	}
	got := results(parent)
	if !measured(got["verdict"]) || got["plan-hashes"] != hash || strings.Contains(got["runs"], ",") {
		l.t.Errorf("%s has the results %v, want one measured run with plan %s", name, got, hash)
	}
	run := l.run(got["runs"])
	if label := run.GetLabels()["bflow.dev/plan-hash"]; !strings.HasPrefix(hash, label) || label == "" {
		l.t.Errorf("run %s has plan %s, want %s", run.GetName(), label, hash)
	}
	if said := run.GetAnnotations()["bflow.dev/started-by"]; said != by {
		l.t.Errorf("run %s was started by %q, want %q", run.GetName(), said, by)
	}
	l.of(run.GetName()).nothingLeft(beforeForce)
}

// checkRefusal waits until the PipelineRun has failed for the reason why, without a run.
func (l *listener) checkRefusal(name, why string) {
	l.t.Helper()
	l.of(name).waitForEnd(20 * time.Minute)
	if status, _ := condition(l.run(name)); status != "False" {
		l.t.Fatalf("%s ended with %s", name, status)
	}
	if text := l.log(name); !strings.Contains(text, why) {
		l.t.Errorf("%s does not say %q:\n%s", name, why, text)
	}
	if runs := l.list(pipelineRuns, "bflow.dev/parent="+name); len(runs) > 0 {
		l.t.Errorf("%s has made %s", name, runs[0].GetName())
	}
}

// asCode starts the example for Pipelines-as-Code, filled in as that would do.
func (l *listener) asCode(url, revision string) string {
	l.t.Helper()
	text, err := os.ReadFile("../../examples/ci/pipelines-as-code.yaml")
	if err != nil {
		l.t.Fatal(err)
	}
	filled := strings.NewReplacer("{{ repo_url }}", url, "{{ revision }}", revision, "{{ pull_request_number }}", "8",
		"{{ repo_owner }}", "team", "{{ repo_name }}", "models", "{{ sender }}", "jane").Replace(string(text))
	var pr unstructured.Unstructured
	if err := yaml.Unmarshal([]byte(filled), &pr.Object); err != nil {
		l.t.Fatal(err)
	}
	pr.SetGenerateName(pr.GetName() + "-")
	pr.SetName("")
	made, err := l.api.Resource(pipelineRuns).Namespace(l.namespace).Create(l.t.Context(), &pr, metav1.CreateOptions{})
	if err != nil {
		l.t.Fatal(err)
	}
	return l.deleteAfterwards(made.GetName())
}

// results of a PipelineRun.
func results(pr *unstructured.Unstructured) map[string]string {
	got := map[string]string{}
	list, _, _ := unstructured.NestedSlice(pr.Object, "status", "results")
	for _, item := range list {
		if r, ok := item.(map[string]any); ok {
			got[fmt.Sprint(r["name"])] = fmt.Sprint(r["value"])
		}
	}
	return got
}

// log is what the pods of a PipelineRun have written.
func (l *listener) log(name string) string {
	l.t.Helper()
	var all bytes.Buffer
	for _, p := range l.list(pods, "tekton.dev/pipelineRun="+name) {
		text, err := l.core.CoreV1().Pods(l.namespace).GetLogs(p.GetName(),
			&corev1.PodLogOptions{Container: "step-experiment"}).DoRaw(l.t.Context())
		fmt.Fprintf(&all, "%s\n", text)
		if err != nil {
			fmt.Fprintln(&all, err)
		}
	}
	return all.String()
}

// repository is one on a git server of this process.
type repository struct {
	t         *testing.T
	work, url string
}

// serveGit serves an empty repository where pods reach it.
func serveGit(t *testing.T) *repository {
	t.Helper()
	host := os.Getenv("BFLOW_E2E_HOST")
	if host == "" {
		t.Skip("BFLOW_E2E_HOST is no address of this machine that pods reach: nothing is read from git")
	}
	exe, err := exec.Command("git", "--exec-path").Output()
	if err != nil {
		t.Skipf("there is no git to serve a repository with: %v", err)
	}
	root := t.TempDir()
	server := &http.Server{ReadHeaderTimeout: time.Minute,
		Handler: &cgi.Handler{Path: filepath.Join(strings.TrimSpace(string(exe)), "git-http-backend"),
			Env: []string{"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1"}, InheritEnv: []string{"PATH"}}}
	socket, err := net.Listen("tcp", net.JoinHostPort(host, "0"))
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = server.Serve(socket) }()
	t.Cleanup(func() { _ = server.Close() })
	r := &repository{t: t, work: t.TempDir(), url: "http://" + socket.Addr().String() + "/models.git"}
	bare := filepath.Join(root, "models.git")
	r.git("init", "-q", "--bare", "-b", "main", bare)
	r.git("-C", bare, "config", "uploadpack.allowFilter", "true")
	r.git("-C", bare, "config", "uploadpack.allowAnySHA1InWant", "true")
	r.git("init", "-q", "-b", "main", r.work)
	r.git("-C", r.work, "remote", "add", "origin", bare)
	return r
}

// commit writes files on top of what is there and pushes that to a ref, which makes it one of the repository when it is
// a branch. The work goes on from branches only.
func (r *repository) commit(ref string, files map[string]string) string {
	r.t.Helper()
	for name, text := range files {
		path := filepath.Join(r.work, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			r.t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			r.t.Fatal(err)
		}
	}
	if len(files) > 0 {
		r.git("-C", r.work, "add", "-A")
		r.git("-C", r.work, "-c", "user.name=e2e", "-c", "user.email=e2e@example.com", "commit", "-q", "-m", ref)
	}
	hash := r.git("-C", r.work, "rev-parse", "HEAD")
	r.git("-C", r.work, "push", "-q", "origin", "HEAD:"+ref)
	if strings.HasPrefix(ref, "refs/pull/") && len(files) > 0 {
		r.git("-C", r.work, "reset", "-q", "--hard", "HEAD^")
	}
	return hash
}

func (r *repository) git(args ...string) string {
	r.t.Helper()
	out, err := exec.Command("git", args...).CombinedOutput()
	if err != nil {
		r.t.Fatalf("git %q: %v\n%s", args, err, out)
	}
	return strings.TrimSpace(string(out))
}
