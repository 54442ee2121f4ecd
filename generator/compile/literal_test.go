package compile

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"bflow.dev/bflow/generator/plan"
	"bflow.dev/bflow/generator/spec"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/literal"
)

// canary is a credential that must be found in nothing but the Secret that it is moved into.
const canary = "c4nary-0f-n0b0dy"

// literalFile is an experiment with a place for everything that may hold a credential.
const literalFile = `
apiVersion: bflow.dev/v1alpha1
kind: DeploymentProfile
metadata: {name: plain}
spec: {platform: kubernetes, mode: plain, @DEPLOYMENT, runtime: {@ENV}}
---
apiVersion: bflow.dev/v1alpha1
kind: MetricsProfile
metadata: {name: detailed}
spec: {prometheus_url: "@PROMETHEUS", queries: {up: 'up{namespace="$namespace"}'}}
---
apiVersion: bflow.dev/v1alpha1
kind: Experiment
metadata: {name: literal}
spec:
  model: {name: acme/tiny-1b}
  deployment_profile: plain
  @TARGET
  load:
    api: {@API}
    data: {@DATA}
    stages: [{concurrency: 1, duration: 10s}]
`

// withLiteral is literalFile with text in one of its places.
func withLiteral(place, text string) string {
	file := literalFile
	for _, other := range []struct{ name, empty string }{
		{"ENV", ""}, {"DEPLOYMENT", "engine: {kind: sim}"}, {"PROMETHEUS", "https://prom.example"},
		{"TARGET", "namespace: bench"}, {"API", "stream: true"},
		{"DATA", "input: 3, output: 3"},
	} {
		content := other.empty
		if other.name == place {
			content = text
		}
		file = strings.Replace(file, "@"+other.name, content, 1)
	}
	return file
}

func TestALiteralCredentialStandsInItsSecretAlone(t *testing.T) {
	type row struct{ name, place, text string }
	var rows []row
	for _, name := range strings.Fields(`Ocp-Apim-Subscription-Key x-goog-api-key apikey
		CF-Access-Client-Secret X_API_KEY Cookie X-Auth-Token Proxy-Authorization`) {
		rows = append(rows, row{"header " + name, "API", fmt.Sprintf("headers: {%s: %s}", name, canary)})
	}
	for _, name := range strings.Fields(`HF_TOKEN HUGGING_FACE_HUB_TOKEN AWS_SECRET_ACCESS_KEY
		AWS_ACCESS_KEY_ID DB_PASSWORD OPENAI_API_KEY AZURE_CLIENT_SECRET`) {
		rows = append(rows, row{"variable " + name, "ENV", fmt.Sprintf("env: {%s: %s}", name, canary)})
	}
	for _, name := range strings.Fields(`api_key apiKey access_token password client_secret`) {
		rows = append(rows, row{"member " + name, "API", fmt.Sprintf("body: {extra: [{%s: %s}]}", name, canary)})
	}
	for _, address := range []string{"https://me:" + canary + "@h.example", "https://" + canary + "@h.example",
		"https://h.example/?key=" + canary,
		"https://h.example/a?x=1&api_key=" + canary, "https://h.example/?sig=" + canary} {
		rows = append(rows, row{"the server at " + address, "TARGET", fmt.Sprintf("target: {base_url: %q}", address)},
			row{"Prometheus at " + address, "PROMETHEUS", address},
			row{"prompts at " + address, "DATA", fmt.Sprintf("output: 3, file: {format: csv, url: %q}", address)},
			row{"a trace at " + address, "DATA", fmt.Sprintf("trace: {format: mooncake, url: %q}", address)},
			row{"a variable with " + address, "ENV", fmt.Sprintf("env: {UPSTREAM: %q}", address)},
			row{"a member with " + address, "API", fmt.Sprintf("body: {callback: %q}", address)})
	}
	rows = append(rows, row{"a bearer token", "API", "headers: {Authorization: Bearer " + canary + "}"},
		row{"a basic authorization", "API", "headers: {authorization: Basic " + canary + "}"},
		row{"a credential of several members", "API", "body: {credentials: {user: " + canary + "}}"},
		row{"a parameter of the path", "API", "path: \"/v1/chat/completions?key=" + canary + "\""},
		row{"an argument", "DEPLOYMENT", "engine: {kind: sim, args: [--api-key, " + canary + "]}"},
		row{"a joined argument", "DEPLOYMENT", "engine: {kind: sim, args: [--hf-token=" + canary + "]}"})
	for _, r := range rows {
		t.Run(r.name, func(t *testing.T) {
			said, taken, written := compileLiteral(t, withLiteral(r.place, r.text))
			if strings.Contains(said+written, canary) {
				t.Errorf("it is in\n%s\n%s", said, written)
			}
			if !slices.ContainsFunc(taken, func(s literal.Secret) bool { return strings.Contains(s.Value, canary) }) {
				t.Errorf("it is in no Secret: %v", taken)
			}
			for _, s := range taken {
				if !strings.Contains(written, s.Name) || !strings.Contains(said, s.Name) {
					t.Errorf("Secret %s is named by nothing, or not told of: %s", s.Name, said)
				}
			}
		})
	}
}

// TestALiteralCredentialStandsInNoPlan: neither where a run of it stays on one's own machine, nor on another platform.
func TestALiteralCredentialStandsInNoPlan(t *testing.T) {
	for _, row := range []struct{ name, text string }{
		{"an argument of an engine command", withLiteral("DEPLOYMENT",
			"engine: {kind: command, command: [/server, --api-key, "+canary+"]}")},
		{"the address of a repository", strings.Replace(withLiteral("", ""),
			"platform: kubernetes, mode: plain, engine: {kind: sim},",
			`platform: llm-d, mode: inference-scheduling, repo_url: "https://me:`+canary+`@git.example/llm-d",`, 1)},
	} {
		t.Run(row.name, func(t *testing.T) {
			set, problems := spec.LoadBytes(spec.Options{}, "experiment.yaml", []byte(row.text))
			if err := problems.Err(); err != nil {
				t.Fatal(err)
			}
			m, problems := plan.Expand(set.Experiments[0], set.Catalogue, plan.Options{})
			if err := problems.Err(); err != nil {
				t.Fatal(err)
			}
			for p, found := range m.Plans() {
				if err := found.Err(); err != nil {
					t.Fatal(err)
				}
				text, err := runplan.Marshal(p)
				if err != nil || strings.Contains(string(text), canary) ||
					!strings.Contains(string(text), "secretKeyRef~bflow-literal-") {
					t.Errorf("%v: the plan is %s", err, text)
				}
			}
			if all := m.Secrets(); !slices.ContainsFunc(all, func(s literal.Secret) bool { return s.Value == canary }) {
				t.Errorf("it is in none of Secrets %v", all)
			}
		})
	}
}

// TestAValueOfASecretIsNamedWhereACredentialMayStand: the plan holds what stands for it, and the run says which Secret
// it needs.
func TestAValueOfASecretIsNamedWhereACredentialMayStand(t *testing.T) {
	const from = "{valueFrom: {secretKeyRef: {name: hub, key: token}}}"
	reference := runplan.SecretKey{Name: "hub", Key: "token"}.Reference()
	for _, row := range []struct{ name, place, text string }{
		{"a variable of the engine", "ENV", "env: {HF_TOKEN: " + from + "}"},
		{"a variable of another name", "ENV", "env: {A: " + from + "}"},
		{"a header", "API", "headers: {apikey: " + from + "}"},
		{"a member of the body", "API", "body: {extra: [{api_key: " + from + "}]}"},
		{"the server", "TARGET", "target: {base_url: " + from + "}"},
		{"a part of the server's address", "TARGET", `target: {base_url: "https://me:` + reference + `@h.example"}`},
		{"Prometheus", "PROMETHEUS", from},
		{"prompts", "DATA", "output: 3, file: {format: csv, url: " + from + "}"},
		{"a trace", "DATA", "trace: {format: mooncake, url: " + from + "}"},
	} {
		t.Run(row.name, func(t *testing.T) {
			text := withLiteral(row.place, row.text)
			said, taken, written := compileLiteral(t, strings.Replace(text, `"`+from+`"`, from, 1))
			if len(taken) > 0 || strings.Contains(said, "literal") {
				t.Errorf("it is taken for a literal: %v\n%s", taken, said)
			}
			if !strings.Contains(written, reference) || !strings.Contains(written, "name: hub") {
				t.Errorf("nothing needs Secret hub in\n%s", written)
			}
		})
	}
}

// TestVariablesOfALoadAreOfSecretsToo: those of a profile, and those that an experiment changes.
func TestVariablesOfALoadAreOfSecretsToo(t *testing.T) {
	const file = `
apiVersion: bflow.dev/v1alpha1
kind: DeploymentProfile
metadata: {name: plain}
spec: {platform: kubernetes, mode: plain, engine: {kind: sim}}
---
apiVersion: bflow.dev/v1alpha1
kind: MetricsProfile
metadata: {name: detailed}
spec: {prometheus_url: "https://prom.example", queries: {up: up}}
---
apiVersion: bflow.dev/v1alpha1
kind: BenchmarkProfile
metadata: {name: own}
spec: {env: {HF_TOKEN: %[1]s}, guidellm: {profile: {kind: concurrent, streams: [4]}, constraint: [{kind: max_requests, count: 10}]}}
---
apiVersion: bflow.dev/v1alpha1
kind: Experiment
metadata: {name: literal}
spec: {namespace: bench, model: {name: acme/tiny-1b}, deployment_profile: plain, benchmark_profile: own, overrides: {benchmark: {env: {WANDB_KEY: %[1]s}}}}
`
	said, taken, written := compileLiteral(t, fmt.Sprintf(file, "{valueFrom: {secretKeyRef: {name: hub, key: token}}}"))
	reference := runplan.SecretKey{Name: "hub", Key: "token"}.Reference()
	for _, name := range []string{"HF_TOKEN", "WANDB_KEY"} {
		if !strings.Contains(written, fmt.Sprintf("%q:%q", name, reference)) {
			t.Errorf("the plan has no variable %s of Secret hub", name)
		}
	}
	if len(taken) > 0 || !strings.Contains(written, "name: hub") {
		t.Errorf("taken for literals: %v, or nothing needs Secret hub; said %s", taken, said)
	}
	said, taken, written = compileLiteral(t, fmt.Sprintf(file, canary))
	if len(taken) != 1 || strings.Contains(said+written, canary) || !strings.Contains(written, taken[0].Name) {
		t.Errorf("a literal one is in no Secret: %v, or in what is said or written; said %s", taken, said)
	}
}

// compileLiteral returns the problems of a file, the credentials that were taken out of it, and what it compiles to.
func compileLiteral(t *testing.T, text string) (said string, taken []literal.Secret, written string) {
	t.Helper()
	set, problems := spec.LoadBytes(spec.Options{}, "experiment.yaml", []byte(text))
	if err := problems.Err(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	m, more := plan.Expand(set.Experiments[0], set.Catalogue, plan.Options{})
	problems = append(problems, more...)
	if err := more.Err(); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	problems = append(problems, m.Check()...)
	var out bytes.Buffer
	err := Write(&out, func(yield func(*runplan.RunPlan, error) bool) {
		for p, found := range m.Plans() {
			if !yield(p, found.Err()) {
				return
			}
		}
	}, Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		said += p.Error() + "\n"
	}
	return said, m.Secrets(), out.String()
}

func TestASecretOfBflowsOwnIsRefused(t *testing.T) {
	for name, change := range map[string]func(*runplan.RunPlan){
		"a variable": func(p *runplan.RunPlan) {
			p.Deployment.Env = map[string]string{"A": runplan.SecretKey{Name: "bflow-submit-token", Key: "token"}.Reference()}
		},
		"the API key": func(p *runplan.RunPlan) {
			p.Measurements[0].API.APIKeySecret = &runplan.SecretKey{Name: "bflow-x-target", Key: "token"}
		},
		"a kubeconfig": func(p *runplan.RunPlan) { p.Target.KubeconfigSecret = "bflow-x-target" },
	} {
		if _, err := Compile(MakePlan(t, change), Options{}); err == nil ||
			!strings.Contains(err.Error(), "which is bflow's own; put the value into a Secret of your own") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
