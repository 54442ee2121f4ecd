package load

import (
	"time"

	"bflow.dev/bflow/runplan"
)

// aiperfData reads the source of requests: a public dataset, a file, or made-up text.
func (t *translator) aiperfData(f *fields) {
	t.m.Data = runplan.Data{Turns: 1, FreshPerStage: true, Seed: 42}
	if s := f.get("random_seed"); s.set() {
		t.m.Data.Seed = s.seed()
	}
	public, url, kind := f.get("public_dataset"), f.get("dataset_url", "input_file"), f.get("dataset_type", "custom_dataset_type")
	f.ignore("dataset_name")
	t.aiperfImages(f)
	limit := f.get("dataset_cap")
	synthetic := t.aiperfSynthetic(f)
	switch {
	case public.set() && (url.set() || kind.set()):
		public.errorf("excludes dataset_url and dataset_type: remove one of them")
	case public.set() && limit.set():
		limit.errorf("belongs to dataset_url, not to public_dataset")
	case public.set():
		public.needsTool("public_dataset %q", public.text())
	case url.set() != kind.set():
		t.block.errorf("dataset_url and dataset_type go together")
	case url.set():
		t.aiperfTrace(f, url, kind, limit)
	case !synthetic:
		t.block.errorf("needs a source: public_dataset, dataset_url with dataset_type, or prompt_input_tokens_mean")
	}
	f.ignore("synthesis_max_isl", "synthesis_max_osl", "fixed_schedule_start_offset", "fixed_schedule_end_offset", "fixed_schedule_auto_offset",
		"synthesis_speedup_ratio", "replay_speedup")
}

func (t *translator) aiperfTrace(f *fields, url, kind, limit value) {
	switch kind.text() {
	case "mooncake_trace":
	case "single_turn":
		t.aiperfFile(url, limit)
		return
	default:
		kind.otherKind("dataset_type", "mooncake_trace", "single_turn")
		return
	}
	t.m.Data.Input, t.m.Data.Output, t.m.Data.Prefixes = nil, nil, nil
	t.m.Data.Conversations, t.m.Data.Reuse, t.m.Data.FreshPerStage = 0, false, true
	t.m.Data.Trace = &runplan.Trace{
		Format: "mooncake", URL: url.text(), Limit: limit.integer(1), TimeScale: 1,
		MaxInput: f.get("synthesis_max_isl").integer(1), MaxOutput: f.get("synthesis_max_osl").integer(1),
		From: f.get("fixed_schedule_start_offset").seconds(time.Millisecond), To: f.get("fixed_schedule_end_offset").seconds(time.Millisecond),
	}
	if fast := f.get("synthesis_speedup_ratio", "replay_speedup"); fast.set() {
		if x := fast.positive(); x > 0 {
			t.m.Data.Trace.TimeScale = 1 / x
		}
	}
	if shift := f.get("fixed_schedule_auto_offset"); shift.set() && !shift.boolean() {
		shift.needsTool("a replay that waits for its first recorded time")
	}
}

// aiperfFile reads a file with a prompt per line: JSON lines with the column text.
func (t *translator) aiperfFile(url, limit value) {
	file := &runplan.File{Format: runplan.FileJSONL, URL: url.text(), PromptColumn: "text", Limit: limit.integer(1)}
	t.m.Data = runplan.Data{Output: t.m.Data.Output, Turns: 1, FreshPerStage: true, Seed: t.m.Data.Seed, File: file}
}

// aiperfImages reads images of one size.
func (t *translator) aiperfImages(f *fields) {
	w, h := f.get("image_width_mean"), f.get("image_height_mean")
	n := f.countOr(1, "image_batch_size", "batch_size_image")
	if w.number() == 0 && h.number() == 0 {
		return
	}
	t.m.Data.Images = &runplan.Images{Count: n, Width: w.integer(1), Height: h.integer(1)}
	if t.m.API.Type != runplan.APIChat {
		w.needsTool("images in a request that is no chat")
	}
}

// aiperfSynthetic reads the description of made-up text and reports whether there is any.
func (t *translator) aiperfSynthetic(f *fields) bool {
	d := &t.m.Data
	d.Input = aiperfLength(f, []string{"prompt_input_tokens_mean", "isl", "synthetic_input_tokens_mean"}, []string{"prompt_input_tokens_stddev", "isl_stddev", "synthetic_input_tokens_stddev"})
	d.Output = aiperfLength(f, []string{"prompt_output_tokens_mean", "osl", "output_tokens_mean"}, []string{"prompt_output_tokens_stddev", "osl_stddev", "output_tokens_stddev"})
	found := d.Input != nil
	pool, length := f.get("prompt_prefix_pool_size", "num_prefix_prompts", "prefix_prompt_pool_size"), f.get("prompt_prefix_length", "prefix_prompt_length")
	if pool.set() != length.set() {
		t.block.errorf("prompt_prefix_pool_size and prompt_prefix_length go together")
	} else if n := pool.integer(0); n > 0 {
		d.Prefixes = []runplan.Prefix{{Weight: 1, Count: n, Tokens: length.integer(1)}}
	}
	if v := f.get("shared_system_prompt_length"); v.set() {
		d.Prefixes = append(d.Prefixes, runplan.Prefix{Weight: 1, Count: 1, Tokens: v.integer(1)})
		if len(d.Prefixes) > 1 {
			v.needsTool("a shared prompt beside a pool of prefixes")
		}
	}
	if v := f.get("conversation_turn_mean", "session_turns_mean"); v.set() {
		d.Turns = max(v.integer(1), 1)
	}
	if v := f.get("conversation_turn_stddev", "session_turns_stddev"); v.set() && v.number() != 0 {
		v.needsTool("conversations of different lengths")
	}
	d.Think = f.get("conversation_turn_delay_mean", "session_turn_delay_mean").seconds(time.Millisecond)
	d.Conversations, d.Reuse, d.FreshPerStage = f.countOr(100, "num_dataset_entries", "num_prompts"), true, false // made once
	if v := f.get("num_conversations", "num_sessions", "conversation_num"); v.set() {
		d.Conversations, d.Reuse = v.integer(1), false
	}
	if !found && d.Output != nil {
		d.Input, found = fixed(550), true
	}
	return found
}

func aiperfLength(f *fields, mean, stdev []string) *runplan.Length {
	s := spread{at: f.at, mean: f.get(mean...), stdev: f.get(stdev...)}
	if !s.mean.set() {
		if s.stdev.set() {
			s.stdev.errorf("needs %q", mean[0])
		}
		return nil
	}
	return s.length()
}
