package smoketest

import (
	"bytes"
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bflow.dev/bflow/internal/eventually"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/sim"
	"bflow.dev/bflow/tasks/step"
)

func plan(edit func(*runplan.RunPlan)) *runplan.RunPlan {
	p := &runplan.RunPlan{APIVersion: runplan.APIVersion, Kind: runplan.Kind, Name: "p", Experiment: "p", Index: 1}
	p.Deployment = runplan.Deployment{Model: runplan.Model{Name: "tiny"}, Replicas: 1,
		Engine: runplan.Engine{Kind: "sim", HealthPath: "/health"}}
	p.Execution.VerifyCompletions = true
	p.Measurements = []runplan.Measurement{{Name: "load",
		API: runplan.API{Type: "chat", Path: "/v1/chat/completions", Stream: true,
			ExactOutput: true, Timeout: runplan.Duration(eventually.Limit)}}}
	if edit != nil {
		edit(p)
	}
	return p
}

// smoke runs the task against a simulated engine and returns exit code, what it said and the result file.
func smoke(t *testing.T, cfg sim.Config, p *runplan.RunPlan, env map[string]string) (int, string, Result) {
	t.Helper()
	srv, err := sim.Listen(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer srv.Close()
	return ask(t, planned(t, p), srv.URL(), env)
}

// planned makes a run directory with a plan.
func planned(t *testing.T, p *runplan.RunPlan) string {
	t.Helper()
	dir := t.TempDir()
	if err := runplan.Identify(p); err != nil {
		t.Fatal(err)
	}
	data, err := runplan.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, contract.FilePlan), data, 0o644); err != nil {
		t.Fatal(err)
	}
	return dir
}

// ask runs the task against the server at endpoint.
func ask(t *testing.T, dir, endpoint string, env map[string]string) (int, string, Result) {
	t.Helper()
	var errs bytes.Buffer
	s := step.Streams{Out: &errs, Err: &errs, Env: func(k string) string { return env[k] }}
	code := step.Run(context.Background(), "smoketest", Run, s,
		[]string{"--plan-dir=" + dir, "--run-dir=" + dir, "--run-id=p-1", "--endpoint=" + endpoint})
	var r Result
	if err := step.ReadJSON(filepath.Join(dir, contract.FileSmoketest), &r); err != nil {
		t.Fatal(err)
	}
	return code, errs.String(), r
}

func TestAHealthyServerPassesEveryCheck(t *testing.T) {
	code, out, r := smoke(t, sim.Config{Models: []string{"tiny"}}, plan(nil), nil)
	if code != 0 || !r.Passed {
		t.Fatalf("exit %d: %s", code, out)
	}
	for _, c := range r.Checks {
		if c.Verdict != Pass && c.Name != "auth header" {
			t.Errorf("%s: %s: %s", c.Name, c.Verdict, c.Evidence)
		}
	}
}

func TestAnUnfitServerIsNamedInOneSentence(t *testing.T) {
	fault := func(kind string) sim.Config {
		return sim.Config{Models: []string{"tiny"}, Sim: runplan.Sim{Faults: []runplan.Fault{{Kind: kind}}}}
	}
	for _, row := range []struct {
		name string
		cfg  sim.Config
		want string
	}{
		{"another model", sim.Config{Models: []string{"big"}}, `served model: it serves "big", but the plan asks for "tiny"`},
		{"every request fails", sim.Config{Models: []string{"tiny"}, Sim: runplan.Sim{FailureRate: 1}}, "measured API: POST"},
		{"it is not ready", sim.Config{Models: []string{"tiny"}, Sim: runplan.Sim{NotReady: runplan.Duration(time.Hour)}},
			"health: GET"},
		{"short answers", fault("short_output"), "requested length: requested exactly 8 tokens"},
		{"an error event", fault("error_event"), "measured API: POST"},
		{"a stream without its end", fault("no_done"), "ended without [DONE]"},
	} {
		t.Run(row.name, func(t *testing.T) {
			code, out, r := smoke(t, row.cfg, plan(nil), nil)
			last := out[strings.LastIndex(strings.TrimSpace(out), "\n")+1:]
			if code != contract.ExitUnhealthy || r.Passed || !strings.Contains(last, row.want) {
				t.Errorf("exit %d, want 3; the last line is %q, want %q in it", code, last, row.want)
			}
		})
	}
}

// TestAServerThatLeadsElsewhereIsUnfit: what a load puts to it would go nowhere, and its key goes nowhere else.
func TestAServerThatLeadsElsewhereIsUnfit(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("%s %s was asked there, with %q", r.Method, r.URL, r.Header.Get("Authorization"))
	}))
	defer elsewhere.Close()
	server := httptest.NewTLSServer(http.RedirectHandler(elsewhere.URL+"/v1?key=s3cret", http.StatusTemporaryRedirect))
	defer server.Close()
	dir := planned(t, plan(nil))
	code, out, r := ask(t, dir, server.URL, map[string]string{"BFLOW_API_KEY": "sesame"})
	if want := `it redirects to "` + elsewhere.URL +
		`/v1", and bflow follows no redirect`; code != contract.ExitUnhealthy || r.Passed || !strings.Contains(out, want) {
		t.Errorf("exit %d, want 3 and %q: %s", code, want, out)
	}
	if strings.Contains(out, "sesame") || strings.Contains(out, "s3cret") {
		t.Errorf("it says a secret: %s", out)
	}
}

func TestAuth(t *testing.T) {
	cfg := sim.Config{Models: []string{"tiny"}, APIKey: "sesame"}
	t.Run("the right key passes, and is demanded", func(t *testing.T) {
		code, out, r := smoke(t, cfg, plan(nil), map[string]string{"BFLOW_API_KEY": "sesame"})
		if code != 0 || r.Checks[len(r.Checks)-1].Verdict != Pass {
			t.Errorf("exit %d: %s", code, out)
		}
	})
	t.Run("a wrong key fails and is not printed", func(t *testing.T) {
		code, out, _ := smoke(t, cfg, plan(nil), map[string]string{"BFLOW_API_KEY": "open-wrong"})
		if code != contract.ExitUnhealthy || strings.Contains(out, "open-wrong") {
			t.Errorf("exit %d: %s", code, out)
		}
	})
}

func TestWithoutVerifyCompletionsNothingIsGenerated(t *testing.T) {
	p := plan(func(p *runplan.RunPlan) { p.Execution.VerifyCompletions = false })
	code, out, r := smoke(t, sim.Config{Models: []string{"tiny"}, Sim: runplan.Sim{FailureRate: 1}}, p, nil)
	if code != 0 || len(r.Checks) != 2 {
		t.Errorf("exit %d: %s", code, out)
	}
}
