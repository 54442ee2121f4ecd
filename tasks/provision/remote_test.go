package provision

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"bflow.dev/bflow/internal/apitest"
	"bflow.dev/bflow/internal/eventually"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/tasks/provision/cluster"
	"bflow.dev/bflow/tasks/step"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const (
	podReady = `{"phase":"Running","podIP":"127.0.0.1","conditions":[{"type":"Ready","status":"True"}],` +
		`"containerStatuses":[{"name":"sim","state":{"running":{}}}]}`
	podCrash = `{"phase":"Running","containerStatuses":[{"name":"sim","restartCount":1,` +
		`"state":{"waiting":{"reason":"CrashLoopBackOff"}},"lastState":{"terminated":{"exitCode":2,"reason":"Error"}}}]}`
)

const (
	podsAt        = "/api/v1/namespaces/bench/pods/"
	deploymentsAt = "/apis/apps/v1/namespaces/bench/deployments/"
)

// newRemoteBench is a bench whose steps see a cluster. Two replicas make pods known one by one, at the address of a
// real engine.
func newRemoteBench(t *testing.T, edit func(*runplan.RunPlan)) (*bench, *apitest.Server) {
	t.Helper()
	b := newBench(t, func(p *runplan.RunPlan) {
		p.Target = runplan.Target{Name: "lab", Namespace: "bench"}
		p.Images = map[string]string{contract.SimEngine: "reg.example/sim-engine:v1"}
		p.Deployment.Engine.Port = 8000
		edit(p)
	})
	server := apitest.New(t, "bench")
	dir := t.TempDir()
	if _, err := server.Kubeconfig(dir); err != nil {
		t.Fatal(err)
	}
	delete(b.env, contract.EnvRunDir)
	b.target = dir
	return b, server
}

// makePod makes the pod of a Deployment, with a status as JSON, and returns its name.
func makePod(s *apitest.Server, deployment apitest.Object, status string) string {
	template, _, _ := unstructured.NestedMap(deployment, "spec", "template")
	name := deployment["metadata"].(apitest.Object)["name"].(string) + "-5f-0"
	template["status"] = json.RawMessage(status)
	s.Put(podsAt+name, template)
	return name
}

// available marks every pod of a Deployment as one that can be asked.
func available(s *apitest.Server, path string) {
	s.Change(path, func(d apitest.Object) {
		n := d["spec"].(apitest.Object)["replicas"]
		d["status"] = apitest.Object{"replicas": n, "updatedReplicas": n, "readyReplicas": n, "availableReplicas": n}
	})
}

// start deploys and writes down that it did.
func (b *bench) start(t *testing.T) {
	t.Helper()
	plan, err := runplan.Read(b.dir)
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Options: step.Options{PlanDir: b.dir, RunDir: b.dir, RunID: "p-1", Attempt: 1}, TargetDir: b.target}
	s := step.Streams{Out: &b.errs, Err: &b.errs, Env: func(k string) string { return b.env[k] }}
	r, err := newRemote(s, o, plan)
	if err != nil {
		t.Fatal(err)
	}
	srv, err := r.deploy(t.Context(), deployment{plan: plan, runDir: b.dir, env: s.Env})
	if err != nil {
		t.Fatal(err)
	}
	if want := "http://" + runplan.Release(plan, "p-1") + ".bench.svc:8000"; srv.url != want {
		t.Errorf("the endpoint is %s, want %s", srv.url, want)
	}
	if err := publish(o, Endpoint{Schema: EndpointSchema, URL: srv.url, Ready: time.Now()}); err != nil {
		t.Fatal(err)
	}
}

func (b *bench) event(word string) bool {
	text, _ := os.ReadFile(filepath.Join(b.dir, contract.FileEvents))
	return strings.Contains(string(text), `"event":"`+word+`"`)
}

func TestAClusterThatCannotServeSaysWhyAndIsCleanAgain(t *testing.T) {
	b, server := newRemoteBench(t, func(*runplan.RunPlan) {})
	server.OnCreate(func(q apitest.Request, made apitest.Object) {
		if q.Resource == "deployments" {
			pod := makePod(server, made, podCrash)
			server.Say("bench", pod, apitest.Previous("sim"), "starting", "no such flag: --port")
		}
	})
	server.OnDelete(func(q apitest.Request, _ apitest.Object) {
		server.Remove(q.Path)
		for _, pod := range server.List(podsAt) {
			server.Remove(pod)
		}
	})
	reason := filepath.Join(b.dir, "reason")
	code, out := b.run("up", "--reason-result="+reason)
	if code != contract.ExitUnhealthy || !strings.Contains(out,
		"ended with exit code 2; its last line: no such flag: --port") {
		t.Errorf("exit %d: %s", code, out)
	}
	if text, err := os.ReadFile(reason); err != nil ||
		!strings.HasPrefix(string(text), "CrashLoopBackOff: container sim of pod") {
		t.Errorf("the reason is %q, %v", text, err)
	}
	if left := append(server.List(deploymentsAt), server.List("/api/v1/namespaces/bench/services/")...); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
	if !b.event("failed") {
		t.Error("no event says so")
	}
	for _, file := range []string{cluster.FileRendered, cluster.FileLive, cluster.FileEvents} {
		if _, err := os.Stat(filepath.Join(b.dir, file)); err != nil {
			t.Error(err)
		}
	}
}

// TestAClusterServesAndIsReleased stops short of asking the engine: the name of its Service means nothing here.
func TestAClusterServesAndIsReleased(t *testing.T) {
	b, server := newRemoteBench(t, func(*runplan.RunPlan) {})
	server.OnCreate(func(q apitest.Request, made apitest.Object) {
		if q.Resource == "deployments" {
			server.Say("bench", makePod(server, made, podReady), "sim", "serving")
			available(server, q.Path)
		}
	})
	b.start(t)
	server.OnDelete(func(q apitest.Request, _ apitest.Object) {
		server.Remove(q.Path)
		if q.Resource == "deployments" { // its pod takes a moment: until somebody has looked at it
			asked := len(server.Requests())
			go func() {
				eventually.Happens(t.Context(), func() bool {
					return slices.ContainsFunc(server.Requests()[asked:], func(q apitest.Request) bool { return q.Resource == "pods" })
				})
				server.Remove(server.List(podsAt)[0])
			}()
		}
	})
	if code, out := b.run("release"); code != 0 || !b.event("released") {
		t.Fatalf("release: exit %d: %s", code, out)
	}
	if left := server.List(podsAt); len(left) > 0 {
		t.Errorf("released while there was %q", left)
	}
	for _, file := range []string{cluster.FileLive, contract.FileEngineLog} {
		if _, err := os.Stat(filepath.Join(b.dir, file)); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(filepath.Join(b.dir, contract.FileEngineExit)); err == nil {
		t.Error("an engine that was healthy is said to have ended")
	}
	if code, out := b.run("down", "--deadline=10s"); code != 0 || out != "" {
		t.Errorf("down after release: exit %d: %s", code, out)
	}
}

// TestAServerOnARemoteTargetIsAskedThroughItsAPIServer, where the steps of the hub cannot reach it otherwise.
func TestAServerOnARemoteTargetIsAskedThroughItsAPIServer(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("the token of the target went where the server under test led")
	}))
	defer elsewhere.Close()
	for _, row := range []struct {
		name   string
		models func(http.ResponseWriter)
		code   int
		want   string
	}{
		{"the right model", func(w http.ResponseWriter) { w.Write([]byte(`{"data":[{"id":"tiny"}]}`)) }, 0, "waiting for"},
		{"another model", func(w http.ResponseWriter) { w.Write([]byte(`{"data":[{"id":"huge"}]}`)) }, contract.ExitUnhealthy,
			`it serves "huge"`},
		{"a server that leads elsewhere", func(w http.ResponseWriter) {
			w.Header().Set("Location", elsewhere.URL)
			w.WriteHeader(http.StatusTemporaryRedirect)
		}, contract.ExitUnhealthy, `it redirects to "` + elsewhere.URL},
		{"a server that wants its key", func(w http.ResponseWriter) { w.WriteHeader(http.StatusUnauthorized) }, 0,
			"is up; this account may not ask for more"},
	} {
		t.Run(row.name, func(t *testing.T) {
			b, server := newRemoteBench(t, func(*runplan.RunPlan) {})
			b.env["BFLOW_API_KEY"] = "sk-1"
			server.OnCreate(func(q apitest.Request, made apitest.Object) {
				if q.Resource == "deployments" {
					makePod(server, made, podReady)
					available(server, q.Path)
				}
			})
			server.OnDelete(func(q apitest.Request, _ apitest.Object) {
				server.Remove(q.Path)
				for _, pod := range server.List(podsAt) {
					server.Remove(pod)
				}
			})
			server.Proxy(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if strings.Contains(r.Header.Get("Authorization"), "sk-1") {
					t.Error("the API server gets the key of the server under test")
				}
				_, path, _ := strings.Cut(r.URL.Path, ":8000")
				switch path {
				case "/v1/models":
					row.models(w)
				case "/metrics":
					w.Write([]byte("up 1"))
				case "/health":
				default:
					w.WriteHeader(http.StatusNotFound)
				}
			}))
			code, out := b.run("up")
			if code != row.code || !strings.Contains(out, row.want) {
				t.Fatalf("exit %d: %s", code, out)
			}
			if code != 0 {
				return
			}
			var end Endpoint
			if err := step.ReadJSON(filepath.Join(b.dir, contract.FileEndpoint), &end); err != nil ||
				!strings.HasSuffix(end.URL, ".bench.svc:8000") {
				t.Errorf("%+v, %v", end, err)
			}
			code, out = b.run("release")
			if text, err := os.ReadFile(filepath.Join(b.dir, contract.FileLastScrape)); code != 0 || err != nil ||
				string(text) != "up 1" {
				t.Errorf("exit %d, metrics %q, %v: %s", code, text, err, out)
			}
		})
	}
}

// TestAServerThatOnlyTheTargetReachesIsNotAskedFromHere: its smoke test will ask it.
func TestAServerThatOnlyTheTargetReachesIsNotAskedFromHere(t *testing.T) {
	b,
		server := newRemoteBench(t,
		func(p *runplan.RunPlan) { p.Deployment.Endpoint = &runplan.Endpoint{BaseURL: "http://there.invalid"} })
	if code, out := b.run("up"); code != 0 || !strings.Contains(out,
		`http://there.invalid can be reached only from target "lab"`) {
		t.Errorf("exit %d: %s", code, out)
	}
	if code, out := b.run("release"); code != 0 || out != "" || len(server.Requests()) > 0 {
		t.Errorf("exit %d: %s", code, out)
	}
}

// TestTeardownNeedsNoPlan goes by labels alone where the plan is gone from both places.
func TestTeardownNeedsNoPlan(t *testing.T) {
	for _, row := range []struct {
		name, sub, event string
		ruin             func(path string) error
	}{
		{"release, the plan deleted", "release", "released", os.Remove},
		{"finish, the plan deleted", "down", "torn_down", os.Remove},
		{"finish, the plan damaged", "down", "torn_down", func(path string) error {
			return os.WriteFile(path, []byte("{"), 0o600)
		}},
	} {
		t.Run(row.name, func(t *testing.T) {
			b, server := newRemoteBench(t, func(*runplan.RunPlan) {})
			b.env[contract.EnvNamespace] = "bench"
			for name, id := range map[string]string{"ours": "p-1", "theirs": "p-2"} {
				labels := apitest.Object{"bflow.dev/run": id, "bflow.dev/release": "x"}
				server.Put(deploymentsAt+name, apitest.Object{"metadata": apitest.Object{"labels": labels}})
			}
			if err := row.ruin(filepath.Join(b.dir, contract.FilePlan)); err != nil {
				t.Fatal(err)
			}
			code, out := b.run(row.sub)
			if left := server.List(deploymentsAt); code != 0 || len(left) != 1 || left[0] != deploymentsAt+"theirs" ||
				!b.event(row.event) {
				t.Errorf("exit %d, left %q: %s", code, left, out)
			}
			if !strings.Contains(out, "removing all objects with the labels of run p-1") {
				t.Errorf("it says nothing of the plan: %s", out)
			}
		})
	}
}

func TestWithoutAPlanAndANamespaceNothingIsRemoved(t *testing.T) {
	b, server := newRemoteBench(t, func(*runplan.RunPlan) {})
	if err := os.Remove(filepath.Join(b.dir, contract.FilePlan)); err != nil {
		t.Fatal(err)
	}
	if code, out := b.run("down"); code != 0 || !strings.Contains(out, "the namespace is not known") ||
		len(server.Requests()) > 0 {
		t.Errorf("exit %d: %s; asked for %q", code, out, server.Requests())
	}
	if code, out := b.run("up"); code != contract.ExitUsage || !strings.Contains(out, "reading the plan") {
		t.Errorf("up: exit %d: %s", code, out)
	}
}

func TestDownGivesUpQuietly(t *testing.T) {
	b, server := newRemoteBench(t, func(*runplan.RunPlan) {})
	server.Put(podsAt+"stuck", apitest.Object{"metadata": apitest.Object{
		"labels": apitest.Object{"bflow.dev/run": "p-1", "bflow.dev/release": "x"}}})
	said := ""
	for _, deadline := range []string{"1s", "5s", "1m"} { // a busy host may need the first ones for what comes before
		code, out := b.run("down", "--deadline="+deadline)
		if code != 0 || !b.event("teardown_failed") {
			t.Errorf("exit %d: %s", code, out)
		}
		if said = out; strings.Contains(said, "left: stuck") {
			return
		}
	}
	t.Errorf("nothing is said of the pod that is left: %s", said)
}

func TestAnApiServerThatIsAwayForAMomentIsWaitedFor(t *testing.T) {
	b, server := newRemoteBench(t, func(*runplan.RunPlan) {})
	away := 3
	server.Refuse(func(q apitest.Request) (int, string) {
		if q.String() == "list pods" && away > 0 {
			away--
			return http.StatusServiceUnavailable, "away"
		}
		return 0, ""
	})
	if code, out := b.run("down", "--deadline=30s"); code != 0 || !b.event("torn_down") {
		t.Errorf("exit %d: %s", code, out)
	}
}

func TestPlansThatAClusterCannotTakeAreRefused(t *testing.T) {
	for _, row := range []struct {
		name string
		edit func(*runplan.RunPlan)
		want string
	}{
		{"a command line", func(p *runplan.RunPlan) { p.Deployment.Engine.Kind = "command" },
			"engine command runs only on a local machine"},
		{"a platform that is not there yet", func(p *runplan.RunPlan) { p.Deployment.Platform = "llm-d" },
			"the plan is for platform llm-d with gateway istio, which bflow cannot deploy yet"},
		{"more than the run has asked for",
			func(p *runplan.RunPlan) { p.Deployment.Engine = runplan.Engine{Kind: "vllm", Image: "x"} },
			"it needs 1 nvidia.com/gpu, but the run has requested 0"},
	} {
		t.Run(row.name, func(t *testing.T) {
			b, server := newRemoteBench(t, row.edit)
			if code, out := b.run("up"); code != contract.ExitUsage || !strings.Contains(out, row.want) {
				t.Errorf("exit %d: %s", code, out)
			}
			for _, request := range server.Requests() {
				if request.Verb == "create" {
					t.Errorf("it asked to %s", request)
				}
			}
		})
	}
}

func TestARemoteTargetWithoutCredentialsIsRefused(t *testing.T) {
	b, _ := newRemoteBench(t, func(*runplan.RunPlan) {})
	b.target = t.TempDir()
	if code, out := b.run("up"); code != contract.ExitUsage ||
		!strings.Contains(out,
			`connecting to target "lab": there are no credentials for it; start the run through its queue`) {
		t.Errorf("exit %d: %s", code, out)
	}
}

// TestARunThatWasNotLetStartTouchesNothing: not even what carries its name, which may be that of another run.
func TestARunThatWasNotLetStartTouchesNothing(t *testing.T) {
	b, server := newRemoteBench(t, func(*runplan.RunPlan) {})
	plan, err := runplan.Read(b.dir)
	if err != nil {
		t.Fatal(err)
	}
	server.Put(deploymentsAt+"theirs", apitest.Object{
		"metadata": apitest.Object{"labels": apitest.Object{"bflow.dev/run": "p-1", "bflow.dev/release": "x"}}})
	hub := apitest.New(t, "bench")
	hub.ServeRuns()
	hub.Put("/apis/tekton.dev/v1/namespaces/bench/pipelineruns/p-1",
		apitest.Object{"metadata": apitest.Object{"uid": "u", "labels": apitest.Object{contract.LabelPlanHash: "h"}}})
	hub.Put("/api/v1/namespaces/bench", apitest.Object{})
	b.env[contract.EnvPipelineRun], b.env[contract.EnvPipelineRunUID] = "p-1", "u"
	o := Options{Options: step.Options{PlanDir: b.dir, RunDir: b.dir, RunID: "p-1", Attempt: 1}, TargetDir: b.target}
	s := step.Streams{Out: &b.errs, Err: &b.errs, Env: func(k string) string { return b.env[k] }}
	r, err := newRemote(s, o, plan)
	if err != nil {
		t.Fatal(err)
	}
	r.hub = func() (*cluster.Cluster, error) { return cluster.New(hub.Config(), "bench") }
	err = upAt(t.Context(), s, o, plan, r)
	if step.Code(err) != contract.ExitUsage || !strings.Contains(err.Error(), "bflow-controller has not admitted it") {
		t.Errorf("exit %d: %v", step.Code(err), err)
	}
	if requests := server.Requests(); len(requests) > 0 {
		t.Errorf("the target was asked for %q", requests)
	}
	if !b.event("failed") {
		t.Error("no event says so")
	}
}
