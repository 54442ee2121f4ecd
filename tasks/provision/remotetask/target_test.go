package remotetask

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"bflow.dev/bflow/internal/apitest"
	"bflow.dev/bflow/internal/eventually"
	"bflow.dev/bflow/results"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/tasks/provision/cluster"
	"bflow.dev/bflow/tasks/step"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

const (
	podsAt = "/api/v1/namespaces/bench/pods/"
	jobsAt = "/apis/batch/v1/namespaces/bench/jobs/"
)

// program stands for the task's binary: it works in dir, says what it has to say, ends early with ctx, and returns its
// exit code.
type program func(ctx context.Context, dir string, say func(line string)) int

// target is a cluster: an API server in memory, with the Job controller and one node played. Files are served by the
// real server, and the task is a function.
type target struct {
	*apitest.Server
	t    *testing.T
	dir  string // of the pod
	task program
	cut  func(http.ResponseWriter, *http.Request) bool // a fault on the way to the files

	mu    sync.Mutex
	pod   string
	files http.Handler
	ran   int
	ended string // the reason that the node gives for the end of the task
	kill  context.CancelFunc
	over  chan struct{} // closed when the task has ended
	told  chan struct{} // closed when the results server was told to end
	grace time.Duration // for which a pod that is to go waits for both
}

func newTarget(t *testing.T, task program) *target {
	t.Helper()
	g := &target{Server: apitest.New(t, "bench"), t: t, dir: t.TempDir(), task: task,
		cut:  func(http.ResponseWriter, *http.Request) bool { return false },
		kill: func() {}, over: make(chan struct{}), told: make(chan struct{}), grace: eventually.Limit}
	g.Serve("batch/v1", "Job", true)
	g.Refuse(g.watchPatches(nil))
	g.OnDelete(g.deleted)
	g.Proxy(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.mu.Lock()
		files, pod := g.files, g.pod
		g.mu.Unlock()
		if g.cut(w, r) {
			return
		}
		if files == nil {
			http.Error(w, "error trying to reach service", http.StatusBadGateway)
			return
		}
		http.StripPrefix("/bench/"+pod+":8080", files).ServeHTTP(w, r)
	}))
	return g
}

// watchPatches sees the Job being let start, which is the only patch there is. faults are asked first.
func (g *target) watchPatches(faults func(apitest.Request) (int, string)) func(apitest.Request) (int, string) {
	return func(q apitest.Request) (int, string) {
		if faults != nil {
			if code, text := faults(q); code > 0 {
				return code, text
			}
		}
		if q.Verb == "patch" && q.Resource == "jobs" {
			go g.startPod(q.Path)
		}
		return 0, ""
	}
}

// startPod is the Job controller and the node.
func (g *target) startPod(path string) {
	job := as[batchv1.Job](g.t, g.Get(path))
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.pod != "" {
		return
	}
	g.pod = job.Name + "-x1"
	pod := corev1.Pod{ObjectMeta: job.Spec.Template.ObjectMeta, Spec: job.Spec.Template.Spec}
	pod.Spec.NodeName, pod.Status.Phase = "node-1", corev1.PodPending
	plan, err := runplan.Decode([]byte(as[corev1.ConfigMap](g.t,
		g.Get("/api/v1/namespaces/bench/configmaps/"+job.Name)).Data[runplan.FileJSON]))
	if err := errors.Join(err, runplan.Verify(plan)); err != nil {
		g.t.Errorf("the task would refuse its plan: %v", err)
	}
	token := string(as[corev1.Secret](g.t, g.Get("/api/v1/namespaces/bench/secrets/"+job.Name)).Data["token"])
	root, err := os.OpenRoot(g.dir)
	if err != nil {
		g.t.Error(err)
		return
	}
	g.t.Cleanup(func() { root.Close() })
	serve := func(receive bool, end func()) { g.files = results.Guarded(root, results.TokenSum(token), receive, end) }
	begin := func() {
		serve(false, sync.OnceFunc(func() { close(g.told) }))
		go g.runTask(job.Spec.Template.Spec.Containers[0].Name)
	}
	if len(pod.Spec.InitContainers) == 0 {
		g.Put(podsAt+g.pod, pod)
		begin()
		return
	}
	pod.Status.InitContainerStatuses = []corev1.ContainerStatus{
		{Name: "receive", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
	g.Put(podsAt+g.pod, pod)
	serve(true, sync.OnceFunc(func() {
		go func() {
			g.mu.Lock()
			defer g.mu.Unlock()
			g.change(func(p *corev1.Pod) {
				p.Status.InitContainerStatuses[0].State = corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{}}
			})
			begin()
		}()
	}))
}

// change changes the pod as its node does.
func (g *target) change(f func(*corev1.Pod)) {
	obj := g.Get(podsAt + g.pod)
	if obj == nil {
		return
	}
	pod := as[corev1.Pod](g.t, obj)
	f(&pod)
	g.Put(podsAt+g.pod, pod)
}

func (g *target) runTask(container string) {
	ctx, cancel := context.WithCancel(context.Background())
	g.mu.Lock()
	g.ran++
	g.kill = cancel
	g.Say("bench", g.pod, container) // a container that runs has a log
	g.change(func(p *corev1.Pod) {
		p.Status.Phase = corev1.PodRunning
		p.Status.ContainerStatuses = []corev1.ContainerStatus{
			{Name: container, State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}},
			{Name: "files", State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{}}}}
	})
	pod := g.pod
	g.mu.Unlock()
	code := g.task(ctx, g.dir, func(line string) { g.Say("bench", pod, container, line) })
	g.EndLog("bench", pod, container)
	g.mu.Lock()
	defer g.mu.Unlock()
	close(g.over)
	g.change(func(p *corev1.Pod) {
		if p.DeletionTimestamp == nil && p.Status.Phase == corev1.PodRunning { // of a pod that goes, a node says no more
			p.Status.ContainerStatuses[0].State = corev1.ContainerState{
				Terminated: &corev1.ContainerStateTerminated{ExitCode: int32(code), Reason: g.ended}}
		}
	})
}

// deleted is the garbage collector and the node: a Job that goes takes its pod along, and all beside it.
func (g *target) deleted(q apitest.Request, _ apitest.Object) {
	if q.Resource != "jobs" {
		return
	}
	g.Change(q.Path, func(o apitest.Object) {
		o["metadata"].(apitest.Object)["deletionTimestamp"] = time.Now().UTC().Format(time.RFC3339)
		o["metadata"].(apitest.Object)["finalizers"] = []any{"foregroundDeletion"}
	})
	go func() {
		g.endPod()
		for _, at := range []string{"/api/v1/namespaces/bench/configmaps/" + q.Name,
			"/api/v1/namespaces/bench/secrets/" + q.Name, q.Path} {
			g.Remove(at)
		}
	}()
}

// endPod ends the task by its signal, waits until the results server, where there is one, was told to end, and removes
// the pod.
func (g *target) endPod() {
	g.mu.Lock()
	pod, kill := g.pod, g.kill
	begun, serves := g.ran > 0, g.files != nil
	if pod != "" {
		now := time.Now()
		g.change(func(p *corev1.Pod) { p.DeletionTimestamp, p.Finalizers = ptrTime(now), []string{"test/node"} })
	}
	g.mu.Unlock()
	if pod == "" {
		return
	}
	kill()
	if begun && serves {
		grace, enough := context.WithTimeout(context.Background(), g.grace) //nolint:forbidigo // the grace period of the pod
		defer enough()
		for _, end := range []chan struct{}{g.over, g.told} {
			select {
			case <-end:
			case <-grace.Done():
			}
		}
	}
	g.Remove(podsAt + pod)
}

// left are the objects of a Job, and its pods.
func (g *target) left() (all []string) {
	for _, at := range []string{podsAt, jobsAt, "/api/v1/namespaces/bench/configmaps/",
		"/api/v1/namespaces/bench/secrets/"} {
		all = append(all, g.List(at)...)
	}
	return all
}

// step is a step of a run on the hub.
type hub struct {
	t      *testing.T
	dir    string // run directory
	g      *target
	out    syncBuffer
	goesOn bool
}

func newHub(t *testing.T, g *target) *hub {
	t.Helper()
	h := &hub{t: t, dir: t.TempDir(), g: g}
	plan := &runplan.RunPlan{APIVersion: runplan.APIVersion, Kind: runplan.Kind, Name: "p", Experiment: "p", Index: 1}
	plan.Target = runplan.Target{Name: contract.TargetAny, AnyOf: []string{"lab", "b"}, Namespace: "bench",
		HostAliases: map[string]string{"b.example": "10.0.0.1", "a.example": "10.0.0.1"}}
	plan.Measurements = []runplan.Measurement{{Name: "m"}, {Name: "n"}}
	if err := runplan.Identify(plan); err != nil {
		t.Fatal(err)
	}
	data, err := runplan.Marshal(plan)
	if err == nil {
		err = os.WriteFile(filepath.Join(h.dir, contract.FilePlan), data, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// launcher is one process of the step.
func (h *hub) launcher(task string, env map[string]string, args ...string) *launcher {
	h.t.Helper()
	all := []string{"--plan-dir=" + h.dir, "--run-dir=" + h.dir, "--run-id=p-1", "--task=" + task, "--image=reg/" + task,
		"--files-image=reg/collect",
		"--reason-result=" + filepath.Join(h.dir, ".reason"), "--lost-result=" + filepath.Join(h.dir, ".lost"),
		"--patience=1m", "--", "--endpoint=http://engine.bench.svc:8000"}
	var o Options
	plan, err := o.begin(append(all, args...), &h.out)
	if err != nil {
		h.t.Fatal(err)
	}
	c, err := cluster.New(&rest.Config{Host: h.g.URL}, "bench")
	if err != nil {
		h.t.Fatal(err)
	}
	environ := func(k string) string { return cmp.Or(env[k], map[string]string{contract.EnvTarget: "lab"}[k]) }
	l, err := newLauncher(o, step.Streams{Out: &h.out, Err: &h.out, Env: environ}, plan, c)
	if err != nil {
		h.t.Fatal(err)
	}
	l.every, l.pause = 20*time.Millisecond, func(int) time.Duration { return 10 * time.Millisecond }
	l.goOn = func(context.Context) (bool, error) { return h.goesOn, nil }
	return l
}

// exec runs the step to its end.
func (h *hub) exec(task string, args ...string) error {
	h.t.Helper()
	return h.launcher(task, map[string]string{contract.EnvHub: "hub-1"}, args...).once(h.t.Context())
}

func (h *hub) file(path string) string {
	data, _ := os.ReadFile(filepath.Join(h.dir, filepath.FromSlash(path)))
	return string(data)
}

// lines are those of the log that are the task's own.
func (h *hub) lines() (own []string) {
	for line := range strings.Lines(h.out.String()) {
		if !strings.HasPrefix(line, "provision: ") {
			own = append(own, strings.TrimSpace(line))
		}
	}
	return own
}

func (h *hub) clean() {
	h.t.Helper()
	if left := h.g.left(); len(left) > 0 {
		h.t.Errorf("left on the target: %q", left)
	}
	err := filepath.WalkDir(h.dir, func(path string, _ os.DirEntry, err error) error {
		if strings.HasSuffix(path, ".part") {
			h.t.Errorf("left in the run directory: %s", path)
		}
		return err
	})
	if err != nil {
		h.t.Error(err)
	}
}

// syncBuffer may be written and read side by side.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.Write(p)
}

func (b *syncBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}

var _ io.Writer = (*syncBuffer)(nil)

// as is an object in its own type.
func as[T any](t *testing.T, o apitest.Object) (typed T) {
	t.Helper()
	text, err := json.Marshal(o)
	if err == nil {
		err = json.Unmarshal(text, &typed)
	}
	if err != nil {
		t.Fatal(err)
	}
	return typed
}

// put writes a file of a task.
func put(dir, path, text string) {
	full := filepath.Join(dir, filepath.FromSlash(path))
	if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
		panic(err)
	}
	tmp := filepath.Join(filepath.Dir(full), "."+filepath.Base(full)+".tmp")
	if err := os.WriteFile(tmp, []byte(text), 0o600); err != nil {
		panic(err)
	}
	if err := os.Rename(tmp, full); err != nil {
		panic(err)
	}
}

// event adds an event as a task does.
func event(dir, word string) {
	if err := step.AppendEvent(dir, step.Event{Source: "task", Event: word}); err != nil {
		panic(err)
	}
}

// load is a load generator of so many steps, which writes what the real one writes.
func load(steps int, pause time.Duration) program {
	return func(ctx context.Context, dir string, say func(string)) int {
		put(dir, "measurements/0/loadgen.json", `{"schema":"bflow.loadgen/1","start_ns":7}`)
		event(dir, "stage_started")
		for i := range steps {
			select {
			case <-ctx.Done():
				put(dir, "measurements/0/loadgen.json", `{"schema":"bflow.loadgen/1","start_ns":7,"interrupted":true}`)
				say("load-gen: interrupted")
				return contract.ExitInterrupted
			case <-time.After(pause): //nolint:forbidigo // the work of the task, of which nobody judges how long it takes
			}
			put(dir, "measurements/0/progress.json", fmt.Sprintf(`{"done":%d}`, i+1))
			say(fmt.Sprintf("load-gen: step %d", i+1))
		}
		put(dir, "measurements/0/requests.jsonl.gz", strings.Repeat("row\n", 20_000))
		put(dir, "measurements/0/loadgen.json", `{"schema":"bflow.loadgen/1","start_ns":7,"complete":true}`)
		event(dir, "stage_ended")
		return 0
	}
}

func ptrTime(t time.Time) *metav1.Time { m := metav1.NewTime(t); return &m }
