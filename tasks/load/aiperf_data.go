package load

import (
	"time"

	"bflow.dev/bflow/tasks/runplan"
)

// aiperfData reads the source of requests: a public dataset, a file, or made-up text.
func (t *translator) aiperfData(f *fields) {
	t.m.Data = runplan.Data{Turns: 1, FreshPerStage: true, Seed: 42}
	if s := f.get("random_seed"); s.set() {
		t.m.Data.Seed = s.seed()
	}
	public, url, kind := f.get("public_dataset"), f.get("dataset_url", "input_file"), f.get("dataset_type", "custom_dataset_type")
	f.ignore("dataset_name")
	limit := f.get("dataset_cap")
	synthetic := t.aiperfSynthetic(f)
	switch {
	case public.set() && (url.set() || kind.set()):
		public.errorf("takes the place of dataset_url and dataset_type: remove one of them")
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
	f.ignore("synthesis_max_isl", "synthesis_max_osl", "fixed_schedule_start_offset", "fixed_schedule_end_offset", "fixed_schedule_auto_offset")
}

func (t *translator) aiperfTrace(f *fields, url, kind, limit value) {
	if kind.text() != "mooncake_trace" {
		kind.otherKind("dataset_type", "mooncake_trace")
		return
	}
	t.m.Data.Input, t.m.Data.Output, t.m.Data.Prefixes = nil, nil, nil
	t.m.Data.Conversations, t.m.Data.Reuse, t.m.Data.FreshPerStage = 0, false, true
	t.m.Data.Trace = &runplan.Trace{
		Format: "mooncake", URL: url.text(), Limit: limit.integer(1), TimeScale: 1,
		MaxInput: f.get("synthesis_max_isl").integer(1), MaxOutput: f.get("synthesis_max_osl").integer(1),
		From: f.get("fixed_schedule_start_offset").seconds(time.Millisecond), To: f.get("fixed_schedule_end_offset").seconds(time.Millisecond),
	}
	if shift := f.get("fixed_schedule_auto_offset"); shift.set() && !shift.boolean() {
		shift.needsTool("a replay that waits for its first recorded time")
	}
}

// aiperfSynthetic reads the description of made-up text and reports whether there is any.
func (t *translator) aiperfSynthetic(f *fields) bool {
	d := &t.m.Data
	d.Input = aiperfLength(f, []string{"prompt_input_tokens_mean", "isl", "synthetic_input_tokens_mean"}, []string{"prompt_input_tokens_stddev", "isl_stddev", "synthetic_input_tokens_stddev"})
	d.Output = aiperfLength(f, []string{"prompt_output_tokens_mean", "osl", "output_tokens_mean"}, []string{"prompt_output_tokens_stddev", "osl_stddev", "output_tokens_stddev"})
	found := d.Input != nil
	pool, length := f.get("prompt_prefix_pool_size", "num_prefix_prompts"), f.get("prompt_prefix_length", "prefix_prompt_length")
	if pool.set() != length.set() {
		t.block.errorf("prompt_prefix_pool_size and prompt_prefix_length go together")
	} else if n := pool.integer(0); n > 0 {
		d.Prefixes = []runplan.Prefix{{Weight: 1, Count: n, Tokens: length.integer(1)}}
	}
	if v := f.get("conversation_turn_mean"); v.set() {
		d.Turns = max(v.integer(1), 1)
	}
	if v := f.get("conversation_turn_stddev"); v.set() && v.number() != 0 {
		v.needsTool("conversations of different lengths")
	}
	d.Think = f.get("conversation_turn_delay_mean").seconds(time.Millisecond)
	d.Conversations, d.Reuse, d.FreshPerStage = f.countOr(100, "num_dataset_entries"), true, false // made once
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
