package provision

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"bflow.dev/bflow/internal/eventually"
	"bflow.dev/bflow/internal/leakcheck"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/sim"
	"bflow.dev/bflow/tasks/step"
)

// TestMain lets the test binary stand in for bflow: `test step provision hold ...`.
func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == "step" {
		task := map[string]step.Func{"provision": Run, "sim-engine": sim.Command}[os.Args[2]]
		os.Args = append(os.Args[:1], os.Args[3:]...)
		os.Exit(step.Main(os.Args[0], task))
	}
	leakcheck.Main(m)
}

// bench is one run directory with its plan.
type bench struct {
	t    *testing.T
	dir  string
	env  map[string]string
	errs bytes.Buffer

	target string // folder with the way to a cluster, "" for this host
}

func newBench(t *testing.T, edit func(*runplan.RunPlan)) *bench {
	t.Helper()
	plan := &runplan.RunPlan{APIVersion: runplan.APIVersion, Kind: runplan.Kind, Name: "p", Experiment: "p", Index: 1}
	plan.Deployment = runplan.Deployment{Platform: "kubernetes", Mode: "sim", Model: runplan.Model{Name: "tiny"},
		EndpointPath: "/v1/models", Replicas: 1,
		Engine: runplan.Engine{Kind: "sim", HealthPath: "/health", MetricsPath: "/metrics"}}
	plan.Execution.Phases = runplan.Phases{Deploy: true, Benchmark: true, Cleanup: true}
	plan.Timeouts.Ready = runplan.Duration(eventually.Limit)
	edit(plan)
	if err := runplan.Identify(plan); err != nil {
		t.Fatal(err)
	}
	data, err := runplan.Marshal(plan)
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{t: t, dir: t.TempDir(), env: map[string]string{contract.EnvSelf: self}}
	b.env[contract.EnvRunDir] = b.dir
	if err := os.WriteFile(filepath.Join(b.dir, contract.FilePlan), data, 0o644); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.run("down") })
	return b
}

// run runs a subcommand and returns its exit code and what it said.
func (b *bench) run(sub string, more ...string) (int, string) {
	b.errs.Reset()
	args := append([]string{sub, "--plan-dir=" + b.dir, "--run-dir=" + b.dir, "--run-id=p-1"}, more...)
	if b.target != "" {
		args = append(args, "--target-dir="+b.target)
	}
	s := step.Streams{Out: &b.errs, Err: &b.errs, Env: func(k string) string { return b.env[k] }}
	return step.Run(context.Background(), "provision", Run, s, args), b.errs.String()
}

func (b *bench) processes() []Process {
	b.t.Helper()
	var procs []Process
	if err := step.ReadJSON(filepath.Join(b.dir, contract.FileProcesses), &procs); err != nil {
		b.t.Fatal(err)
	}
	return procs
}

func awaitDead(t *testing.T, procs []Process) {
	t.Helper()
	eventually.Nil(t, "the end of the processes", func() error {
		if left := living(procs); len(left) > 0 {
			return fmt.Errorf("still running: %v", left)
		}
		return nil
	})
}

func TestSimComesUpAndLeavesNothing(t *testing.T) {
	b := newBench(t, func(*runplan.RunPlan) {})
	result := filepath.Join(b.dir, "endpoint")
	if code, out := b.run("up", "--endpoint-result="+result); code != 0 {
		t.Fatalf("up: exit %d: %s", code, out)
	}
	url, err := os.ReadFile(result)
	if err != nil {
		t.Fatal(err)
	}
	if resp, err := http.Get(string(url) + "/health"); err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("the endpoint %s does not answer: %v %v", url, resp, err)
	}
	procs := b.processes()
	if code, out := b.run("release"); code != 0 {
		t.Fatalf("release: exit %d: %s", code, out)
	}
	awaitDead(t, procs)
	for _, file := range []string{contract.FileLastScrape, truthLog, contract.FileEngineLog} {
		if _, err := os.Stat(filepath.Join(b.dir, file)); err != nil {
			t.Error(err)
		}
	}
	for range 2 {
		if code, out := b.run("down"); code != 0 {
			t.Errorf("down is not repeatable: exit %d: %s", code, out)
		}
	}
}

func TestEngineDiesWithTheRun(t *testing.T) {
	t.Run("when the supervisor is killed", func(t *testing.T) {
		b := newBench(t, func(*runplan.RunPlan) {})
		if code, out := b.run("up"); code != 0 {
			t.Fatal(out)
		}
		procs := b.processes()
		syscall.Kill(procs[0].PID, syscall.SIGKILL)
		awaitDead(t, procs)
	})
	t.Run("when the executor is gone", func(t *testing.T) {
		b := newBench(t, func(*runplan.RunPlan) {})
		reader, writer, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer reader.Close() // holds it open: the garbage collector closes a file that nothing refers to
		b.env[contract.EnvLifeline] = fmt.Sprint(reader.Fd())
		if code, out := b.run("up"); code != 0 {
			t.Fatal(out)
		}
		procs := b.processes()
		if len(living(procs)) != 2 {
			t.Fatalf("supervisor and engine should run, got %v", living(procs))
		}
		writer.Close()
		awaitDead(t, procs)
	})
}

// boundPort returns the address of a port at which nobody listens and nobody else can begin to: the test holds it.
func boundPort(t *testing.T) string {
	t.Helper()
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { syscall.Close(fd) })
	if err := syscall.Bind(fd, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		t.Fatal(err)
	}
	at, err := syscall.Getsockname(fd)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("http://127.0.0.1:%d", at.(*syscall.SockaddrInet4).Port)
}

func TestUpFailsWithTheReason(t *testing.T) {
	locked := httptest.NewServer(
		http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusUnauthorized) }))
	defer locked.Close()
	closed := boundPort(t)
	other, err := sim.Listen(sim.Config{Models: []string{"other"}})
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	elsewhere := httptest.NewServer(
		http.HandlerFunc(func(http.ResponseWriter, *http.Request) { t.Error("a redirect was followed") }))
	defer elsewhere.Close()
	leads := httptest.NewServer(http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect))
	defer leads.Close()
	existing := func(url string) func(*runplan.RunPlan) {
		return func(p *runplan.RunPlan) { p.Deployment.Endpoint = &runplan.Endpoint{BaseURL: url} }
	}
	for _, row := range []struct {
		name string
		edit func(*runplan.RunPlan)
		code int
		want string
	}{
		{"a command that ends is reported with its last line", func(p *runplan.RunPlan) {
			p.Deployment.Engine = runplan.Engine{Kind: "command",
				Command: []string{"/bin/sh", "-c", "echo no such model >&2; exit 7"}}
		}, contract.ExitUnhealthy, "it ended with exit status 7; its last line: no such model"},
		{"arguments that the simulated engine does not know",
			func(p *runplan.RunPlan) { p.Deployment.Engine.Args = []string{"--no-such-flag"} },
			contract.ExitUnhealthy, "flag provided but not defined: -no-such-flag"},
		{"a command that does not exist", func(p *runplan.RunPlan) {
			p.Deployment.Engine = runplan.Engine{Kind: "command", Command: []string{"/no/such/server"}}
		}, contract.ExitUnhealthy, "no such file or directory"},
		{"another model than the plan's", existing(other.URL()), contract.ExitUnhealthy,
			`it serves "other", but the plan asks for "tiny"`},
		{"a server that wants a key", existing(locked.URL), contract.ExitUnhealthy, "set BFLOW_API_KEY"},
		{"a server that leads elsewhere", existing(leads.URL), contract.ExitUnhealthy,
			`it redirects to "` + elsewhere.URL + `", and bflow follows no redirect`},
		{"a credential in an argument, which everybody on this host can read", func(p *runplan.RunPlan) {
			p.Deployment.Engine = runplan.Engine{Kind: "command",
				Command: []string{"/bin/sh", "-c", "sleep 1", runplan.SecretKey{Name: "hub", Key: "token"}.Reference()}}
		}, contract.ExitUsage,
			"its arguments contain a credential, which everybody on this machine can read; pass it as a variable"},
		{"a Secret of bflow's own", func(p *runplan.RunPlan) {
			p.Deployment.Env = map[string]string{"A": runplan.SecretKey{Name: "bflow-submit-token", Key: "token"}.Reference()}
		}, contract.ExitUsage, "which is bflow's own; put the value into a Secret of your own"},
		{"nobody listens", func(p *runplan.RunPlan) {
			existing(closed)(p)
			p.Timeouts.Ready = runplan.Duration(time.Second)
		}, contract.ExitUnhealthy, "connection refused"},
		{"an engine that is never ready", func(p *runplan.RunPlan) {
			p.Deployment.Engine.Sim = &runplan.Sim{NotReady: runplan.Duration(time.Hour)}
			p.Timeouts.Ready = runplan.Duration(time.Second)
		}, contract.ExitUnhealthy, "not ready after 1s"},
		{"a platform with a router", func(p *runplan.RunPlan) { p.Deployment.Platform = "llm-d" },
			contract.ExitUsage, `platform "llm-d" is more than its model servers and needs a cluster`},
		{"an engine that needs a cluster", func(p *runplan.RunPlan) { p.Deployment.Engine.Kind = "triton" },
			contract.ExitUsage, "needs a cluster"},
		{"replicas on this host", func(p *runplan.RunPlan) { p.Deployment.Replicas = 2 }, contract.ExitUsage,
			"2 replicas need a cluster"},
	} {
		t.Run(row.name, func(t *testing.T) {
			b := newBench(t, row.edit)
			code, out := b.run("up")
			if code != row.code || !strings.Contains(out, row.want) {
				t.Errorf("exit %d, want %d; said %q, want %q in it", code, row.code, out, row.want)
			}
			if strings.Count(strings.TrimSpace(out), "\n") > 1 {
				t.Errorf("more than one sentence: %q", out)
			}
			if _, err := os.Stat(filepath.Join(b.dir, contract.FileProcesses)); !os.IsNotExist(err) {
				t.Errorf("processes are left on record: %v", err)
			}
		})
	}
}

func TestCommandGetsItsPortModelAndHomeAndNoCredentials(t *testing.T) {
	t.Setenv("BFLOW_API_KEY", "s3cret")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "s3cret")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	b := newBench(t, func(p *runplan.RunPlan) {
		p.Deployment.Env = map[string]string{"FLAVOUR": "plan"}
		p.Deployment.Engine = runplan.Engine{Kind: "command", HealthPath: "/health", MetricsPath: "/metrics",
			Command: []string{"/bin/sh", "-c",
				`echo "home $HOME, tmp $TMPDIR, flavour $FLAVOUR, keys '$BFLOW_API_KEY$AWS_SECRET_ACCESS_KEY'"; exec "$0" ` +
					`step sim-engine --port=$(port) --model=$(model)`, self}}
	})
	b.env[contract.EnvHostHome], b.env[contract.EnvHostTmp] = "/home/person", "/var/tmp"
	if code, out := b.run("up"); code != 0 {
		t.Fatalf("exit %d: %s", code, out)
	}
	log, err := os.ReadFile(filepath.Join(b.dir, contract.FileEngineLog))
	if want := "home /home/person, tmp /var/tmp, flavour plan, keys ''"; err != nil ||
		!strings.Contains(string(log), want) {
		t.Errorf("the engine's log is %q, want %q in it", log, want)
	}
	if !strings.Contains(string(log), "AWS_SECRET_ACCESS_KEY") || !strings.Contains(string(log), "BFLOW_API_KEY") {
		t.Errorf("the engine's log does not name what it was not given: %q", log)
	}
}
