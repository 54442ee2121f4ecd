package vllmbench

import (
	"strings"
	"time"

	"bflow.dev/bflow/load/tool"
	"bflow.dev/bflow/runplan"
)

// Translate reads the flags of `vllm bench serve` or of InferenceMAX, without their dashes in front; inside, - and _
// are the same.
func (Tool) Translate(d *tool.Draft) {
	d.API = runplan.API{Stream: true, VerifyTLS: true, Timeout: runplan.Duration(6 * time.Hour)}
	for _, v := range []tool.Value{d.Over.Rates, d.Over.MaxSeconds} {
		if v.IsSet() {
			v.Errorf("has no meaning for %s: set request-rate and num-prompts in the profile", d.Tool)
		}
	}
	if !d.Block.IsSet() {
		d.Block.Errorf("needs a %s block", strings.ReplaceAll(d.Tool, "-", "_"))
		return
	}
	f := d.Block.Fields()
	for i, e := range f.Entries {
		key := strings.ReplaceAll(e.Key, "_", "-")
		for _, before := range f.Entries[:i] {
			if before.Key == key {
				e.KeyAt.Errorf(tool.Duplicate, before.Value.Path)
			}
		}
		f.Entries[i].Key = key
	}
	readAPI(d, f)
	readBody(d, f)
	readData(d, f)
	readStages(d, f)
	readResults(d, f)
	f.Noted(tool.SetByRunner, "base-url", "host", "port", "model", "served-model-name", "result-dir", "result-filename")
	if d.Tool == inferenceMAX {
		f.ToolOnly("use-chat-template", "best-of")
	}
	f.Ignore("executable", "tokenizer", "tokenizer-mode", "skip-tokenizer-init", "trust-remote-code", "disable-tqdm",
		"ready-check-timeout-sec", "percentile-metrics", "metric-percentiles", "save-result", "save-detailed",
		"append-result", "request-id-prefix")
	f.Noted("has no effect: the report draws its own pictures", "plot-timeline", "plot-dataset-stats",
		"timeline-itl-thresholds")
	f.ToolOnly("probe-request-rate", "profile")
	f.Close()
}

func readAPI(d *tool.Draft, f *tool.Fields) {
	backend := f.Get("backend", "endpoint-type")
	kind := runplan.APICompletions
	switch backend.Text() {
	case "openai", "vllm", "":
	case "openai-chat":
		kind = runplan.APIChat
	case "openai-embeddings":
		kind = runplan.APIEmbeddings
	default:
		backend.OtherKind("backend", "openai", "vllm", "openai-chat", "openai-embeddings")
	}
	path := f.Get("endpoint")
	if d.Over.RequestType.IsSet() {
		kind, path = d.Over.RequestKind(), tool.Value{}
	}
	d.SetAPI(kind, path.Text())
	for _, h := range f.Get("header", "headers").Items() {
		d.AddHeaders(h.EqualPairs())
	}
	d.API.VerifyTLS = !isOn(f.Get("insecure"))
}

func readBody(d *tool.Draft, f *tool.Fields) {
	for _, name := range []string{"temperature", "top-p", "top-k", "min-p", "presence-penalty", "frequency-penalty",
		"repetition-penalty", "logprobs"} {
		if v := f.Get(name); v.IsSet() {
			d.SetBody(strings.ReplaceAll(name, "-", "_"), v.Any())
		}
	}
	if v := f.Get("use-beam-search"); isOn(v) {
		d.SetBody("use_beam_search", true)
	}
	if v := f.Get("chat-template-kwargs"); v.IsSet() {
		d.SetBody("chat_template_kwargs", v.Typed().Any())
	}
	extra := f.Get("extra-body")
	if extra.IsSet() {
		for _, e := range extra.Typed().Fields().Entries {
			d.SetBody(e.Key, e.Value.Any())
		}
	}
	readAdapters(d, f)
}

// readAdapters reads the names of LoRA modules, which the tool draws evenly or takes in turn.
func readAdapters(d *tool.Draft, f *tool.Fields) {
	for _, v := range f.Get("lora-modules").Items() {
		for name := range strings.FieldsSeq(v.Text()) {
			d.API.Adapters = append(d.API.Adapters, runplan.Adapter{Name: name, Weight: 1})
		}
	}
	if v := f.Get("lora-assignment"); v.Word("random", "round-robin") == "round-robin" {
		v.Notef("adapters are drawn evenly here, not taken in turn")
	}
}

func readResults(d *tool.Draft, f *tool.Fields) {
	for _, e := range f.Get("goodput").Items() {
		d.ReadGoodput(e, time.Millisecond)
	}
	labels := map[string]string{}
	if l := f.Get("label"); l.IsSet() {
		labels["label"] = l.Text()
	}
	for _, m := range f.Get("metadata").Items() {
		for k, text := range m.EqualPairs().Texts() {
			labels[k] = text
		}
	}
	if len(labels) > 0 {
		d.Labels = labels
	}
}
