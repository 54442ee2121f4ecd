package provision

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bflow.dev/bflow/internal/apitest"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/tasks/step"
)

// podOf is the status of an engine's pod: its container's restarts, its state, and how it ended the last time.
func podOf(restarts int, state, last string) string {
	return fmt.Sprintf(`{"phase":"Running","conditions":[{"type":"Ready","status":"True"}],
		"containerStatuses":[{"name":"sim","restartCount":%d,"state":{%s},"lastState":{%s}}]}`, restarts, state, last)
}

// TestARestartCountsOnceTheEngineWasReady: an engine that crashed while it loaded has served the whole load.
func TestARestartCountsOnceTheEngineWasReady(t *testing.T) {
	const (
		running = `"running":{}`
		crash   = `"terminated":{"exitCode":1,"reason":"Error"}`
		oom     = `"terminated":{"exitCode":137,"reason":"OOMKilled"}`
		backOff = `"waiting":{"reason":"CrashLoopBackOff"}`
	)
	for _, row := range []struct {
		name, ready, later string
		log                string // which is the log of the engine
		end                string // how it is said to have ended
	}{
		{"it never crashed", podOf(0, running, ""), podOf(0, running, ""), "serving", ""},
		{"it crashed while it loaded", podOf(1, running, crash), podOf(1, running, crash), "serving", ""},
		{"it crashed twice while it loaded", podOf(2, running, crash), podOf(2, running, crash), "serving", ""},
		{"it crashed under load", podOf(0, running, ""), podOf(1, running, oom), "crashed", "OOMKilled (exit code 137)"},
		{"it crashed while it loaded, and under load", podOf(1, running, crash), podOf(2, running, oom), "crashed",
			"OOMKilled (exit code 137)"},
		{"it crashed while it loaded, and has just ended", podOf(1, running, crash), podOf(1, oom, crash), "serving",
			"OOMKilled (exit code 137)"},
		{"it crashed while it loaded, and is to be started again", podOf(1, running, crash), podOf(1, backOff, oom),
			"serving",
			"OOMKilled (exit code 137)"},
	} {
		t.Run(row.name, func(t *testing.T) {
			b, server := newRemoteBench(t, func(*runplan.RunPlan) {})
			var pod string
			server.OnCreate(func(q apitest.Request, made apitest.Object) {
				if q.Resource == "deployments" {
					pod = makePod(server, made, row.ready)
					server.Say("bench", pod, "sim", "serving")
					server.Say("bench", pod, apitest.Previous("sim"), "crashed")
					available(server, q.Path)
				}
			})
			server.OnDelete(func(q apitest.Request, _ apitest.Object) {
				server.Remove(q.Path)
				for _, pod := range server.List(podsAt) {
					server.Remove(pod)
				}
			})
			server.Proxy(
				http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte(`{"data":[{"id":"tiny"}]}`)) }))
			if code, out := b.run("up"); code != 0 {
				t.Fatalf("up: exit %d: %s", code, out)
			}
			server.Change(podsAt+pod, func(p apitest.Object) { p["status"] = json.RawMessage(row.later) })
			if code, out := b.run("release"); code != 0 {
				t.Fatalf("release: exit %d: %s", code, out)
			}
			if text, err := os.ReadFile(filepath.Join(b.dir, contract.FileEngineLog)); err != nil ||
				!strings.Contains(string(text), row.log) {
				t.Errorf("the log of the engine is %q, %v, want %q", text, err, row.log)
			}
			var exit exitRecord
			err := step.ReadJSON(filepath.Join(b.dir, contract.FileEngineExit), &exit)
			if want := row.end; (err == nil) != (want != "") || !strings.HasPrefix(exit.Text, want) {
				t.Errorf("it is said to have ended with %q, %v, want %q", exit.Text, err, want)
			}
		})
	}
}
