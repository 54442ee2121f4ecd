package canary

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"bflow.dev/bflow/runplan/contract"
)

// written are experiments that hold secrets in plain text: they may be refused, or their secrets moved elsewhere.
func written(s *scene) {
	engine := s.serve("engine", chatty)
	data := s.serve("data", refusing)
	rows := map[string]string{
		"password of base_url": experiment("w",
			engine.at("me", s.plantFor("password of base_url", "engine"), ""), ""),
		"query key of base_url": experiment("w",
			engine.at("", "", "key="+s.plantFor("query key of base_url", "engine")), ""),
		"body.api_key": experiment("w", engine.URL,
			", body: {api_key: "+s.plantFor("body.api_key", "engine")+"}"),
		"body in depth": experiment("w", engine.URL,
			", body: {extra: {auth_token: "+s.plantFor("body in depth", "engine")+"}}"),
		"an unknown field": experiment("w", engine.URL, ", api_key: "+s.plantFor("an unknown field")),
		"a Secret that is a text": experiment("w", engine.URL,
			", api_key_secret: "+s.plantFor("a Secret that is a text")),
		"a field of another type": experiment("w", engine.URL, ", timeout: "+s.plantFor("a field of another type")),
		"query of the path": experiment("w", engine.URL,
			`, path: "/v1/chat/completions?key=`+s.plantFor("query of the path", "engine")+`"`),
		"variable of the load": experiment("w", engine.URL, "") +
			"  overrides: {benchmark: {env: {OPENAI_API_KEY: " + s.plantFor("variable of the load", "engine") + "}}}\n",
		"variable of the engine": experiment("w", engine.URL, "") + "  overrides: {runtime: {env: {HF_TOKEN: " +
			s.plantFor("variable of the engine") + "}}}\n",
		"argument of the engine": experiment("w", engine.URL, "") +
			"  overrides: {runtime: {vllm_args: [--api-key, " + s.plantFor("argument of the engine") + "]}}\n",
		"password of a data set": strings.Replace(experiment("w", engine.URL, ""),
			"data: {input: 16, output: 8}", fmt.Sprintf("data: {output: 8, file: {url: %q, format: text}}",
				data.at("me", s.plantFor("password of a data set", "data"), "")), 1),
		"signature of a data set": strings.Replace(experiment("w", engine.URL, ""),
			"data: {input: 16, output: 8}", fmt.Sprintf("data: {output: 8, file: {url: %q, format: text}}",
				data.at("", "", "X-Amz-Signature="+s.plantFor("signature of a data set", "data"))), 1),
		"password of a trace": strings.Replace(experiment("w", engine.URL, ""),
			"data: {input: 16, output: 8}", fmt.Sprintf("data: {trace: {format: mooncake, url: %q}}",
				data.at("me", s.plantFor("password of a trace", "data"), "")), 1),
		"key of a block of GuideLLM": guidellm(engine.URL,
			"backend: {api_key: "+s.plantFor("key of a block of GuideLLM", "engine")+"}"),
		"password of Prometheus": prometheus(engine.URL,
			data.at("me", s.plantFor("password of Prometheus", "data"), "")),
		"tag of MLflow named like a key": experiment("w", engine.URL, "") + "  mlflow: {tags: {api_key: " +
			s.plantFor("tag of MLflow named like a key") + "}}\n",
	}
	for _, name := range []string{"Authorization", "X-Api-Key", "Ocp-Apim-Subscription-Key", "x-goog-api-key", "apikey",
		"CF-Access-Client-Secret", "Proxy-Authorization", "Cookie",
		"X_API_KEY", "X-Amz-Security-Token"} {
		rows["header "+name] = experiment("w", engine.URL,
			", headers: {"+name+": Bearer "+s.plantFor("header "+name, "engine")+"}")
	}
	for _, name := range slices.Sorted(maps.Keys(rows)) {
		path := s.file(strings.ReplaceAll(name, " ", "-")+".yaml", rows[name])
		s.do("validate", path)
		s.do("plan", "-o", "json", path)
		s.do("compile", "--image-prefix", "r.example/b", path)
		s.do("run", "--local", "--plain", path)
	}
}

// plantFor plants a canary in an experiment; the programs of bflow may know it.
func (s *scene) plantFor(name string, to ...string) string {
	return s.g.plant(name, append(to, ownPrograms()...)...)
}

func guidellm(base, more string) string {
	return fmt.Sprintf(`
apiVersion: bflow.dev/v1alpha1
kind: BenchmarkProfile
metadata: {name: g}
spec: {tool: guidellm, guidellm: {profile: {kind: concurrent, streams: [1]}, constraint: [{kind: max_requests, count: 5}], data: "prompt_tokens=16,output_tokens=4", %s}}
---
apiVersion: bflow.dev/v1alpha1
kind: Experiment
metadata: {name: w}
spec: {model: {name: acme/tiny}, deployment_profile: existing-endpoint, benchmark_profile: g, target: {base_url: %q}}
`, more, base)
}

func prometheus(base, address string) string {
	return experiment("w", base, "") + fmt.Sprintf(`  metrics_profile: asked
---
apiVersion: bflow.dev/v1alpha1
kind: MetricsProfile
metadata: {name: asked}
spec: {prometheus_url: %q, queries: {up: up}}
`, address)
}

// recorded are results as the tools themselves have written them.
const recorded = "../../report/imports/testdata/"

// imported are results of other tools with secrets in each place where they lie in practice.
func imported(s *scene) {
	s.change("guidellm.json", recorded+"guidellm-0.8.1/benchmarks.json")
	s.change("guidellm-old.json", recorded+"guidellm-0.3.1/ok-benchmarks.json")
	s.change("aiperf/profile_export_aiperf.json", recorded+"aiperf-0.13.0/profile_export_aiperf.json")
	s.change("aiperf/profile_export.jsonl", recorded+"aiperf-0.13.0/profile_export.jsonl")
	for _, name := range []string{"stage_0_lifecycle_metrics.json", "per_request_lifecycle_metrics.json",
		"summary_lifecycle_metrics.json"} {
		s.change("inference-perf/"+name, recorded+"inference-perf-0.7.0/"+name)
	}
	s.file("inference-perf/config.yaml", s.configuration())
	s.file("vllm.json", fmt.Sprintf(`{"date":"20260101-000000","backend":"openai-chat","model_id":"m","num_prompts":4,"completed":4,"duration":2.0,"request_throughput":2.0,
"total_input_tokens":64,"total_output_tokens":32,"command":"vllm bench serve --base-url %s --api-key %s","api_key":%q}`,
		"https://me:"+s.g.plant("password in a command of vllm bench")+"@h.example/v1",
		s.g.plant("flag in a command of vllm bench"), s.g.plant("member of a result of vllm bench")))
	for _, name := range []string{"guidellm.json", "guidellm-old.json", "aiperf", "inference-perf", "vllm.json"} {
		run := strings.TrimSuffix(name, ".json")
		s.must(contract.ExitPass, "import", "--name", run, filepath.Join(s.planted, name))
		s.readings(run)
		s.exports(run)
	}
	s.do("import", s.file("cut.json", `{"benchmarks": [{"api_key": "`+s.g.plant("result that is cut")))
	s.do("report", "--out", "tools.html", "guidellm", "aiperf")
}

// change copies a file of JSON with canaries in its first object.
func (s *scene) change(name, from string) {
	s.t.Helper()
	data, err := os.ReadFile(from)
	if err != nil {
		s.t.Fatal(err)
	}
	text := string(data)
	if at := strings.IndexByte(text, '{'); at >= 0 {
		text = text[:at+1] + s.members(name) + "," + text[at+1:]
	}
	s.file(name, text)
}

// members are members of JSON with secrets.
func (s *scene) members(where string) string {
	plant := func(what string) string { return s.g.plant(what + " in " + where) }
	members := map[string]any{
		"api_key": plant("a key"),
		"headers": map[string]string{"X-Whatever": plant("a header")},
		"cli_command": "tool --target https://me:" + plant("a password in a command") + "@h.example/v1?key=" +
			plant("a query key in a command") + " --api-key " + plant("a flag in a command"),
		"argv": []string{"tool", "--api-key", plant("an argument"), "-H",
			"Authorization: Bearer " + plant("a header in an argument")},
		"environ":      []map[string]string{{"name": "HF_TOKEN", "value": plant("a variable")}},
		"request_args": `{"backend": {"api_key": "` + plant("a key in a text") + `"}}`,
	}
	text, err := json.Marshal(members)
	if err != nil {
		s.t.Fatal(err)
	}
	return string(text[1 : len(text)-1])
}

// configuration is a config.yaml of inference-perf.
func (s *scene) configuration() string {
	plant := func(what string) string { return s.g.plant(what + " in config.yaml") }
	return fmt.Sprintf(`# made with --api-key %s
api: {type: completion, streaming: true}
server:
  type: vllm
  model_name: ref-model
  base_url: https://me:%s@h.example/v1?key=%s
  api_key: |
    %s
    and more
load: {type: constant}
---
? [headers, x]
: %s
token: %s
`, plant("a comment"), plant("a password"), plant("a query key"), plant("a value over lines"), plant("a name that is no text"), plant("a later document"))
}
