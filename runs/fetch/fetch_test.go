package fetch

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"bflow.dev/bflow/results"
	"bflow.dev/bflow/results/checksums"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/tasks/step"

	"github.com/google/go-cmp/cmp"
	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
)

const large = "measurements/0/requests.jsonl.gz"

func runDir(t *testing.T) (string, map[string][]byte) {
	t.Helper()
	big := make([]byte, 100_000)
	rng := rand.NewChaCha8([32]byte{1})
	rng.Read(big)
	files := map[string][]byte{"report.json": []byte(`{"a":1}`), "deployment/engine.log": nil, large: big}
	dir := t.TempDir()
	for path, data := range files {
		write(t, filepath.Join(dir, path), data)
	}
	return dir, files
}

func write(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data, 0o644); err != nil {
		t.Fatal(err)
	}
}

// tree reads all files of a folder.
func tree(t *testing.T, dir string) map[string][]byte {
	t.Helper()
	out := map[string][]byte{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		out[filepath.ToSlash(rel)], err = os.ReadFile(path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func same(t *testing.T, want, got map[string][]byte) {
	t.Helper()
	if diff := cmp.Diff(slices.Sorted(keys(want)), slices.Sorted(keys(got))); diff != "" {
		t.Fatalf("files (-want +got):\n%s", diff)
	}
	for path := range want {
		if !bytes.Equal(want[path], got[path]) {
			t.Errorf("%s differs", path)
		}
	}
}

func keys(m map[string][]byte) func(func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// quick asks for small pieces and does not wait before it tries again.
var quick = Options{piece: 7000, pause: func(int) time.Duration { return 0 }}

func TestAllFilesCome(t *testing.T) {
	dir, want := runDir(t)
	c := newCluster(t, dir)
	c.addRun("r", true)
	to := t.TempDir()
	var done, total atomic.Int64
	o := quick
	o.Progress = func(d, of int64) { done.Store(max(d, done.Load())); total.Store(of) }
	if err := o.Run(t.Context(), c.api(), "bench", "r", to); err != nil {
		t.Fatal(err)
	}
	same(t, want, tree(t, to))
	if done.Load() != 100_007 || total.Load() != 100_007 {
		t.Errorf("progress ended at %d of %d", done.Load(), total.Load())
	}
	if diff := cmp.Diff([]string{"bflow-results-abcde"}, c.deleted()); diff != "" {
		t.Errorf("the pod is deleted (-want +got):\n%s", diff)
	}
	c.requests = nil
	if err := o.Run(t.Context(), c.api(), "bench", "r", to); err != nil {
		t.Fatal(err)
	}
	if slices.ContainsFunc(c.requests, func(r string) bool { return strings.HasPrefix(r, "/files/") }) {
		t.Errorf("what is here was asked for again: %v", c.requests)
	}
}

func TestOnlyWhatIsWantedComes(t *testing.T) {
	dir, want := runDir(t)
	c := newCluster(t, dir)
	c.addRun("r", true)
	to := t.TempDir()
	only := func(path string) bool { return path == "report.json" }
	if err := Run(t.Context(), c.api(), "bench", "r", to, only); err != nil {
		t.Fatal(err)
	}
	same(t, map[string][]byte{"report.json": want["report.json"]}, tree(t, to))
}

// TestAFileThatHasChangedOnItsVolumeIsNamed: the pod serves what is there, with its sum.
func TestAFileThatHasChangedOnItsVolumeIsNamed(t *testing.T) {
	is := func(want string) func(string) bool { return func(path string) bool { return path == want } }
	for _, row := range []struct {
		name string
		only func(string) bool
		want string // part of the error, "" = none
	}{
		{"all files", nil,
			`"report.json" has 2 bytes and not the 7 that it had when the run ended; bring it back from a copy or measure ` +
				`again`},
		{"this file alone", is("report.json"), `"report.json" has 2 bytes`},
		{"another file alone", is(large), ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			dir, _ := runDir(t)
			if err := checksums.Write(t.Context(), dir); err != nil {
				t.Fatal(err)
			}
			c := newCluster(t, dir)
			c.addRun("r", true)
			to := t.TempDir()
			o := quick
			o.Only = row.only
			if err := o.Run(t.Context(), c.api(), "bench", "r", to); err != nil {
				t.Fatalf("as the run has left them: %v", err)
			}
			write(t, filepath.Join(dir, "report.json"), []byte("{}"))
			err := o.Run(t.Context(), c.api(), "bench", "r", to)
			if row.want == "" && err != nil || row.want != "" &&
				(step.Code(err) != contract.ExitUsage || !strings.Contains(err.Error(), row.want)) {
				t.Errorf("exit code %d: %v, want %q", step.Code(err), err, row.want)
			}
			if diff := cmp.Diff(2, len(c.deleted())); diff != "" {
				t.Errorf("pods that are deleted (-want +got):\n%s", diff)
			}
		})
	}
}

// TestATransferSurvives: what may pass is tried again; what does not is an error, and the next call goes on.
func TestATransferSurvives(t *testing.T) {
	var n atomic.Int64
	for _, row := range []struct {
		name  string
		fault func(http.ResponseWriter, *http.Request) bool
	}{
		{"an API server that restarts", func(w http.ResponseWriter, _ *http.Request) bool {
			if n.Add(1)%3 != 0 {
				return false
			}
			w.WriteHeader(http.StatusServiceUnavailable)
			return true
		}},
		{"connections that are cut", func(w http.ResponseWriter, r *http.Request) bool {
			if n.Add(1)%3 != 0 || r.Header.Get("Range") == "" {
				return false
			}
			w.Header().Set("Content-Length", "7000")
			w.Write([]byte("not what it should be"))
			panic(http.ErrAbortHandler)
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			dir, want := runDir(t)
			c := newCluster(t, dir)
			c.addRun("r", true)
			c.fault = row.fault
			to := t.TempDir()
			if err := quick.Run(t.Context(), c.api(), "bench", "r", to); err != nil {
				t.Fatal(err)
			}
			same(t, want, tree(t, to))
		})
	}
}

func TestATransferGoesOnWhereItStopped(t *testing.T) {
	dir, want := runDir(t)
	c := newCluster(t, dir)
	c.addRun("r", true)
	to := t.TempDir()
	c.fault = func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasPrefix(r.Header.Get("Range"), "bytes=63000-") {
			return false
		}
		http.Error(w, "gone", http.StatusForbidden)
		return true
	}
	err := quick.Run(t.Context(), c.api(), "bench", "r", to)
	if err == nil || !strings.Contains(err.Error(), large) {
		t.Fatalf("a refusal is an error that names the file: %v", err)
	}
	if len(c.deleted()) != 1 {
		t.Error("the pod stays after an error")
	}
	if _, err := os.Stat(filepath.Join(to, large)); err == nil {
		t.Error("half a file has the name of the whole")
	}
	c.fault, c.requests = func(http.ResponseWriter, *http.Request) bool { return false }, nil
	if err := quick.Run(t.Context(), c.api(), "bench", "r", to); err != nil {
		t.Fatal(err)
	}
	same(t, want, tree(t, to))
	for _, r := range c.requests {
		if strings.HasPrefix(r, "/files/"+large) && !strings.Contains(r, "bytes=63000-") && !strings.Contains(r, "bytes=7") &&
			!strings.Contains(r, "bytes=8") && !strings.Contains(r, "bytes=9") {
			t.Errorf("asked again for what had come: %s", r)
		}
	}
}

func TestDamageIsFound(t *testing.T) {
	dir, want := runDir(t)
	c := newCluster(t, dir)
	c.addRun("r", true)
	c.fault = func(w http.ResponseWriter, r *http.Request) bool {
		if !strings.HasPrefix(r.Header.Get("Range"), "bytes=0-6") {
			return false
		}
		w.WriteHeader(http.StatusPartialContent)
		w.Write(bytes.Repeat([]byte("x"), 7000))
		return true
	}
	to := t.TempDir()
	err := quick.Run(t.Context(), c.api(), "bench", "r", to)
	if err == nil || !strings.Contains(err.Error(), "checksum") {
		t.Fatalf("got %v", err)
	}
	c.fault = func(http.ResponseWriter, *http.Request) bool { return false }
	if err := quick.Run(t.Context(), c.api(), "bench", "r", to); err != nil {
		t.Fatalf("the damaged part is not gone on with: %v", err)
	}
	same(t, want, tree(t, to))
}

func TestAnInterruptedTransferLeavesNoPod(t *testing.T) {
	dir, _ := runDir(t)
	c := newCluster(t, dir)
	c.addRun("r", true)
	ctx, cancel := context.WithCancel(t.Context())
	c.fault = func(http.ResponseWriter, *http.Request) bool { cancel(); return false }
	if err := quick.Run(ctx, c.api(), "bench", "r", t.TempDir()); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if len(c.deleted()) != 1 {
		t.Error("the pod stays")
	}
}

func TestThePod(t *testing.T) {
	dir, _ := runDir(t)
	c := newCluster(t, dir)
	c.addRun("r", true, true, false) // the third attempt has not begun
	if err := quick.Run(t.Context(), c.api(), "bench", "r", t.TempDir()); err != nil {
		t.Fatal(err)
	}
	pod := c.created[0]
	got := map[string]any{
		"claim": pod.Spec.Volumes[0].PersistentVolumeClaim.ClaimName, "owner": pod.OwnerReferences[0].Name,
		"account": pod.Spec.ServiceAccountName,
		"image":   pod.Spec.Containers[0].Image, "read-only": pod.Spec.Containers[0].VolumeMounts[0].ReadOnly,
		"subpath": pod.Spec.Containers[0].VolumeMounts[0].SubPath,
		"token":   *pod.Spec.AutomountServiceAccountToken, "group": *pod.Spec.SecurityContext.FSGroup,
		"pool": pod.Spec.NodeSelector["pool"], "release": pod.Labels["bflow.dev/release"],
		"args": strings.Join(pod.Spec.Containers[0].Args[:4], " "),
	}
	want := map[string]any{
		"claim": "pvc-2", "owner": "r-a2", "account": "bflow-load", "image": "reg.example/collect@sha256:1",
		"read-only": true, "subpath": "sub",
		"token": false, "group": int64(65532), "pool": "cpu", "release": "",
		"args": "serve --run-dir=/results --listen=:8080 --idle=5m",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("pod (-want +got):\n%s", diff)
	}
}

func TestATokenIsMadeForEachTransferAndStaysHere(t *testing.T) {
	dir, _ := runDir(t)
	c := newCluster(t, dir)
	c.addRun("r", true)
	var tokens []string
	c.fault = func(_ http.ResponseWriter, r *http.Request) bool {
		tokens = append(tokens, r.Header.Get(results.HeaderToken))
		return false
	}
	o := quick
	o.Only = func(string) bool { return false } // the list of files is all that is asked for
	for range 2 {
		if err := o.Run(t.Context(), c.api(), "bench", "r", t.TempDir()); err != nil {
			t.Fatal(err)
		}
	}
	if len(tokens) != 2 || tokens[0] == tokens[1] || len(tokens[0]) < 26 {
		t.Fatalf("two transfers have asked with %d tokens", len(tokens))
	}
	for i, pod := range c.created {
		text, err := json.Marshal(pod)
		if err != nil || strings.Contains(string(text), tokens[i]) {
			t.Errorf("pod %d holds the token itself: %v", i, err)
		}
	}
}

func TestAPodThatLeadsElsewhereIsNotFollowed(t *testing.T) {
	dir, _ := runDir(t)
	c := newCluster(t, dir)
	c.addRun("r", true)
	var got atomic.Int64
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { got.Add(1) }))
	defer elsewhere.Close()
	c.fault = func(w http.ResponseWriter, r *http.Request) bool {
		http.Redirect(w, r, elsewhere.URL+"/take", http.StatusTemporaryRedirect)
		return true
	}
	cfg := c.Config()
	cfg.BearerToken = "of a person"
	err := quick.Run(t.Context(), connect(t, cfg), "bench", "r", t.TempDir())
	if err == nil || !strings.Contains(err.Error(), elsewhere.URL+"/take") {
		t.Errorf("the sentence does not name where it led: %v", err)
	}
	if got.Load() != 0 {
		t.Errorf("%d requests, with a person's token and that of the transfer, went where the pod led", got.Load())
	}
}

func TestWhyThereIsNothingToFetch(t *testing.T) {
	for _, row := range []struct {
		name, want string
		prepare    func(*cluster)
	}{
		{"no such run", `looking for the results of run "r": there is no such run in namespace "bench"`, func(*cluster) {}},
		{"a run that waits", "no task of it has started yet", func(c *cluster) { c.addRun("r", false) }},
		{"an image that cannot be pulled", "ImagePullBackOff: not found", func(c *cluster) {
			c.addRun("r", true)
			c.pod = func(p *corev1.Pod) {
				p.Status.ContainerStatuses = []corev1.ContainerStatus{
					{State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "ImagePullBackOff",
						Message: "not found"}}}}
			}
		}},
		{"a server that ends at once", "it ended: Error, exit code 1 no such folder", func(c *cluster) {
			c.addRun("r", true)
			c.pod = func(p *corev1.Pod) {
				p.Status.Phase = corev1.PodFailed
				p.Status.ContainerStatuses = []corev1.ContainerStatus{
					{State: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "Error", ExitCode: 1,
						Message: "no such folder"}}}}
			}
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			c := newCluster(t, t.TempDir())
			row.prepare(c)
			o := quick
			o.Ready = 3 * time.Second
			err := o.Run(t.Context(), c.api(), "bench", "r", t.TempDir())
			if err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("got %v, want %q", err, row.want)
			}
		})
	}
}

func TestImageOfARunThatHasNotCollected(t *testing.T) {
	dir, _ := runDir(t)
	c := newCluster(t, dir)
	c.addRun("r", true)
	c.Remove(taskRuns + "r-collect")
	c.put("/api/v1/namespaces/bench/configmaps/plan-1",
		`{"data":{"plan.json":"{\"apiVersion\":\"benchflow.io/v1alpha1\",\"kind\":\"RunPlan\",`+
			`\"images\":{\"collect\":\"reg.example/pinned\"}}"}}`)
	if err := quick.Run(t.Context(), c.api(), "bench", "r", t.TempDir()); err != nil {
		t.Fatal(err)
	}
	if image := c.created[0].Spec.Containers[0].Image; image != "reg.example/pinned" {
		t.Errorf("got %q", image)
	}
}

func TestImageOfARunThatWasCollectedElsewhere(t *testing.T) {
	task := &tektonv1.TaskSpec{Steps: []tektonv1.Step{
		{Image: "reg.example/provision", Args: []string{"exec", "--image=x", "--files-image=reg.example/collect", "--"}}}}
	if image := firstImage(task); image != "reg.example/collect" {
		t.Errorf("got %q", image)
	}
}
