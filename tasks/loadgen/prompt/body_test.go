package prompt

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"image/png"
	"strings"
	"testing"
	"unicode/utf8"

	"bflow.dev/bflow/runplan"
)

func TestEveryAPIHasItsBody(t *testing.T) {
	prefix := []runplan.Prefix{{Weight: 1, Count: 1, Tokens: 3}}
	data := runplan.Data{Input: fixed(2), Output: fixed(7), Prefixes: prefix, Seed: 3}
	tests := []struct {
		name string
		api  runplan.API
		want string
	}{
		{name: "messages of Anthropic have the prefix in a field of its own",
			api: runplan.API{Type: runplan.APIMessages, Stream: true},
			want: `{"model":"m","stream":true,"temperature":0,"max_tokens":7,"system":"P","messages":[{"role":"user",` +
				`"content":"U"}]}`},
		{name: "responses have it as a system message", api: runplan.API{Type: runplan.APIResponses},
			want: `{"model":"m","stream":false,"temperature":0,"max_output_tokens":7,"input":[{"role":"system",` +
				`"content":"P"},{"role":"user","content":"U"}]}`},
		{name: "completions have it before the text",
			api: runplan.API{Type: runplan.APICompletions, Stream: true, ExactOutput: true},
			want: `{"model":"m","stream":true,"stream_options":{"include_usage":true},"temperature":0,"max_tokens":7,` +
				`"min_tokens":7,"ignore_eos":true,"prompt":"P U"}`},
		{name: "embeddings have no answer to be long",
			api:  runplan.API{Type: runplan.APIEmbeddings, Stream: true, ExactOutput: true},
			want: `{"model":"m","input":"P U"}`},
		{name: "Triton has sampling in parameters, and no model",
			api: runplan.API{Type: runplan.APITriton, Stream: true, ExactOutput: true},
			want: `{"exclude_input_in_output":true,"return_finish_reason":true,"return_num_input_tokens":true,` +
				`"return_num_output_tokens":true,"stream":true,"parameters":{"temperature":0,"max_tokens":7,` +
				`"min_tokens":7,"ignore_eos":true},"text_input":"P U"}`},
		{name: "parameters of the plan are merged, and win",
			api: runplan.API{Type: runplan.APITriton, Body: map[string]any{
				"return_num_input_tokens": false, "parameters": map[string]any{"max_tokens": 9, "top_p": 0.5}}},
			want: `{"exclude_input_in_output":true,"return_finish_reason":true,"return_num_input_tokens":false,` +
				`"return_num_output_tokens":true,"stream":false,"parameters":{"max_tokens":9,"temperature":0,` +
				`"top_p":0.5},"text_input":"P U"}`},
		{name: "TGI is greedy without a temperature and may end early",
			api: runplan.API{Type: runplan.APITGI, Stream: true, ExactOutput: true},
			want: `{"parameters":{"details":true,"do_sample":false,"return_full_text":false,` +
				`"max_new_tokens":7},"inputs":"P U"}`},
		{name: "an adapter is the model", api: runplan.API{Type: runplan.APICompletions,
			Adapters: []runplan.Adapter{{Name: "lora", Weight: 1}}, Body: map[string]any{"model": "other"}},
			want: `{"model":"lora","stream":false,"temperature":0,"max_tokens":7,"prompt":"P U"}`},
		{name: "an adapter of Triton is a parameter", api: runplan.API{Type: runplan.APITriton,
			Adapters: []runplan.Adapter{{Name: "lora", Weight: 1}}, Body: map[string]any{"x": 1}},
			want: `{"exclude_input_in_output":true,"return_finish_reason":true,"return_num_input_tokens":true,` +
				`"return_num_output_tokens":true,"stream":false,"x":1,"parameters":{"lora_name":"lora",` +
				`"temperature":0,"max_tokens":7},"text_input":"P U"}`},
		{name: "a priority is a field",
			api:  runplan.API{Type: runplan.APICompletions, Priorities: []runplan.Weight{{Value: -2, Weight: 1}}},
			want: `{"model":"m","stream":false,"temperature":0,"max_tokens":7,"priority":-2,"prompt":"P U"}`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := makeSource(t, tt.api, data)
			p := first(t, s, Stage{Prefixes: prefix}, 0)
			var c Session
			c.begin(s, Stage{Prefixes: prefix}, 0, 0)
			pl := c.plan()
			text, border := s.texts(nil, &pl)
			want := strings.Replace(strings.Replace(tt.want, "P", string(text[:border]), 1), "U", string(text[border:]), 1)
			if string(p.Body) != want {
				t.Errorf("got  %s\nwant %s", p.Body, want)
			}
			probe, err := s.Style.Probe("s \"s\"", "u")
			if err != nil || !json.Valid(probe) || !bytes.Contains(probe, []byte(`s \"s\"`)) ||
				bytes.Contains(probe, []byte("min_tokens")) || bytes.Contains(probe, []byte(`"stream":true`)) {
				t.Errorf("probe %s, error %v", probe, err)
			}
		})
	}
}

func TestImagesAreParts(t *testing.T) {
	api := runplan.API{Type: runplan.APIChat, Stream: true}
	data := runplan.Data{Input: fixed(5), Turns: 2, Seed: 4, Images: &runplan.Images{Count: 2, Width: 7, Height: 5}}
	s := makeSource(t, api, data)
	c, _ := s.Session(Stage{}, 0)
	p := c.Next(nil, nil)
	var body struct {
		Messages []struct {
			Content []struct {
				Type, Text string
				URL        struct{ URL string } `json:"image_url"`
			}
		}
	}
	if err := json.Unmarshal(p.Body, &body); err != nil {
		t.Fatal(err)
	}
	parts := body.Messages[0].Content
	if len(parts) != 3 || parts[0].Type != "text" || parts[0].Text == "" ||
		parts[1].URL.URL == parts[2].URL.URL || p.InAsked != -1 {
		t.Fatalf("parts %+v", parts)
	}
	raw, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(parts[2].URL.URL, "data:image/png;base64,"))
	if err != nil {
		t.Fatal(err)
	}
	if picture, err := png.Decode(bytes.NewReader(raw)); err != nil || picture.Bounds().Dx() != 7 ||
		picture.Bounds().Dy() != 5 {
		t.Errorf("picture %v, error %v", picture, err)
	}
	second := c.Next(nil, []byte("answer"))
	if !json.Valid(second.Body) || bytes.Count(second.Body, []byte("image_url")) != 4 ||
		!bytes.HasSuffix(second.Body, []byte(`"}]}`)) {
		t.Errorf("the second turn does not hold the images of the first once: %s", second.Body)
	}
	data.Seed = 5
	if q := first(t, makeSource(t, api, data), Stage{}, 0); q.Hash == p.Hash {
		t.Error("other images have the same hash")
	}
	if _, err := NewSource("m", &runplan.Measurement{API: runplan.API{Type: "completions"}, Data: data}); err == nil {
		t.Error("images in completions are not refused")
	}
}

func TestAdaptersAndPrioritiesAreDrawnByWeight(t *testing.T) {
	s := makeSource(t, runplan.API{Type: "chat", Adapters: []runplan.Adapter{{Name: "a", Weight: 1},
		{Name: "b", Weight: 3}}, Priorities: []runplan.Weight{{Value: 5, Weight: 1}, {Value: 6, Weight: 1}}},
		runplan.Data{Input: fixed(5), Turns: 2, Seed: 4})
	const n = 4000
	counts, high := [2]int{}, 0
	for i := range int64(n) {
		c, _ := s.Session(Stage{}, i)
		p := c.Next(nil, nil)
		counts[p.Adapter]++
		if bytes.Contains(p.Body, []byte(`"priority":6`)) {
			high++
		}
		if name := []string{"a", "b"}[p.Adapter]; !bytes.Contains(p.Body, []byte(`"model":"`+name+`"`)) {
			t.Fatalf("adapter %d: %s", p.Adapter, p.Body)
		}
		if next := c.Next(p.Body, nil); next.Adapter != p.Adapter {
			t.Fatal("a conversation changed its adapter")
		}
	}
	if counts[1] < n*70/100 || counts[1] > n*80/100 || high < n*45/100 || high > n*55/100 {
		t.Errorf("adapters %v, priority 6 %d times, of %d", counts, high, n)
	}
	if p := first(t, makeSource(t, runplan.API{Type: "chat"}, runplan.Data{Input: fixed(5)}), Stage{},
		0); p.Adapter != -1 {
		t.Errorf("without adapters it is %d", p.Adapter)
	}
}

func FuzzEscape(f *testing.F) {
	for _, seed := range []string{"", "plain text of some length", "\"\\\n\t\x00\x1f\x7f", "é世界\U0001f600",
		"\xff\xfe cut \xe4\xb8", "1234567\"", "12345678\x01", "\u2028</s>"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		quoted := append(appendJSONString([]byte{'"'}, text), '"')
		var got string
		if err := json.Unmarshal(quoted, &got); err != nil || !utf8.Valid(quoted) {
			t.Fatalf("%q: %v", quoted, err)
		}
		if want := string([]rune(text)); got != want {
			t.Fatalf("%q became %q, want %q", text, got, want)
		}
	})
}
