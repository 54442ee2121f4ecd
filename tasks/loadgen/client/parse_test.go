package client

import (
	"errors"
	"testing"

	"bflow.dev/bflow/tasks/loadgen/jsonscan"
)

func TestEventsOfOpenAI(t *testing.T) {
	tests := []struct {
		name string
		data string
		want delta
		text string
		fin  string
		bad  bool
	}{
		{name: "text of a completion is content", data: `{"choices":[{"text":" a","finish_reason":null}]}`,
			want: delta{class: content}, text: ` a`},
		{name: "content of a chat is content", data: `{"choices":[{"delta":{"content":"a"}}]}`,
			want: delta{class: content}, text: `a`},
		{name: "a role alone is no token", data: `{"choices":[{"delta":{"role":"assistant","content":""}}]}`},
		{name: "empty text is no token", data: `{"choices":[{"text":""}]}`},
		{name: "null content is no token", data: `{"choices":[{"delta":{"content":null}}]}`},
		{name: "a finish reason alone is no token",
			data: `{"choices":[{"delta":{},"finish_reason":"length"}]}`, fin: "length"},
		{name: "reasoning is its own class", data: `{"choices":[{"delta":{"reasoning":"a"}}]}`,
			want: delta{class: reasoning}},
		{name: "reasoning_content is reasoning too", data: `{"choices":[{"delta":{"reasoning_content":"a"}}]}`,
			want: delta{class: reasoning}},
		{name: "the name of a tool is a token",
			data: `{"choices":[{"delta":{"tool_calls":[{"function":{"name":"f","arguments":""}}]}}]}`,
			want: delta{class: tool}},
		{name: "arguments of a tool are tokens",
			data: `{"choices":[{"delta":{"tool_calls":[{"function":{"arguments":"{"}}]}}]}`, want: delta{class: tool}},
		{name: "content beside reasoning is content", data: `{"choices":[{"delta":{"content":"a","reasoning":"b"}}]}`,
			want: delta{class: content}, text: "a"},
		{name: "token ids count", data: `{"choices":[{"text":"a","token_ids":[1,2,3]}]}`,
			want: delta{class: content, ids: 3}, text: "a"},
		{name: "usage in an event without choices is no token",
			data: `{"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":7,` +
				`"prompt_tokens_details":{"cached_tokens":4},"completion_tokens_details":{"reasoning_tokens":2}}}`,
			want: delta{in: 5, out: 7, cached: 4, reasoning: 2}},
		{name: "null usage says nothing", data: `{"choices":[],"usage":null}`},
		{name: "null details say nothing",
			data: `{"choices":[],"usage":{"prompt_tokens":5,"prompt_tokens_details":null}}`, want: delta{in: 5}},
		{name: "escapes in text are decoded", data: `{"choices":[{"text":"\"é\n"}]}`,
			want: delta{class: content}, text: "\"é\n"},
		{name: "an escaped quote alone is text", data: `{"choices":[{"text":"\""}]}`, want: delta{class: content}, text: `"`},
		{name: "the word content inside a text is no key", data: `{"choices":[{"delta":{"role":"\"content\":\"x\""}}]}`},
		{name: "the terminator", data: `[DONE]`, want: delta{done: true}},
		{name: "text that is no JSON", data: `hello`, bad: true},
		{name: "an event that is cut", data: `{"choices":[{"text":"a`, bad: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var d delta
			d.clear()
			err := parseOpenAI([]byte(tt.data), &d)
			if errors.Is(err, jsonscan.ErrSyntax) != tt.bad {
				t.Fatalf("error %v", err)
			}
			if tt.bad {
				return
			}
			for _, p := range []*int64{&tt.want.in, &tt.want.out, &tt.want.cached, &tt.want.reasoning} {
				if *p == 0 {
					*p = -1
				}
			}
			if got, want := [8]int64{d.in, d.out, d.cached, d.reasoning, d.ids, int64(d.class)}, [8]int64{tt.want.in,
				tt.want.out, tt.want.cached, tt.want.reasoning, tt.want.ids, int64(tt.want.class)}; got != want ||
				d.done != tt.want.done {
				t.Errorf("got %+v, want %+v", d, tt.want)
			}
			if got := unquote(d.text); d.class == content && got != tt.text {
				t.Errorf("text %q, want %q", got, tt.text)
			}
			if len(d.finish) > 0 && unquote(d.finish) != tt.fin {
				t.Errorf("finish reason %s, want %q", d.finish, tt.fin)
			}
		})
	}
}

func TestErrorsInsideA200(t *testing.T) {
	for data, want := range map[string]string{
		`{"error":{"message":"out of memory","code":500}}`:               "out of memory",
		`{"error":"out of memory"}`:                                      "out of memory",
		`{"object":"error","message":"out of memory","type":"x"}`:        "out of memory",
		`{"error":{"message":"a \"b\"","type":"internal"},"choices":[]}`: `a "b"`,
	} {
		var d delta
		d.clear()
		if err := parseOpenAI([]byte(data), &d); err != nil || d.failure == nil || errorText(d.failure) != want {
			t.Errorf("%s: failure %s, error %v, want %q", data, d.failure, err, want)
		}
	}
}

func TestErrorsAreShortAndHoldNoSecret(t *testing.T) {
	a := API{secrets: []string{"sk-1"}}
	if got := a.Clean("bad key sk-1\n\tgiven"); got != "bad key [secret] given" {
		t.Errorf("got %q", got)
	}
	long := make([]rune, 300)
	for i := range long {
		long[i] = 'é'
	}
	if got := a.Clean(string(long)); len(got) > 200 || len(got) < 198 {
		t.Errorf("%d bytes of a long error", len(got))
	}
}

func FuzzParseOpenAI(f *testing.F) {
	f.Add([]byte(`{"choices":[{"delta":{"content":"a","tool_calls":[{"function":{"name":"f"}}]},` +
		`"finish_reason":"stop"}],"usage":{"prompt_tokens":1}}`))
	f.Add([]byte(`{"error":{"message":"x"}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var d delta
		d.clear()
		if parseOpenAI(data, &d) == nil && d.failure != nil {
			errorText(d.failure)
		}
	})
}
