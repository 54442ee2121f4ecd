package cluster_test

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"bflow.dev/bflow/generator/compile"
	"bflow.dev/bflow/internal/apitest"
	"bflow.dev/bflow/internal/eventually"
	"bflow.dev/bflow/pipelines/local"
	"bflow.dev/bflow/report"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/runs/cluster"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
)

// script plays the controllers: a step each time it hears the words it waits for.
type script struct {
	t     *testing.T
	steps []scene
	heard []string
}

type scene struct {
	hears string
	then  func()
}

func (s *script) hear(words string) {
	s.heard = append(s.heard, words)
	if len(s.steps) > 0 && strings.Contains(words, s.steps[0].hears) {
		next := s.steps[0].then
		s.steps = s.steps[1:]
		go next()
	}
}

func (s *script) Changed(status cluster.Status) {
	words := string(status.State) + ": " + status.Message
	for _, task := range status.Tasks {
		words += " [" + task.Name + " " + string(task.State) + " " + task.Message + "]"
	}
	s.hear(words)
}

func (s *script) Progress(run, task string, p report.Progress) {
	s.hear(run + " " + task + " " + p.Name)
}

func (s *script) Trouble(err error) {
	if err == nil {
		s.hear("the cluster answers again")
		return
	}
	s.hear("trouble: " + err.Error())
}

func (s *script) StepStarted(_, task, _, _, container string) {
	s.hear("started " + task + " " + container)
}

func (s *script) done() {
	if len(s.steps) > 0 {
		s.t.Errorf("never heard %q; heard:\n%s", s.steps[0].hears, strings.Join(s.heard, "\n"))
	}
}

// change applies a change to the run on the server.
func change(srv *apitest.Server, path string, f func(*tektonv1.PipelineRun)) func() {
	return func() {
		pr := makeRun(path[strings.LastIndexByte(path, '/')+1:])
		uid := srv.Get(path)["metadata"].(apitest.Object)["uid"]
		f(pr)
		srv.Put(path, pr)
		srv.Change(path, func(o apitest.Object) { o["metadata"].(apitest.Object)["uid"] = uid })
	}
}

func TestFollowFromTheQueueToTheVerdict(t *testing.T) {
	srv, c := newCluster(t)
	run := submit(t, c, compile.Options{})
	at := runsAt + "/demo-1"
	load := tasksAt + "/demo-1-load-gen-0"
	running := func(pr *tektonv1.PipelineRun) {
		begun("load-gen-0", contract.Finish)(pr)
		condition(corev1.ConditionUnknown, "Running", "")(pr)
	}
	s := &script{t: t, steps: []scene{
		{`it waits in queue "local"`, change(srv, at, func(pr *tektonv1.PipelineRun) {
			pending(pr)
			pr.Annotations = map[string]string{contract.AnnotationReason: "position 2 of 3"}
		})},
		{"position 2 of 3", change(srv, at, running)},
		{"Running", func() {
			srv.Say(namespace, "demo-1-load-gen-0-pod", "step-load-gen-0",
				`load-gen: sample 1/1 stage 1/1 "rate-10" 1 s of 2 s: 10 sent, 9 done, 1 in flight, 0 errors, 9.00 req/s`)
			srv.Put(load, makeTask("demo-1", "load-gen-0", corev1.ConditionUnknown, "Running", "", nil))
		}},
		{"demo-1 load-gen-0 rate-10", func() { srv.Down(true) }},
		{"trouble: ", func() {
			srv.Say(namespace, "demo-1-load-gen-0-pod", "step-load-gen-0", "load-gen: it broke")
			srv.EndLog(namespace, "demo-1-load-gen-0-pod", "step-load-gen-0")
			srv.Put(load, makeTask("demo-1", "load-gen-0", corev1.ConditionFalse, "Failed",
				`"step-load-gen-0" exited with code 4: Error`, code(4)))
			change(srv, at, func(pr *tektonv1.PipelineRun) {
				running(pr)
				condition(corev1.ConditionFalse, "Failed", "Tasks Completed: 1 (Failed: 1)")(pr)
			})()
			srv.Down(false)
		}},
		{"the cluster answers again", func() {}},
	}}
	ended, err := c.Follow(eventually.Context(t), []*cluster.Run{run}, s)
	if err != nil {
		t.Fatal(err)
	}
	s.done()
	status := ended["demo-1"]
	if status.State != local.Failed || status.ExitCode != contract.ExitInvalid {
		t.Errorf("%s, exit code %d", status.State, status.ExitCode)
	}
	if want := `task "load-gen-0": step "load-gen-0" exited with code 4: load-gen: it broke`; status.Message != want {
		t.Errorf("message %q, want %q", status.Message, want)
	}
}

func TestFollowGoesOnWithTheNextAttempt(t *testing.T) {
	srv, c := newCluster(t)
	run := submit(t, c, compile.Options{})
	second := makeRun("demo-1-a2", pending)
	second.Labels[contract.LabelRun], second.Labels[contract.LabelAttempt] = "demo-1", "2"
	s := &script{t: t, steps: []scene{
		{"it waits", func() { srv.Put(runsAt+"/demo-1-a2", second) }},
		{"it waits", func() {}},
	}}
	s.steps[1].then = func() {
		change(srv, runsAt+"/demo-1",
			func(pr *tektonv1.PipelineRun) { condition(corev1.ConditionFalse, "Cancelled", "")(pr) })()
		done := makeRun("demo-1-a2", begun(contract.Provision), condition(corev1.ConditionTrue, "Succeeded", ""))
		done.Labels = second.Labels
		srv.Put(runsAt+"/demo-1-a2", done)
	}
	ended, err := c.Follow(eventually.Context(t), []*cluster.Run{run}, s)
	if err != nil {
		t.Fatal(err)
	}
	if s := ended["demo-1"]; s.State != local.Succeeded || s.Attempt != 2 {
		t.Errorf("%s, attempt %d", s.State, s.Attempt)
	}
}

func TestFollowSaysThatARunWasDeleted(t *testing.T) {
	srv, c := newCluster(t)
	run := submit(t, c, compile.Options{})
	s := &script{t: t, steps: []scene{{"it waits", func() { srv.Remove(runsAt + "/demo-1") }}}}
	if _, err := c.Follow(eventually.Context(t), []*cluster.Run{run}, s); !errors.Is(err, cluster.ErrDeleted) {
		t.Errorf("got %v", err)
	}
}

// inNamespace turns an object of the one namespace that the builders know into the same of another.
func inNamespace(other string) func(*tektonv1.PipelineRun) {
	return func(pr *tektonv1.PipelineRun) { pr.Namespace = other }
}

// submitApart makes a run of the same plan in each of two namespaces.
func submitApart(t *testing.T, srv *apitest.Server, c *cluster.Cluster) []*cluster.Run {
	t.Helper()
	srv.Put("/api/v1/namespaces/team", apitest.Object{})
	srv.Put(strings.Replace(queueAt, namespace, "team", 1), map[string]any{})
	here, there := makePlan(t), makePlan(t)
	there.Target.Namespace = "team"
	runs, err := c.Submit(t.Context(), submission(compile.Options{}, here, there))
	if err != nil {
		t.Fatal(err)
	}
	return runs
}

func TestFollowHearsOfRunsInSeveralNamespaces(t *testing.T) {
	srv, c := newCluster(t)
	runs := submitApart(t, srv, c)
	teamsRun := strings.Replace(runsAt, namespace, "team", 1) + "/demo-2"
	teamsTask := strings.Replace(tasksAt, namespace, "team", 1) + "/demo-2-load-gen-0"
	s := &script{t: t, steps: []scene{
		{"it waits", change(srv, runsAt+"/demo-1", condition(corev1.ConditionTrue, "Succeeded", ""))},
		{"Succeeded", func() {
			srv.Say("team", "demo-2-load-gen-0-pod", "step-load-gen-0",
				`load-gen: sample 1/1 stage 1/1 "rate-10" 1 s of 2 s: 10 sent, 9 done, 1 in flight, 0 errors, 9.00 req/s`)
			tr := makeTask("demo-2", "load-gen-0", corev1.ConditionUnknown, "Running", "", nil)
			tr.Namespace = "team"
			srv.Put(teamsTask, tr)
			change(srv, teamsRun, func(pr *tektonv1.PipelineRun) {
				inNamespace("team")(pr)
				begun("load-gen-0")(pr)
				condition(corev1.ConditionUnknown, "Running", "")(pr)
			})()
		}},
		{"demo-2 load-gen-0 rate-10", func() { srv.Down(true) }},
		{"trouble: ", func() { srv.Down(false) }},
		{"the cluster answers again", func() {
			srv.EndLog("team", "demo-2-load-gen-0-pod", "step-load-gen-0")
			tr := makeTask("demo-2", "load-gen-0", corev1.ConditionTrue, "Succeeded", "", code(0))
			tr.Namespace = "team"
			srv.Put(teamsTask, tr)
			change(srv, teamsRun, func(pr *tektonv1.PipelineRun) {
				inNamespace("team")(pr)
				begun("load-gen-0")(pr)
				condition(corev1.ConditionTrue, "Succeeded", "")(pr)
			})()
		}},
	}}
	ended, err := c.Follow(eventually.Context(t), runs, s)
	if err != nil {
		t.Fatal(err)
	}
	s.done()
	for _, r := range runs {
		if got := ended[r.ID]; got.State != local.Succeeded || got.Namespace != r.Namespace {
			t.Errorf("%s: %s in namespace %q, want it to have succeeded in %q", r.ID, got.State, got.Namespace, r.Namespace)
		}
	}
	for _, words := range []string{"trouble: ", "the cluster answers again"} {
		if n := heardTimes(s, words); n != 1 {
			t.Errorf("heard %q %d times, want once", words, n)
		}
	}
}

func heardTimes(s *script, words string) int {
	n := 0
	for _, h := range s.heard {
		if strings.HasPrefix(h, words) {
			n++
		}
	}
	return n
}

func TestFollowSaysThatARunOfAnotherNamespaceWasDeleted(t *testing.T) {
	srv, c := newCluster(t)
	runs := submitApart(t, srv, c)
	s := &script{t: t}
	s.steps = []scene{{"it waits", func() {}}, {"it waits",
		func() { srv.Remove(strings.Replace(runsAt, namespace, "team", 1) + "/demo-2") }}}
	_, err := c.Follow(eventually.Context(t), runs, s)
	if !errors.Is(err, cluster.ErrDeleted) || !strings.Contains(err.Error(), "demo-2") {
		t.Errorf("got %v, want it to say that demo-2 was deleted", err)
	}
}

func TestFollowedLogsGoFromTaskToTask(t *testing.T) {
	srv, c := newCluster(t)
	run := submit(t, c, compile.Options{})
	task := func(name string) {
		srv.Say(namespace, "demo-1-"+name+"-pod", "step-"+name, name+" speaks")
		srv.EndLog(namespace, "demo-1-"+name+"-pod", "step-"+name)
		srv.Put(tasksAt+"/demo-1-"+name, makeTask("demo-1", name, corev1.ConditionUnknown, "Running", "", nil))
	}
	var mu sync.Mutex
	var got []string
	status, err := c.FollowLogs(eventually.Context(t), run, "", func(source, text string) error {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, source+": "+text)
		switch text {
		case `it waits in queue "local"`:
			go func() {
				change(srv, runsAt+"/demo-1", func(pr *tektonv1.PipelineRun) {
					begun("provision", "smoketest")(pr)
					condition(corev1.ConditionUnknown, "Running", "")(pr)
				})()
				task("provision")
			}()
		case "provision speaks":
			go task("smoketest")
		case "smoketest speaks":
			go change(srv, runsAt+"/demo-1", func(pr *tektonv1.PipelineRun) {
				begun("provision", "smoketest")(pr)
				condition(corev1.ConditionTrue, "Succeeded", "")(pr)
			})()
		}
		return nil
	}, func(error) {})
	want := []string{`demo-1: it waits in queue "local"`, "provision: provision speaks", "smoketest: smoketest speaks"}
	if err != nil || !slices.Equal(got, want) || status.State != local.Succeeded {
		t.Errorf("got %q, %s, %v", got, status.State, err)
	}
}
