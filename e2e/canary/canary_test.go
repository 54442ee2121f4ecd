package canary

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"bflow.dev/bflow/e2e/product"
	"bflow.dev/bflow/runplan/contract"
)

// foreign is the name under which this binary is an engine of somebody else.
const foreign = "foreign-engine"

func TestMain(m *testing.M) {
	if filepath.Base(os.Args[0]) == foreign {
		os.Exit(beForeign())
	}
	product.Main(m)
}

// fewest is how many places a secret can enter that this test has to know.
const fewest = 40

func TestNoCanaryIsSeenOutside(t *testing.T) {
	g := &garden{}
	t.Run("scenes", func(t *testing.T) {
		for _, row := range []struct {
			name string
			play func(*scene)
		}{
			{"a server of others that says back what it is told", echoed},
			{"a server of others that refuses", runWithoutKey},
			{"a server of others that fails", failed},
			{"an engine of others on this host", foreignEngine},
			{"a matrix that is killed and resumed", killed},
			{"a tracking server that says back what it is told", tracked},
			{"a tracking server that refuses", untracked},
			{"a cluster that refuses", clustered},
			{"secrets written into experiments", written},
			{"results of other tools", imported},
		} {
			t.Run(row.name, func(t *testing.T) {
				t.Parallel()
				s := newScene(t, g)
				row.play(s)
				s.check()
			})
		}
	})
	if len(g.places) < fewest {
		t.Errorf("canaries were planted in %d places, want at least %d", len(g.places), fewest)
	}
	t.Logf("canaries were planted in %d places", len(g.places))
}

// ownPrograms are those whose environment is as full as that of bflow.
func ownPrograms() []string {
	return []string{
		contract.Provision, contract.Smoketest, contract.LoadGen, contract.Collect, contract.MLflowPush, "sim-engine",
	}
}

// surround sets the variables that people have, whatever they do with bflow.
func surround(s *scene) {
	own := ownPrograms()
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN",
		"AZURE_CLIENT_SECRET", "AZURE_STORAGE_KEY", "GOOGLE_API_KEY",
		"OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GITHUB_TOKEN", "WANDB_API_KEY", "DB_PASSWORD",
		"GOOGLE_APPLICATION_CREDENTIALS"} {
		s.set(name, s.g.plant("variable "+name, own...))
	}
	for _, name := range []string{"HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"} {
		s.set(name, s.g.plant("variable "+name, append(own, foreign)...))
	}
	s.set("HTTPS_PROXY",
		"http://me:"+s.g.plant("password of the proxy in HTTPS_PROXY", append(own, foreign)...)+"@127.0.0.1:9")
	s.set("NO_PROXY", "127.0.0.1,localhost")
}

// experiment is one that measures a server at base for a moment; more is a part of spec.load.api.
func experiment(name, base, more string) string {
	return fmt.Sprintf(`
apiVersion: bflow.dev/v1alpha1
kind: Experiment
metadata: {name: %s}
spec:
  model: {name: acme/tiny}
  deployment_profile: existing-endpoint
  target: {base_url: %q, metrics_release_name: r}
  execution: {on_invalid: mark}
  load:
    api: {type: chat, timeout: 5s%s}
    data: {input: 16, output: 8}
    record: {gaps: true, texts: 4, slice: 250ms, parquet: true}
    stages: [{name: load, concurrency: 2, requests: 20}]
`, name, base, more)
}

// echoed is a whole run of an existing server, with everything that reads it.
func echoed(s *scene) {
	surround(s)
	s.set("BFLOW_API_KEY",
		s.g.plant("variable BFLOW_API_KEY", "engine", contract.Provision, contract.Smoketest, contract.LoadGen))
	s.set("BFLOW_PROMETHEUS_TOKEN_FILE", s.file("token", s.g.plant("the file of BFLOW_PROMETHEUS_TOKEN_FILE")))
	engine := s.serve("engine", chatty)
	prometheus := s.serve("prometheus", refusing)
	path := s.file("echo.yaml", experiment("echo", engine.URL, "")+"  metrics_profile: asked\n"+fmt.Sprintf(`---
apiVersion: bflow.dev/v1alpha1
kind: MetricsProfile
metadata: {name: asked}
spec: {prometheus_url: %q, queries: {up: up}}
`, prometheus.URL))
	s.must(contract.ExitPass, "validate", path)
	for _, form := range []string{"table", "json", "yaml"} {
		s.must(contract.ExitPass, "plan", "-o", form, path)
	}
	s.must(contract.ExitPass, "compile", path)
	s.must(contract.ExitPass, "run", "--local", "--dry-run", path)
	s.must(contract.ExitPass, "run", "--local", "--plain", path)
	first := s.Only().ID()
	s.readings(first)
	s.exports(first)
	s.must(contract.ExitPass, "rerun", "--local", "--plain", first)
	for _, run := range s.Every() {
		s.do("report", "--out", "both.html", first, run.ID())
	}
}

// runWithoutKey runs against a server that takes no key; the key comes from a file.
func runWithoutKey(s *scene) {
	surround(s)
	key := s.file("key", s.g.plant("the file of BFLOW_API_KEY_FILE", "engine")+"\n")
	s.set("BFLOW_API_KEY_FILE", key)
	engine := s.serve("engine", refusing)
	got := s.do("run", "--local", "--plain", s.file("refused.yaml", experiment("refused", engine.URL, "")))
	if got.Code == contract.ExitPass {
		s.t.Error("a server that refuses was measured")
	}
	s.readings(s.Only().ID())
}

// failed is a run whose requests all fail.
func failed(s *scene) {
	surround(s)
	s.set("BFLOW_API_KEY", s.g.plant("variable BFLOW_API_KEY of a run that fails", "engine", contract.Provision,
		contract.Smoketest, contract.LoadGen))
	engine := s.serve("engine", failing)
	got := s.do("run", "--local", "--plain", "--set", "execution.verify_completions=false",
		s.file("failed.yaml", experiment("failed", engine.URL, "")))
	if got.Code == contract.ExitPass || got.Code == contract.ExitUsage {
		s.t.Errorf("exit code %d: %s", got.Code, got.Err)
	}
	s.readings(s.Only().ID())
	s.exports(s.Only().ID())
}

// foreignEngine is a run whose engine is a program of somebody else, which prints all that it was given.
func foreignEngine(s *scene) {
	surround(s)
	s.set("BFLOW_API_KEY",
		s.g.plant("variable BFLOW_API_KEY beside an engine", contract.Provision, contract.Smoketest, contract.LoadGen))
	s.set("DATABASE_URL", "postgres://me:"+s.g.plant("password of an address in a variable", ownPrograms()...)+"@h/d")
	s.set("PIP_INDEX_URL",
		"https://"+s.g.plant("token as the user of an address in a variable", ownPrograms()...)+"@pypi.example/simple")
	s.set("CURL_OPTIONS", "--api-key "+s.g.plant("flag in a variable", ownPrograms()...))
	self, err := os.Executable()
	if err != nil {
		s.t.Fatal(err)
	}
	engine := filepath.Join(s.planted, foreign)
	if err := os.Symlink(self, engine); err != nil {
		s.t.Fatal(err)
	}
	got := s.do("run", "--local", "--plain", s.file("foreign.yaml", fmt.Sprintf(`
apiVersion: bflow.dev/v1alpha1
kind: DeploymentProfile
metadata: {name: here}
spec: {platform: kubernetes, mode: plain, engine: {kind: command, command: [%q, $(port)]}}
---
apiVersion: bflow.dev/v1alpha1
kind: Experiment
metadata: {name: foreign}
spec:
  model: {name: acme/tiny}
  deployment_profile: here
  execution: {on_invalid: mark}
  load:
    data: {input: 16, output: 8}
    stages: [{name: load, concurrency: 2, requests: 10}]
`, engine)))
	if log := s.do("logs", "--engine", s.Only().ID()); got.Code != contract.ExitPass ||
		!strings.Contains(log.Out, "PATH=") {
		s.t.Errorf("exit code %d, and the engine says %q:\n%s", got.Code, log.Out, got.Err)
	}
	s.readings(s.Only().ID())
}

// beForeign serves a model and prints everything about itself but what it may know.
func beForeign() int {
	fmt.Println(os.Args)
	for _, kv := range os.Environ() {
		if name, _, _ := strings.Cut(kv, "="); name != "HF_TOKEN" && name != "HUGGING_FACE_HUB_TOKEN" &&
			name != "HTTPS_PROXY" {
			fmt.Println(kv)
		}
	}
	fmt.Println(
		http.ListenAndServe("127.0.0.1:"+os.Args[1], http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/health" {
				return
			}
			chatty(w, r)
		})))
	return 1
}

// killed is a matrix of a simulated engine that is killed in its load, resumed and made again.
func killed(s *scene) {
	surround(s)
	s.set("BFLOW_API_KEY",
		s.g.plant("variable BFLOW_API_KEY of a matrix", contract.Provision, contract.Smoketest, contract.LoadGen))
	path := s.file("killed.yaml", `
apiVersion: bflow.dev/v1alpha1
kind: DeploymentProfile
metadata: {name: here}
spec: {platform: kubernetes, mode: plain, engine: {kind: sim}}
---
apiVersion: bflow.dev/v1alpha1
kind: Experiment
metadata: {name: killed}
spec:
  model: {name: acme/tiny}
  deployment_profile: here
  engine: {kind: sim, sim: {ttft: 10ms, itl: 2ms}}
  execution: {on_invalid: mark}
  load:
    data: {input: 16, output: 8}
    stages: [{name: load, concurrency: 4, duration: 1s}]
  matrix: {axes: {load.data.output: [4, 8]}}
`)
	cmd := s.Start("run", "--local", "--plain", path)
	run := s.AwaitLoad(5)
	cmd.Signal(syscall.SIGKILL)
	s.keep(cmd.Wait(), []string{"run", "killed"})
	run.AwaitNoProcess()
	s.readings(run.ID())
	s.must(contract.ExitPass, "resume", "--plain", run.ID())
	s.must(contract.ExitPass, "run", "--local", "--plain", path)
	runs := s.Every()
	s.do("report", "--out", "matrix.html", runs[0].ID(), runs[len(runs)-1].ID())
	s.readings(runs[len(runs)-1].ID())
	s.do("cancel", runs[0].ID())
	s.do("delete", runs[0].ID())
}

// simulated is a short run of the simulated engine.
const simulated = `
apiVersion: bflow.dev/v1alpha1
kind: DeploymentProfile
metadata: {name: here}
spec: {platform: kubernetes, mode: plain, engine: {kind: sim}}
---
apiVersion: bflow.dev/v1alpha1
kind: Experiment
metadata: {name: short}
spec:
  model: {name: acme/tiny}
  deployment_profile: here
  engine: {kind: sim, sim: {ttft: 5ms, itl: 1ms}}
  execution: {on_invalid: mark}
  load:
    data: {input: 16, output: 4}
    stages: [{name: load, concurrency: 2, requests: 20}]
`

// tracked is a run that is pushed to a tracking server whose address holds the password.
func tracked(s *scene) {
	server := s.serve("tracking", newTracking().serve)
	s.set("MLFLOW_TRACKING_URI", server.at(s.g.plant("user in MLFLOW_TRACKING_URI", "tracking", contract.MLflowPush),
		s.g.plant("password in MLFLOW_TRACKING_URI", "tracking", contract.MLflowPush), ""))
	s.set("MLFLOW_WORKSPACE", "team")
	s.must(contract.ExitPass, "run", "--local", "--plain", s.file("tracked.yaml", simulated))
	run := s.Only()
	if !run.Has("mlflow/run.json") {
		s.t.Error("the run was not pushed")
	}
	s.readings(run.ID())
	s.exports(run.ID())
	s.do("rerun", "--local", "--plain", "0123456789abcdef0123456789abcdef")
}

// untracked is a run that a tracking server refuses.
func untracked(s *scene) {
	for _, row := range []struct{ user, password, token string }{
		{token: s.g.plant("variable MLFLOW_TRACKING_TOKEN", "tracking", contract.MLflowPush)},
		{user: "me", password: s.g.plant("variable MLFLOW_TRACKING_PASSWORD", "tracking", contract.MLflowPush)},
	} {
		server := s.serve("tracking", refusing)
		before := s.Env
		s.set("MLFLOW_TRACKING_URI", server.at(
			"me", s.g.plant("password in a MLFLOW_TRACKING_URI that refuses", "tracking", contract.MLflowPush), ""))
		s.set("MLFLOW_TRACKING_TOKEN", row.token)
		s.set("MLFLOW_TRACKING_USERNAME", row.user)
		s.set("MLFLOW_TRACKING_PASSWORD", row.password)
		if got := s.do("run", "--local", "--plain", s.file("untracked.yaml", simulated)); got.Code == contract.ExitPass {
			s.t.Error("nothing says that the push failed")
		}
		s.do("rerun", "--local", "--plain", "0123456789abcdef0123456789abcdef")
		s.Env = before
	}
	for _, run := range s.Every() {
		s.readings(run.ID())
	}
}

// clustered asks a cluster that refuses, with every credential that a kubeconfig can hold.
func clustered(s *scene) {
	server := s.serve("cluster", refusing)
	key := base64.StdEncoding.EncodeToString([]byte("-----BEGIN PRIVATE KEY-----\n" +
		s.g.plant("client-key-data in a kubeconfig") + "\n-----END PRIVATE KEY-----\n"))
	config := s.file("kubeconfig", fmt.Sprintf(`
apiVersion: v1
kind: Config
current-context: token
clusters:
- {name: c, cluster: {server: %[1]q}}
- {name: proxied, cluster: {server: %[1]q, proxy-url: "http://me:%[2]s@127.0.0.1:9"}}
- {name: userinfo, cluster: {server: %[3]q}}
users:
- {name: token, user: {token: %[4]s}}
- {name: password, user: {username: me, password: %[5]s}}
- {name: key, user: {client-certificate-data: %[6]s, client-key-data: %[6]s}}
- name: program
  user: {exec: {apiVersion: client.authentication.k8s.io/v1, command: no-such-program, interactiveMode: Never, args: [--token, %[7]s], env: [{name: TOKEN, value: %[8]s}]}}
contexts:
- {name: token, context: {cluster: c, user: token}}
- {name: password, context: {cluster: c, user: password}}
- {name: key, context: {cluster: c, user: key}}
- {name: program, context: {cluster: c, user: program}}
- {name: proxied, context: {cluster: proxied, user: token}}
- {name: userinfo, context: {cluster: userinfo, user: token}}
`, server.URL, s.g.plant("password of proxy-url in a kubeconfig"), server.at("me", s.g.plant("password of a server in a kubeconfig", "cluster"), ""),
		s.g.plant("token in a kubeconfig", "cluster"), s.g.plant("password in a kubeconfig", "cluster"), key,
		s.g.plant("argument of a program in a kubeconfig"), s.g.plant("variable of a program in a kubeconfig")))
	path := s.file("short.yaml", simulated)
	for _, context := range []string{"token", "password", "key", "program", "proxied", "userinfo"} {
		way := []string{"--kubeconfig", config, "--context", context}
		s.do(append([]string{"list", "--cluster"}, way...)...)
		s.do(append(append([]string{"run", "--image-prefix", "r.example/b"}, way...), path)...)
		s.do(append(append([]string{"fetch"}, way...), "nightly")...)
		s.do(append([]string{"target", "list"}, way...)...)
	}
	s.do("doctor", "--no-pod", "--kubeconfig", config)
	s.do("target", "add", "--kubeconfig", config, "--hub-kubeconfig", config, "--wait", "0s", "far")
	s.do("bootstrap", "status", "--kubeconfig", config, "--timeout", "1s")
}
