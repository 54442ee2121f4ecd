package provision

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
)

// TestAnEngineOfPATHRunsHere: what its kind is started with reaches a program, which is the simulated engine here.
func TestAnEngineOfPATHRunsHere(t *testing.T) {
	for _, row := range []struct {
		name    string
		kind    string
		program string // in PATH, or the one that the file names
		named   bool
		want    string // in its arguments
	}{
		{name: "vLLM", kind: "vllm", program: "python3", want: "-m vllm.entrypoints.openai.api_server --model=acme/tiny "},
		{name: "SGLang", kind: "sglang", program: "python3", want: "-m sglang.launch_server --model-path=acme/tiny "},
		{name: "vLLM of a virtual environment", kind: "vllm", program: "serve", named: true, want: "--model=acme/tiny "},
	} {
		t.Run(row.name, func(t *testing.T) {
			dir := t.TempDir()
			said := filepath.Join(dir, "arguments")
			path := standIn(t, filepath.Join(dir, row.program), said)
			b := newBench(t, func(p *runplan.RunPlan) {
				p.Deployment.Model.Name = "acme/tiny"
				p.Deployment.Engine = runplan.Engine{Kind: row.kind, HealthPath: "/health", MetricsPath: "/metrics", Port: 8000}
				p.Deployment.ModelStorage = &runplan.ModelStorage{PVCName: "models", CacheDir: "/models", MountPath: "/cache"}
				if row.named {
					p.Deployment.Engine.Command = []string{path}
				}
			})
			if !row.named {
				t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
			}
			result := filepath.Join(b.dir, "endpoint")
			if code, out := b.run("up", "--endpoint-result="+result); code != 0 {
				t.Fatalf("up: exit %d: %s", code, out)
			}
			url, err := os.ReadFile(result)
			if err != nil {
				t.Fatal(err)
			}
			resp, err := http.Get(string(url) + "/health")
			if err != nil || resp.StatusCode != http.StatusOK {
				t.Fatalf("the endpoint %s does not answer: %v %v", url, resp, err)
			}
			resp.Body.Close()
			text, err := os.ReadFile(said)
			if err != nil || !strings.Contains(string(text), row.want) {
				t.Errorf("it was started with %q, %v, want %q", text, err, row.want)
			}
			procs := b.processes()
			if code, out := b.run("release"); code != 0 {
				t.Fatalf("release: exit %d: %s", code, out)
			}
			awaitDead(t, procs)
		})
	}
}

// standIn makes a program that writes its arguments to said and becomes the simulated engine at the same address.
func standIn(t *testing.T, path, said string) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	script := fmt.Sprintf(`#!/bin/sh
echo "$*" > %q
for a in "$@"; do
	case "$a" in
	--port=*|--host=*) own="$own $a" ;;
	--served-model-name=*) own="$own --model=${a#*=}" ;;
	esac
done
exec %q step sim-engine $own
`, said, self)
	if err := os.WriteFile(path, []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestAnEngineThatIsNotHereIsNamed(t *testing.T) {
	b := newBench(t, func(p *runplan.RunPlan) { p.Deployment.Engine = runplan.Engine{Kind: "sglang"} })
	t.Setenv("PATH", t.TempDir())
	code, out := b.run("up")
	if code == contract.ExitPass || !strings.Contains(out, `starting engine sglang of "p"`) ||
		!strings.Contains(out, "install it, or set engine.command") {
		t.Errorf("exit %d: %s", code, out)
	}
}
