package remotetask

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"bflow.dev/bflow/internal/apitest"
	"bflow.dev/bflow/internal/eventually"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/tasks/step"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

func TestALoadRunsAwayAsIfItRanHere(t *testing.T) {
	g := newTarget(t, load(5, 30*time.Millisecond))
	h := newHub(t, g)
	event(h.dir, "ready")
	put(h.dir, "measurements/0/loadgen.json", "of an earlier attempt")
	if err := h.exec(contract.LoadGen, "--measurement=0"); err != nil {
		t.Fatalf("%v: %s", err, h.out.String())
	}
	want := []string{"load-gen: step 1", "load-gen: step 2", "load-gen: step 3", "load-gen: step 4", "load-gen: step 5"}
	if diff := cmp.Diff(want, h.lines()); diff != "" {
		t.Errorf("the log (-want +got):\n%s", diff)
	}
	if rows := h.file("measurements/0/requests.jsonl.gz"); rows != strings.Repeat("row\n", 20_000) {
		t.Errorf("%d bytes of rows", len(rows))
	}
	if old := h.file("measurements/0/attempt-1/loadgen.json"); old != "of an earlier attempt" {
		t.Errorf("the attempt before: %q", old)
	}
	if words := words(t, h); words != "ready stage_started stage_ended" {
		t.Errorf("events: %s", words)
	}
	h.clean()
}

// words are the events of a run.
func words(t *testing.T, h *hub) string {
	t.Helper()
	var all []string
	for line := range strings.Lines(h.file(contract.FileEvents)) {
		var e step.Event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		all = append(all, e.Event)
	}
	return strings.Join(all, " ")
}

// TestTheJob is restricted, has no rights, and holds nothing that is secret.
func TestTheJob(t *testing.T) {
	var job batchv1.Job
	var secret corev1.Secret
	g := newTarget(t, load(1, 0))
	g.OnCreate(func(q apitest.Request, made apitest.Object) {
		switch q.Resource {
		case "jobs":
			job = as[batchv1.Job](t, made)
		case "secrets":
			secret = as[corev1.Secret](t, made)
		}
	})
	h := newHub(t, g)
	l := h.launcher(contract.LoadGen, map[string]string{contract.EnvHub: "hub-1", contract.EnvAPIKey: "sk-1"},
		"--measurement=0")
	if err := l.once(t.Context()); err != nil {
		t.Fatalf("%v: %s", err, h.out.String())
	}
	pod, task := job.Spec.Template.Spec, job.Spec.Template.Spec.Containers[0]
	got := map[string]any{
		"account": pod.ServiceAccountName, "token": *pod.AutomountServiceAccountToken, "restart": pod.RestartPolicy,
		"tries":    *job.Spec.BackoffLimit,
		"deadline": *job.Spec.ActiveDeadlineSeconds, "kept": *job.Spec.TTLSecondsAfterFinished,
		"hosts":  strings.Join(pod.HostAliases[0].Hostnames, " "),
		"owners": len(job.OwnerReferences), "role": job.Labels[contract.LabelRole], "hub": job.Labels[contract.LabelHub],
		"run":  job.Labels[contract.LabelRun],
		"room": pod.Volumes[0].EmptyDir.SizeLimit.String(), "command": strings.Join(append(task.Command, task.Args...), " "),
		"key": task.Env[2].ValueFrom.SecretKeyRef.Name, "secret's owner": secret.OwnerReferences[0].Name,
		"begins": *job.Spec.Suspend,
	}
	want := map[string]any{
		"account": "bflow-load", "token": false, "restart": corev1.RestartPolicyNever, "tries": int32(0),
		"deadline": int64(24*3600 + 120), "kept": int32(3600),
		"hosts": "a.example b.example", "owners": 0, "role": "load", "hub": "hub-1", "run": "p-1", "room": "10Gi",
		"command": "/load-gen --plan-dir=/var/run/bflow/plan --run-dir=/var/run/bflow/run --run-id=p-1 --attempt=1 " +
			"--endpoint=http://engine.bench.svc:8000 --measurement=0",
		"key": job.Name, "secret's owner": job.Name, "begins": true,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("job (-want +got):\n%s", diff)
	}
	text, _ := json.Marshal(job)
	for _, hidden := range []string{"sk-1", string(secret.Data["token"])} {
		if strings.Contains(string(text), hidden) || strings.Contains(h.out.String(), hidden) {
			t.Errorf("a credential is written down")
		}
	}
	for _, c := range pod.Containers {
		s := c.SecurityContext
		if *s.AllowPrivilegeEscalation || !*s.ReadOnlyRootFilesystem || s.Capabilities.Drop[0] != "ALL" ||
			!*pod.SecurityContext.RunAsNonRoot ||
			pod.SecurityContext.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault || len(c.Resources.Limits) != 2 {
			t.Errorf("container %s is not restricted: %+v", c.Name, s)
		}
	}
}

func TestTheExitCodeOfTheTaskIsThatOfTheStep(t *testing.T) {
	g := newTarget(t, func(_ context.Context, dir string, say func(string)) int {
		put(dir, contract.FileSmoketest, "{}")
		say("smoketest: checking: it serves another model")
		return contract.ExitUnhealthy
	})
	h := newHub(t, g)
	err := h.exec(contract.Smoketest)
	if step.Code(err) != contract.ExitUnhealthy || !strings.Contains(err.Error(),
		`smoketest ended with exit code 3 on target "lab"`) {
		t.Errorf("got %v", err)
	}
	if h.file(contract.FileSmoketest) != "{}" || len(h.lines()) != 1 {
		t.Errorf("result %q, log %q", h.file(contract.FileSmoketest), h.lines())
	}
	again := h.exec(contract.Smoketest)
	if step.Code(again) != contract.ExitUnhealthy || again.Error() != err.Error() || g.ran != 1 {
		t.Errorf("when Tekton repeats it: %v, run %d times", again, g.ran)
	}
	h.clean()
}

func TestALoadThatIsKilledSaysHow(t *testing.T) {
	for _, row := range []struct{ name, reason, said, result string }{
		{"memory ran out", "OOMKilled", `load-gen was killed on target "lab", because memory ran out (exit code 137)`,
			`load-gen was killed: out of memory (limit 4Gi) in stage "ramp" after 37 s`},
		{"nobody knows why", "Error",
			`load-gen was killed on target "lab", by somebody or because memory ran out (exit code 137)`,
			`load-gen was killed (signal 9) in stage "ramp" after 37 s`},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			g := newTarget(t, func(_ context.Context, dir string, _ func(string)) int {
				put(dir, "measurements/0/loadgen.json",
					`{"schema":"bflow.loadgen/1","attempt":1,"start_ns":7,"memory_limit_bytes":4294967296}`)
				put(dir, "measurements/0/progress.json", `{"stages":2,"stage":1,"name":"ramp","elapsed_s":37.2}`)
				return 137
			})
			g.ended = row.reason
			h := newHub(t, g)
			if err := h.exec(contract.LoadGen, "--measurement=0"); step.Code(err) != 137 ||
				!strings.Contains(err.Error(), row.said) {
				t.Errorf("got %v", err)
			}
			var l struct {
				Start  int64 `json:"start_ns"`
				Killed bool
				Error  string
			}
			if err := json.Unmarshal([]byte(h.file("measurements/0/loadgen.json")), &l); err != nil {
				t.Fatal(err)
			}
			if !l.Killed || l.Start != 7 || !strings.HasPrefix(l.Error, row.result) {
				t.Errorf("the result says %+v", l)
			}
			h.clean()
		})
	}
}

func TestWhatATaskNeedsIsThereBeforeItBegins(t *testing.T) {
	g := newTarget(t, func(_ context.Context, dir string, _ func(string)) int {
		var seen []string
		err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
			if rel, _ := filepath.Rel(dir, path); err == nil && !d.IsDir() {
				seen = append(seen, rel)
			}
			return err
		})
		if err != nil {
			return 1
		}
		put(dir, contract.FileReport, strings.Join(seen, " "))
		event(dir, "collected")
		return 0
	})
	h := newHub(t, g)
	event(h.dir, "ready")
	noteNode(h.dir, "node-7")
	var near *corev1.Affinity
	g.OnCreate(func(q apitest.Request, made apitest.Object) {
		if q.Resource == "jobs" {
			near = as[batchv1.Job](t, made).Spec.Template.Spec.Affinity
		}
	})
	for _, path := range []string{"measurements/0/requests.jsonl.gz", contract.FileEndpoint, contract.FileEngineLog,
		"deployment/logs/a.log", "measurements/0/.x.part2"} {
		put(h.dir, path, strings.Repeat(path, 1000))
	}
	if err := h.exec(contract.Collect); err != nil {
		t.Fatalf("%v: %s", err, h.out.String())
	}
	if got, want := h.file(contract.FileReport),
		"deployment/endpoint.json measurements/0/requests.jsonl.gz plan.json"; got != want {
		t.Errorf("it saw %s, want %s", got, want)
	}
	if near == nil ||
		near.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution[0].Preference.MatchFields[0].Values[0] != "node-7" {
		t.Errorf("it does not go where the load was: %+v", near)
	}
	if words := words(t, h); words != "ready collected" {
		t.Errorf("events: %s", words)
	}
	h.clean()
}

// TestATargetThatIsNowAndThenAway: nothing is lost and nothing comes twice, whatever breaks on the way.
func TestATargetThatIsNowAndThenAway(t *testing.T) {
	for seed := range uint64(8) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			t.Parallel()
			var mu sync.Mutex
			rng := rand.New(rand.NewPCG(seed, 2))
			often := func(n int) bool { mu.Lock(); defer mu.Unlock(); return rng.IntN(n) == 0 }
			g := newTarget(t, load(10, 40*time.Millisecond))
			g.grace = time.Second // its results server may never hear that it is to end, and nothing is fetched by then
			g.Refuse(g.watchPatches(func(apitest.Request) (int, string) {
				if often(5) {
					return []int{500, 503, 429, 401}[seed%4], "not now"
				}
				return 0, ""
			}))
			g.cut = func(w http.ResponseWriter, r *http.Request) bool {
				switch {
				case often(6):
					panic(http.ErrAbortHandler)
				case often(6):
					rec := httptest.NewRecorder()
					g.mu.Lock()
					files, pod := g.files, g.pod
					g.mu.Unlock()
					if files == nil {
						return false
					}
					http.StripPrefix("/bench/"+pod+":8080", files).ServeHTTP(rec, r)
					w.Header().Set("Content-Length", fmt.Sprint(rec.Body.Len()+1))
					w.WriteHeader(rec.Code)
					w.Write(rec.Body.Bytes()[:rec.Body.Len()/2])
					panic(http.ErrAbortHandler)
				}
				return false
			}
			broken, stop := context.WithCancel(t.Context())
			defer stop()
			go func() {
				for broken.Err() == nil {
					g.Break()
					if often(4) {
						g.Down(true)
						time.Sleep(50 * time.Millisecond) //nolint:forbidigo // the outage itself
						g.Down(false)
					}
					time.Sleep(60 * time.Millisecond) //nolint:forbidigo // the time between outages
				}
			}()
			h := newHub(t, g)
			if err := h.exec(contract.LoadGen, "--measurement=0"); err != nil {
				t.Fatalf("%v: %s", err, h.out.String())
			}
			stop()
			var want []string
			for i := range 10 {
				want = append(want, fmt.Sprintf("load-gen: step %d", i+1))
			}
			if diff := cmp.Diff(want, h.lines()); diff != "" {
				t.Errorf("the log (-want +got):\n%s", diff)
			}
			if rows := h.file("measurements/0/requests.jsonl.gz"); rows != strings.Repeat("row\n", 20_000) || g.ran != 1 {
				t.Errorf("%d bytes of rows, run %d times", len(rows), g.ran)
			}
			if words := words(t, h); words != "stage_started stage_ended" {
				t.Errorf("events: %s", words)
			}
			h.clean()
		})
	}
}

func TestProgressIsSeenWhileTheTaskRuns(t *testing.T) {
	seen := make(chan struct{})
	var h *hub
	g := newTarget(t, func(ctx context.Context, dir string, _ func(string)) int {
		put(dir, "measurements/0/progress.json", `{"done":1}`)
		event(dir, "stage_started")
		if !eventually.Happens(ctx, func() bool {
			return h.file("measurements/0/progress.json") == `{"done":1}` &&
				strings.Contains(h.file(contract.FileEvents), "stage_started")
		}) {
			return 1
		}
		close(seen)
		return 0
	})
	h = newHub(t, g)
	if err := h.exec(contract.LoadGen); err != nil {
		t.Fatal(err)
	}
	<-seen
}

// TestALauncherThatIsMovedFindsItsJob: the load is put once.
func TestALauncherThatIsMovedFindsItsJob(t *testing.T) {
	g := newTarget(t, load(20, 30*time.Millisecond))
	h := newHub(t, g)
	h.goesOn = true
	ctx, move := context.WithCancel(t.Context())
	first := make(chan error, 1)
	l := h.launcher(contract.LoadGen, nil)
	go func() { first <- l.once(ctx) }()
	eventually.True(t, "the load runs", func() bool { return strings.Contains(h.out.String(), "step 3") })
	move()
	if err := <-first; step.Code(err) != contract.ExitInterrupted ||
		!strings.Contains(err.Error(), "waits for its next launcher") {
		t.Fatalf("got %v", err)
	}
	if len(g.List(jobsAt)) != 1 {
		t.Fatal("the Job is gone")
	}
	if err := h.launcher(contract.LoadGen, nil).once(t.Context()); err != nil {
		t.Fatalf("%v: %s", err, h.out.String())
	}
	if !strings.Contains(h.out.String(), "was launched before: resuming it") || g.ran != 1 {
		t.Errorf("run %d times: %s", g.ran, h.out.String())
	}
	if words := words(t, h); words != "stage_started stage_ended" {
		t.Errorf("events: %s", words)
	}
	h.clean()
}

// TestALauncherMayDieAtAnyRequest: after each of its first requests in turn, the next one takes over.
func TestALauncherMayDieAtAnyRequest(t *testing.T) {
	for k := range int64(12) {
		t.Run(fmt.Sprintf("after %d requests", k), func(t *testing.T) {
			t.Parallel()
			g := newTarget(t, load(3, 20*time.Millisecond))
			h := newHub(t, g)
			h.goesOn = true
			var asked atomic.Int64
			ctx, die := context.WithCancel(t.Context())
			defer die()
			g.Refuse(g.watchPatches(func(apitest.Request) (int, string) {
				if asked.Add(1) == k+1 {
					die()
				}
				return 0, ""
			}))
			err := h.launcher(contract.LoadGen, nil).once(ctx)
			if err == nil {
				return // it was over before
			}
			if err := h.launcher(contract.LoadGen, nil).once(t.Context()); err != nil {
				t.Fatalf("%v: %s", err, h.out.String())
			}
			if g.ran != 1 || h.file("measurements/0/requests.jsonl.gz") == "" {
				t.Errorf("run %d times: %s", g.ran, h.out.String())
			}
			h.clean()
		})
	}
}

func TestACancelledLoadKeepsWhatItMeasured(t *testing.T) {
	g := newTarget(t, load(1000, 20*time.Millisecond))
	h := newHub(t, g)
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		eventually.Happens(ctx, func() bool { return strings.Contains(h.out.String(), "step 3") })
		cancel()
	}()
	err := h.launcher(contract.LoadGen, nil).once(ctx)
	if step.Code(err) != contract.ExitInterrupted || !strings.Contains(h.out.String(), "load-gen: interrupted") {
		t.Errorf("got %v: %s", err, h.out.String())
	}
	if text := h.file("measurements/0/loadgen.json"); !strings.Contains(text, `"interrupted":true`) {
		t.Errorf("result %s", text)
	}
	h.clean()
}

func TestATaskThatIsLostIsMarked(t *testing.T) {
	for _, row := range []struct {
		name, want string
		taken      bool // by the target, so that another attempt follows
		lose       func(g *target)
	}{
		{"its run directory grew too large",
			`its pod was ended (Evicted): Usage of EmptyDir volume "run" exceeds the limit "10Gi".`, false, func(g *target) {
				g.mu.Lock()
				defer g.mu.Unlock()
				g.change(func(p *corev1.Pod) {
					p.Status.Phase, p.Status.Reason, p.Status.Message = corev1.PodFailed, "Evicted",
						`Usage of EmptyDir volume "run" exceeds the limit "10Gi".`
				})
				g.files = nil
			}},
		{"its node is gone", "its pod is gone", true, func(g *target) {
			g.Remove(g.List(podsAt)[0])
			g.mu.Lock()
			defer g.mu.Unlock()
			g.files = nil
		}},
		{"its node was short of memory", "its pod was ended (Evicted): The node was low on resource: memory.", true,
			func(g *target) {
				g.mu.Lock()
				defer g.mu.Unlock()
				g.change(func(p *corev1.Pod) {
					p.Status.Phase, p.Status.Reason, p.Status.Message = corev1.PodFailed, "Evicted",
						"The node was low on resource: memory."
				})
				g.files = nil
			}},
		{"its node was started again", "its node lost its container", true, func(g *target) {
			g.mu.Lock()
			defer g.mu.Unlock()
			g.change(func(p *corev1.Pod) {
				for i := range p.Status.ContainerStatuses {
					p.Status.ContainerStatuses[i].State = corev1.ContainerState{
						Terminated: &corev1.ContainerStateTerminated{ExitCode: 255, Reason: "Unknown"}}
				}
			})
			g.files = nil
		}},
		{"its results server crashed", "its container files ended with exit code 137 OOMKilled", false, func(g *target) {
			g.mu.Lock()
			defer g.mu.Unlock()
			g.change(func(p *corev1.Pod) {
				p.Status.ContainerStatuses[1].State = corev1.ContainerState{
					Terminated: &corev1.ContainerStateTerminated{ExitCode: 137, Reason: "OOMKilled"}}
			})
			g.files = nil
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			g := newTarget(t, load(1000, 20*time.Millisecond))
			h := newHub(t, g)
			go func() {
				eventually.Happens(t.Context(), func() bool { // the load runs
					return strings.Contains(h.out.String(), "step 3") && h.file("measurements/0/loadgen.json") != ""
				})
				row.lose(g)
			}()
			err := h.exec(contract.LoadGen)
			if step.Code(err) != contract.ExitFail || !strings.Contains(err.Error(), row.want) {
				t.Errorf("got %v", err)
			}
			var l struct {
				Start                 int64 `json:"start_ns"`
				Complete, Interrupted bool
				Error                 string
			}
			if err := json.Unmarshal([]byte(h.file("measurements/0/loadgen.json")), &l); err != nil {
				t.Fatal(err)
			}
			if l.Complete || !l.Interrupted || !strings.Contains(l.Error, row.want) || l.Start != 7 {
				t.Errorf("the result says %+v", l)
			}
			if !strings.HasSuffix(words(t, h), "lost") || !strings.Contains(h.file(".reason"), row.want) {
				t.Errorf("events %s, reason %q", words(t, h), h.file(".reason"))
			}
			if lost := h.file(".lost"); (lost != "") != row.taken {
				t.Errorf("result lost: %q", lost)
			}
			for _, name := range []string{".reason", ".lost"} {
				_ = os.Remove(filepath.Join(h.dir, name))
			}
			if again := h.exec(contract.LoadGen); step.Code(again) != contract.ExitFail ||
				!strings.Contains(h.file(".reason"), row.want) || (h.file(".lost") != "") != row.taken {
				t.Errorf("the next launcher says %v, reason %q, lost %q", again, h.file(".reason"), h.file(".lost"))
			}
			g.kill()
			h.g.t.Cleanup(func() { <-g.over })
			h.clean()
		})
	}
}

// TestAPodThatIsDeleted gives what it has: all of it where the load was over, a part where it was not.
func TestAPodThatIsDeleted(t *testing.T) {
	for _, row := range []struct {
		name string
		task program
		code int
	}{
		{"half-way: a part", load(1000, 20*time.Millisecond), contract.ExitFail},
		{"when its load was just over: all", func(ctx context.Context, dir string, say func(string)) int {
			code := load(3, 0)(context.Background(), dir, say)
			<-ctx.Done()
			return code
		}, 0},
	} {
		t.Run(row.name, func(t *testing.T) {
			t.Parallel()
			g := newTarget(t, row.task)
			h := newHub(t, g)
			go func() {
				eventually.Happens(t.Context(), func() bool { return strings.Contains(h.out.String(), "step 3") })
				g.endPod()
			}()
			err := h.exec(contract.LoadGen)
			if step.Code(err) != row.code {
				t.Errorf("got %v: %s", err, h.out.String())
			}
			if text := h.file("measurements/0/loadgen.json"); !strings.Contains(text, `"start_ns"`) {
				t.Errorf("result %s", text)
			}
			h.clean()
		})
	}
}

func TestATaskThatCannotStartSaysWhy(t *testing.T) {
	g := newTarget(t, nil)
	h := newHub(t, g)
	g.Refuse(func(q apitest.Request) (int, string) {
		if q.Verb == "patch" {
			job := as[batchv1.Job](t, g.Get(q.Path))
			pod := corev1.Pod{ObjectMeta: job.Spec.Template.ObjectMeta, Spec: job.Spec.Template.Spec}
			pod.Status.ContainerStatuses = []corev1.ContainerStatus{{Name: "load-gen", Image: "reg/load-gen",
				State: corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: "InvalidImageName",
					Message: "no such thing"}}}}
			g.mu.Lock()
			g.pod = job.Name + "-x1"
			g.Put(podsAt+g.pod, pod)
			g.mu.Unlock()
		}
		return 0, ""
	})
	err := h.exec(contract.LoadGen)
	if step.Code(err) != contract.ExitFail || !strings.Contains(err.Error(),
		`starting load-gen on target "lab": InvalidImageName: image "reg/load-gen"`) {
		t.Errorf("got %v", err)
	}
	h.clean()
}

func TestWhoMayNotLaunchIsToldAtOnce(t *testing.T) {
	g := newTarget(t, nil)
	h := newHub(t, g)
	g.Refuse(func(q apitest.Request) (int, string) { return http.StatusUnprocessableEntity, "the Job is wrong" })
	if err := h.exec(contract.LoadGen); err == nil || !strings.Contains(err.Error(),
		`launching load-gen on target "lab"`) {
		t.Errorf("got %v", err)
	}
}

func TestPatienceEnds(t *testing.T) {
	g := newTarget(t, nil)
	h := newHub(t, g)
	g.Down(true)
	l := h.launcher(contract.LoadGen, nil)
	l.limit = 100 * time.Millisecond
	if err := l.once(t.Context()); err == nil || !strings.Contains(err.Error(), `target "lab" has not answered for`) {
		t.Errorf("got %v", err)
	}
}

func TestOptionsAreChecked(t *testing.T) {
	h := newHub(t, nil)
	common := []string{"--plan-dir=" + h.dir, "--run-dir=" + h.dir, "--run-id=r"}
	for _, row := range []struct {
		name, want string
		args       []string
	}{
		{"no task", "--task is \"\", want load-gen, smoketest or collect", []string{"--image=i", "--files-image=f"}},
		{"a task that stays here", `--task is "mlflow-push"`, []string{"--task=mlflow-push"}},
		{"no image", "--image is required", []string{"--task=collect"}},
		{"no image for the files", "--files-image is required", []string{"--task=collect", "--image=i"}},
		{"no quantity", "invalid value", []string{"--task=collect", "--cpu=many"}},
	} {
		var o Options
		if _, err := o.begin(append(common, row.args...), &h.out); step.Code(err) != contract.ExitUsage ||
			!strings.Contains(err.Error(), row.want) {
			t.Errorf("%s: %v", row.name, err)
		}
	}
	var lost *lostError
	if errors.As(error(&lostError{why: "x"}), &lost); lost.Error() != "x" {
		t.Error(lost)
	}
}
