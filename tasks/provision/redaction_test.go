package provision

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"bflow.dev/bflow/internal/apitest"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/tasks/provision/cluster"
	"bflow.dev/bflow/tasks/step"
)

const (
	serverKey = "sk-0123456789"
	hubToken  = "hf_abcdefgh"
)

// withSecrets measures a server that wants a key, and gives the engine a token.
func withSecrets(p *runplan.RunPlan) {
	p.Deployment.Env = map[string]string{"HF_TOKEN": runplan.SecretKey{Name: "hub", Key: "token"}.Reference()}
	p.Measurements = []runplan.Measurement{{Name: "load", API: runplan.API{Type: runplan.APIChat, VerifyTLS: true,
		APIKeySecret: &runplan.SecretKey{Name: "llm", Key: "key"}}}}
}

// secretsDir is the workspace with the values that withSecrets refers to.
func secretsDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.MkdirAll(filepath.Join(dir, "hub"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "hub", "token"), []byte(hubToken+"\n"), 0o400); err != nil {
		t.Fatal(err)
	}
	return dir
}

// lines are what an engine prints that shows its own arguments.
func lines() []string {
	return []string{
		"args: Namespace(host='0.0.0.0', api_key=['" + serverKey + "'], port=8000)",
		"api_server --port 8000 --api-key " + serverKey + " --model tiny",
		"HF_TOKEN=" + hubToken,
		"Authorization: Basic " + base64.StdEncoding.EncodeToString([]byte("me:"+serverKey)),
		"ready",
	}
}

// TestNoFileOfARunOnAClusterHoldsASecret that its engine prints, whichever step keeps its log. The last one is given no
// Secret, and goes by names.
func TestNoFileOfARunOnAClusterHoldsASecret(t *testing.T) {
	for _, row := range []struct {
		sub   string
		given bool
	}{{"release", true}, {"down", false}} {
		t.Run(row.sub, func(t *testing.T) {
			b, server := newRemoteBench(t, withSecrets)
			server.OnDelete(func(q apitest.Request, _ apitest.Object) {
				server.Remove(q.Path)
				for _, pod := range server.List(podsAt) {
					server.Remove(pod)
				}
			})
			labels := map[string]any{contract.LabelRun: "p-1", contract.LabelRelease: "p-90",
				contract.LabelRole: contract.RoleEngine}
			made := apitest.Object{"metadata": apitest.Object{"name": "p-90-sim", "labels": labels},
				"spec": apitest.Object{"template": apitest.Object{"metadata": apitest.Object{"labels": labels}}}}
			server.Put(deploymentsAt+"p-90-sim", made)
			pod := makePod(server, made, podReady)
			server.Say("bench", pod, "sim", lines()...)
			server.EndLog("bench", pod, "sim")
			var more []string
			if row.given {
				b.env[contract.EnvAPIKey] = serverKey
				more = append(more, "--secrets-dir="+secretsDir(t))
			}
			if code, out := b.run(row.sub, more...); code != 0 {
				t.Fatalf("exit %d: %s", code, out)
			}
			for _, file := range []string{contract.FileEngineLog, filepath.Join(cluster.DirLogs, pod+".sim.log")} {
				text, err := os.ReadFile(filepath.Join(b.dir, file))
				if err != nil || !strings.Contains(string(text), "ready\n") {
					t.Errorf("%s: %q, %v", file, text, err)
				}
				if secret := shown(string(text)); secret != "" {
					t.Errorf("%s shows %q: %s", file, secret, text)
				}
			}
		})
	}
}

// shown is what a text shows of the secrets, "" where it shows none.
func shown(text string) string {
	for _, secret := range []string{serverKey, hubToken, base64.StdEncoding.EncodeToString([]byte("me:" + serverKey))} {
		if strings.Contains(text, secret) {
			return secret
		}
	}
	return ""
}

// TestAStartThatFailedSaysNoSecret of the last line that its engine printed.
func TestAStartThatFailedSaysNoSecret(t *testing.T) {
	b, server := newRemoteBench(t, withSecrets)
	server.OnCreate(func(q apitest.Request, made apitest.Object) {
		if q.Resource == "deployments" {
			server.Say("bench", makePod(server, made, podCrash), apitest.Previous("sim"), "no access with "+hubToken)
		}
	})
	server.OnDelete(func(q apitest.Request, _ apitest.Object) {
		server.Remove(q.Path)
		for _, pod := range server.List(podsAt) {
			server.Remove(pod)
		}
	})
	code, out := b.run("up", "--secrets-dir="+secretsDir(t))
	if code != contract.ExitUnhealthy || !strings.Contains(out, "its last line: no access with [secret]") {
		t.Errorf("exit %d: %s", code, out)
	}
	if text, err := os.ReadFile(filepath.Join(b.dir, contract.FileEvents)); err != nil || shown(string(text)) != "" {
		t.Errorf("an event says it: %s, %v", text, err)
	}
}

// TestTheLogOfAnEngineOnThisHostHoldsNoSecret: the engine writes a key in two parts, as one that flushes at any place.
func TestTheLogOfAnEngineOnThisHostHoldsNoSecret(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	b := newBench(t, func(p *runplan.RunPlan) {
		withSecrets(p)
		p.Deployment.Engine = runplan.Engine{Kind: "command", HealthPath: "/health", MetricsPath: "/metrics",
			Command: []string{"/bin/sh", "-c",
				`echo "token $HF_TOKEN"; printf 'key sk-0123'; printf '456789.\nend\n' >&2; exec "$0" step sim-engine ` +
					`--port=$(port) --model=$(model)`, self}}
	})
	b.env[contract.EnvAPIKey] = serverKey
	if code, out := b.run("up", "--secrets-dir="+secretsDir(t)); code != 0 {
		t.Fatalf("exit %d: %s", code, out)
	}
	text, err := os.ReadFile(filepath.Join(b.dir, contract.FileEngineLog))
	if want := "token [secret]\nkey [secret].\nend\n"; err != nil || !strings.Contains(string(text), want) {
		t.Errorf("the log is %q, %v, want %q in it", text, err, want)
	}
	var procs []Process
	if err := step.ReadJSON(filepath.Join(b.dir, contract.FileProcesses), &procs); err != nil {
		t.Fatal(err)
	}
	for _, p := range procs {
		for _, file := range []string{"cmdline", "environ"} {
			if seen, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(p.PID), file)); err == nil &&
				strings.Contains(string(seen), serverKey) {
				t.Errorf("%s of the %s shows the key", file, p.Role)
			}
		}
	}
}
