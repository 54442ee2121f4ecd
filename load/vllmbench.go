package load

import (
	"strings"
	"time"

	"bflow.dev/bflow/runplan"
)

// vllmBench reads the flags of `vllm bench serve` or of InferenceMAX, without their dashes in front; inside, - and _ are the
// same.
func (t *translator) vllmBench() {
	t.m.API = runplan.API{Stream: true, VerifyTLS: true, Timeout: runplan.Duration(6 * time.Hour)}
	for _, v := range []value{t.over.rates, t.over.maxSeconds} {
		if v.set() {
			v.errorf("has no meaning for %s: set request-rate and num-prompts in the profile", t.m.Tool)
		}
	}
	if !t.block.set() {
		t.block.errorf("needs a %s block", strings.ReplaceAll(t.m.Tool, "-", "_"))
		return
	}
	f := t.block.fields()
	for i, e := range f.entries {
		f.entries[i].key = strings.ReplaceAll(e.key, "_", "-")
	}
	t.vllmAPI(f)
	t.vllmBody(f)
	t.vllmData(f)
	t.vllmStages(f)
	t.vllmResults(f)
	f.noted(setByRunner, "base-url", "host", "port", "model", "served-model-name", "result-dir", "result-filename")
	if t.m.Tool == InferenceMAX {
		f.toolOnly("use-chat-template", "best-of")
	}
	f.ignore("executable", "tokenizer", "tokenizer-mode", "skip-tokenizer-init", "trust-remote-code", "disable-tqdm", "ready-check-timeout-sec",
		"percentile-metrics", "metric-percentiles", "save-result", "save-detailed", "append-result", "request-id-prefix")
	f.noted("has no effect: the report draws its own pictures", "plot-timeline", "plot-dataset-stats", "timeline-itl-thresholds")
	f.toolOnly("probe-request-rate", "profile")
	f.close()
}

func (t *translator) vllmAPI(f *fields) {
	backend := f.get("backend", "endpoint-type")
	kind := runplan.APICompletions
	switch backend.text() {
	case "openai", "vllm", "":
	case "openai-chat":
		kind = runplan.APIChat
	case "openai-embeddings":
		kind = runplan.APIEmbeddings
	default:
		backend.otherKind("backend", "openai", "vllm", "openai-chat", "openai-embeddings")
	}
	path := f.get("endpoint")
	if t.over.requestType.set() {
		kind, path = t.over.kind(), value{}
	}
	t.setAPI(kind, path.text())
	for _, h := range f.get("header", "headers").items() {
		t.headers(h.equalPairs())
	}
	t.m.API.VerifyTLS = !f.get("insecure").flag()
}

// flag reads a switch, which may stand without a value (none, in files of llm-d-benchmark).
func (v value) flag() bool {
	if v.set() && strings.EqualFold(v.text(), "none") {
		return true
	}
	return v.boolean()
}

func (t *translator) vllmBody(f *fields) {
	for _, name := range []string{"temperature", "top-p", "top-k", "min-p", "presence-penalty", "frequency-penalty", "repetition-penalty", "logprobs"} {
		if v := f.get(name); v.set() {
			t.body(strings.ReplaceAll(name, "-", "_"), v.any())
		}
	}
	if v := f.get("use-beam-search"); v.flag() {
		t.body("use_beam_search", true)
	}
	if v := f.get("chat-template-kwargs"); v.set() {
		t.body("chat_template_kwargs", v.typed().any())
	}
	extra := f.get("extra-body")
	if extra.set() {
		for _, e := range extra.typed().fields().entries {
			t.body(e.key, e.value.any())
		}
	}
	t.vllmAdapters(f)
}

// vllmAdapters reads the names of LoRA modules, which the tool draws evenly or takes in turn.
func (t *translator) vllmAdapters(f *fields) {
	for _, v := range f.get("lora-modules").items() {
		for name := range strings.FieldsSeq(v.text()) {
			t.m.API.Adapters = append(t.m.API.Adapters, runplan.Adapter{Name: name, Weight: 1})
		}
	}
	if v := f.get("lora-assignment"); v.word("random", "round-robin") == "round-robin" {
		v.notef("adapters are drawn evenly here, not taken in turn")
	}
}

func (t *translator) vllmResults(f *fields) {
	for _, e := range f.get("goodput").items() {
		t.goodputPairs(e, time.Millisecond)
	}
	labels := map[string]string{}
	if l := f.get("label"); l.set() {
		labels["label"] = l.text()
	}
	for _, m := range f.get("metadata").items() {
		for k, text := range m.equalPairs().texts() {
			labels[k] = text
		}
	}
	if len(labels) > 0 {
		t.m.Labels = labels
	}
}
