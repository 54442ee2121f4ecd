package client

import (
	"testing"

	"bflow.dev/bflow/runplan"
)

// said is what a test wants to see of an event; counts that the event does not have are -1.
type said struct {
	class        class
	text, finish string
	in, out, add int64
	ids          int64
	summed       bool
	more, done   bool
}

func read(d *delta) said {
	s := said{class: d.class, in: d.in, out: d.out, add: d.add, ids: d.ids, summed: d.summed, more: d.more, done: d.done}
	if d.class == content {
		s.text = unquote(d.text)
	}
	if d.finish != nil {
		s.finish = unquote(d.finish)
	}
	return s
}

func TestEventsOfTheGenerateAPIs(t *testing.T) {
	tests := []struct {
		name  string
		parse func([]byte, *delta) error
		data  string
		want  said
		bad   bool
	}{
		{name: "Triton: tokens of an event are counted by the event", parse: parseTriton,
			data: `{"model_name":"m","model_version":"1","finish_reason":"None","num_input_tokens":9,` +
				`"num_output_tokens":3,"text_output":" a b c"}`,
			want: said{class: content, text: " a b c", in: 9, out: -1, add: 3, summed: true, more: true}},
		{name: "Triton: the last event has a finish reason", parse: parseTriton,
			data: `{"finish_reason":"length","num_output_tokens":1,"text_output":" d"}`,
			want: said{class: content, text: " d", finish: "length", in: -1, out: -1, add: 1, summed: true}},
		{name: "Triton: a token without text yet is counted and is no token event", parse: parseTriton,
			data: `{"finish_reason":"None","num_output_tokens":1,"text_output":""}`,
			want: said{in: -1, out: -1, add: 1, summed: true, more: true}},
		{name: "Triton: outputs of a batch of one are lists", parse: parseTriton,
			data: `{"text_output":["a"],"num_output_tokens":[2],"num_input_tokens":[5],"finish_reason":["stop"]}`,
			want: said{class: content, text: "a", finish: "stop", in: 5, out: -1, add: 2, summed: true}},
		{name: "Triton: a model that counts nothing only has text", parse: parseTriton,
			data: `{"context_logits":0.0,"cum_log_probs":0.0,"output_log_probs":[0.0,0.0],"text_output":"a"}`,
			want: said{class: content, text: "a", in: -1, out: -1, add: -1}},
		{name: "Triton: an empty list is no value", parse: parseTriton,
			data: `{"text_output":[],"num_output_tokens":[]}`, want: said{in: -1, out: -1, add: -1, summed: true}},
		{name: "Triton: text that is no JSON", parse: parseTriton, data: `hello`, bad: true},
		{name: "Triton: an event that is cut", parse: parseTriton, data: `{"text_output":["a"`, bad: true},

		{name: "TGI: an event is a token", parse: parseTGI,
			data: `{"index":1,"token":{"id":264,"text":" a","logprob":-0.1,"special":false},` +
				`"generated_text":null,"details":null}`,
			want: said{class: content, text: " a", ids: 1, in: -1, out: -1, add: -1}},
		{name: "TGI: the last event has the whole text and the count", parse: parseTGI,
			data: `{"index":2,"token":{"id":3,"text":" b","special":false},"generated_text":" a b",` +
				`"details":{"finish_reason":"length","generated_tokens":2,"input_length":7,"seed":null}}`,
			want: said{class: content, text: " b", ids: 1, finish: "length", in: 7, out: 2, add: -1, summed: true, done: true}},
		{name: "TGI: a special token is hidden", parse: parseTGI,
			data: `{"index":3,"token":{"id":2,"text":"</s>","special":true},"generated_text":" a b",` +
				`"details":{"finish_reason":"eos_token","generated_tokens":3}}`,
			want: said{finish: "eos_token", in: -1, out: 3, add: -1, summed: true, done: true}},
		{name: "TGI: without a stream the text comes whole", parse: parseTGI,
			data: `{"generated_text":" a b","details":{"finish_reason":"length","generated_tokens":2,"prefill":[],` +
				`"tokens":[{"id":1}]}}`,
			want: said{class: content, text: " a b", finish: "length", in: -1, out: 2, add: -1, summed: true}},
		{name: "TGI: text that is no JSON", parse: parseTGI, data: `[DONE]`, bad: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var d delta
			d.clear()
			err := tt.parse([]byte(tt.data), &d)
			if (err != nil) != tt.bad {
				t.Fatalf("error %v", err)
			}
			if got := read(&d); !tt.bad && got != tt.want {
				t.Errorf("got  %+v\nwant %+v", got, tt.want)
			}
		})
	}
}

func TestErrorsOfTheGenerateAPIs(t *testing.T) {
	for _, tt := range []struct {
		parse      func([]byte, *delta) error
		data, want string
	}{
		{parseTriton, `{"error":"Request for unknown model: 'm' is not found"}`,
			"Request for unknown model: 'm' is not found"},
		{parseTGI, `{"error":"Model is overloaded","error_type":"overloaded"}`, "Model is overloaded"},
	} {
		var d delta
		d.clear()
		if err := tt.parse([]byte(tt.data), &d); err != nil || d.failure == nil || errorText(d.failure) != tt.want {
			t.Errorf("%s: failure %s, error %v", tt.data, d.failure, err)
		}
	}
}

func TestThePathOfARequest(t *testing.T) {
	tests := []struct {
		name  string
		api   runplan.API
		model string
		want  string
	}{
		{name: "Triton streams from its own path", api: runplan.API{Type: runplan.APITriton, Stream: true}, model: "m",
			want: "/v2/models/m/generate_stream"},
		{name: "Triton answers whole on another", api: runplan.API{Type: runplan.APITriton}, model: "m",
			want: "/v2/models/m/generate"},
		{name: "a path that is given is taken, with the word that fits", api: runplan.API{Type: runplan.APITriton,
			Path: "/v2/models/x/versions/2/generate_stream"}, want: "/v2/models/x/versions/2/generate"},
		{name: "the model is filled in wherever the path wants it",
			api:   runplan.API{Type: runplan.APITriton, Path: "/v2/models/{model}/versions/2/generate", Stream: true},
			model: "m", want: "/v2/models/m/versions/2/generate_stream"},
		{name: "a name with a slash is one part of the path", api: runplan.API{Type: runplan.APITriton, Stream: true},
			model: "a/b", want: "/v2/models/a%2Fb/generate_stream"},
		{name: "TGI has one model", api: runplan.API{Type: runplan.APITGI, Stream: true}, model: "m",
			want: "/generate_stream"},
		{name: "TGI without a stream", api: runplan.API{Type: runplan.APITGI, Path: "/generate_stream?x=1"},
			want: "/generate?x=1"},
		{name: "other paths stay as they are", api: runplan.API{Type: runplan.APIChat, Path: "/v1/chat/completions"},
			model: "m", want: "/v1/chat/completions"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := Path(tt.api, tt.model); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}
