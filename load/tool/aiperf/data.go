package aiperf

import (
	"time"

	"bflow.dev/bflow/load/tool"
	"bflow.dev/bflow/runplan"
)

// readData reads the source of requests: a public dataset, a file, or made-up text.
func readData(d *tool.Draft, f *tool.Fields) {
	d.Data = runplan.Data{Turns: 1, FreshPerStage: true, Seed: 42}
	if s := f.Get("random_seed"); s.IsSet() {
		d.Data.Seed = s.Seed()
	}
	public, url := f.Get("public_dataset"), f.Get("dataset_url", "input_file")
	kind := f.Get("dataset_type", "custom_dataset_type")
	f.Ignore("dataset_name")
	readImages(d, f)
	limit := f.Get("dataset_cap")
	synthetic := readSynthetic(d, f)
	switch {
	case public.IsSet() && (url.IsSet() || kind.IsSet()):
		public.Errorf("excludes dataset_url and dataset_type: remove one of them")
	case public.IsSet() && limit.IsSet():
		limit.Errorf("belongs to dataset_url, not to public_dataset")
	case public.IsSet():
		public.NeedsTool("public_dataset %q", public.Text())
	case url.IsSet() != kind.IsSet():
		d.Block.Errorf("dataset_url and dataset_type go together")
	case url.IsSet():
		readTrace(d, f, url, kind, limit)
	case !synthetic:
		d.Block.Errorf("needs a source: public_dataset, dataset_url with dataset_type, or prompt_input_tokens_mean")
	}
	f.Ignore("synthesis_max_isl", "synthesis_max_osl", "fixed_schedule_start_offset", "fixed_schedule_end_offset",
		"fixed_schedule_auto_offset", "synthesis_speedup_ratio", "replay_speedup")
}

func readTrace(d *tool.Draft, f *tool.Fields, url, kind, limit tool.Value) {
	switch kind.Text() {
	case "mooncake_trace":
	case "single_turn":
		readFile(d, url, limit)
		return
	default:
		kind.OtherKind("dataset_type", "mooncake_trace", "single_turn")
		return
	}
	d.Data.Input, d.Data.Output, d.Data.Prefixes = nil, nil, nil
	d.Data.Conversations, d.Data.Reuse, d.Data.FreshPerStage = 0, false, true
	d.Data.Trace = &runplan.Trace{
		Format: "mooncake", URL: url.Text(), Limit: limit.Integer(1), TimeScale: 1,
		MaxInput: f.Get("synthesis_max_isl").Integer(1), MaxOutput: f.Get("synthesis_max_osl").Integer(1),
		From: f.Get("fixed_schedule_start_offset").Seconds(time.Millisecond),
		To:   f.Get("fixed_schedule_end_offset").Seconds(time.Millisecond),
	}
	if fast := f.Get("synthesis_speedup_ratio", "replay_speedup"); fast.IsSet() {
		if x := fast.Positive(); x > 0 {
			d.Data.Trace.TimeScale = 1 / x
		}
	}
	if shift := f.Get("fixed_schedule_auto_offset"); shift.IsSet() && !shift.Bool() {
		shift.NeedsTool("a replay that waits for its first recorded time")
	}
}

// readFile reads a file with a prompt per line: JSON lines with the column text.
func readFile(d *tool.Draft, url, limit tool.Value) {
	file := &runplan.File{Format: runplan.FileJSONL, URL: url.Text(), PromptColumn: "text", Limit: limit.Integer(1)}
	d.Data = runplan.Data{Output: d.Data.Output, Turns: 1, FreshPerStage: true,
		Seed: d.Data.Seed, File: file}
}

// readImages reads images of one size.
func readImages(d *tool.Draft, f *tool.Fields) {
	w, h := f.Get("image_width_mean"), f.Get("image_height_mean")
	n := f.CountOr(1, "image_batch_size", "batch_size_image")
	if w.Number() == 0 && h.Number() == 0 {
		return
	}
	d.Data.Images = &runplan.Images{Count: n, Width: w.Integer(1), Height: h.Integer(1)}
	if d.API.Type != runplan.APIChat {
		w.NeedsTool(tool.ImagesWithoutChat)
	}
}

// readSynthetic reads the description of made-up text and reports whether there is any.
func readSynthetic(d *tool.Draft, f *tool.Fields) bool {
	data := &d.Data
	data.Input = readLength(f, []string{"prompt_input_tokens_mean", "isl", "synthetic_input_tokens_mean"},
		[]string{"prompt_input_tokens_stddev", "isl_stddev", "synthetic_input_tokens_stddev"})
	data.Output = readLength(f, []string{"prompt_output_tokens_mean", "osl", "output_tokens_mean"},
		[]string{"prompt_output_tokens_stddev", "osl_stddev", "output_tokens_stddev"})
	found := data.Input != nil
	pool := f.Get("prompt_prefix_pool_size", "num_prefix_prompts", "prefix_prompt_pool_size")
	length := f.Get("prompt_prefix_length", "prefix_prompt_length")
	if pool.IsSet() != length.IsSet() {
		d.Block.Errorf("prompt_prefix_pool_size and prompt_prefix_length go together")
	} else if n := pool.Integer(0); n > 0 {
		data.Prefixes = []runplan.Prefix{{Weight: 1, Count: n, Tokens: length.Integer(1)}}
	}
	if v := f.Get("shared_system_prompt_length"); v.IsSet() {
		data.Prefixes = append(data.Prefixes, runplan.Prefix{Weight: 1, Count: 1, Tokens: v.Integer(1)})
		if len(data.Prefixes) > 1 {
			v.NeedsTool("a shared prompt beside a pool of prefixes")
		}
	}
	if v := f.Get("conversation_turn_mean", "session_turns_mean"); v.IsSet() {
		data.Turns = max(v.Integer(1), 1)
	}
	if v := f.Get("conversation_turn_stddev", "session_turns_stddev"); v.IsSet() && v.Number() != 0 {
		v.NeedsTool("conversations of different lengths")
	}
	data.Think = f.Get("conversation_turn_delay_mean", "session_turn_delay_mean").Seconds(time.Millisecond)
	data.Reuse, data.FreshPerStage = true, false // made once
	data.Conversations = f.CountOr(100, "num_dataset_entries", "num_prompts")
	if v := f.Get("num_conversations", "num_sessions", "conversation_num"); v.IsSet() {
		data.Conversations, data.Reuse = v.Integer(1), false
	}
	if !found && data.Output != nil {
		data.Input, found = tool.FixedLength(550), true
	}
	return found
}

func readLength(f *tool.Fields, mean, stdev []string) *runplan.Length {
	s := tool.Spread{Mean: f.Get(mean...), Stdev: f.Get(stdev...)}
	if !s.Mean.IsSet() {
		if s.Stdev.IsSet() {
			s.Stdev.Errorf("needs %q", mean[0])
		}
		return nil
	}
	return s.Length()
}
