package sim

import (
	"encoding/json"
	"strings"
	"testing"

	"bflow.dev/bflow/runplan"
)

func TestRequestsAreRefusedWithTheFieldAtFault(t *testing.T) {
	s := listen(t, Config{Models: []string{"m", "alias"}})
	for _, row := range []struct {
		name, path, body string
		status           int
		param, message   string
	}{
		{"n of 2", "/v1/completions", `{"prompt":"a","n":2}`, 400, "n", "n must be 1"},
		{"n of 0", "/v1/completions", `{"prompt":"a","n":0}`, 400, "n", "at least 1"},
		{"a batch of texts", "/v1/completions", `{"prompt":["a","b"]}`, 400, "prompt", "batch of 2"},
		{"a batch of token ids", "/v1/completions", `{"prompt":[[1,2],[3]]}`, 400, "prompt", "batch of 2"},
		{"an unknown model", "/v1/completions", `{"prompt":"a","model":"other"}`, 404, "model", "`other` does not exist"},
		{"no prompt", "/v1/completions", `{"model":"m"}`, 400, "prompt", "missing"},
		{"a prompt of the wrong type", "/v1/completions", `{"prompt":7}`, 400, "prompt", "string or a list"},
		{"no messages", "/v1/chat/completions", `{"prompt":"a"}`, 400, "messages", "missing"},
		{"a message without a role", "/v1/chat/completions", `{"messages":[{"content":"x"}]}`, 400, "messages", "role"},
		{"an image", "/v1/chat/completions", `{"messages":[{"role":"user","content":[{"type":"image_url"}]}]}`, 400,
			"messages", "image_url"},
		{"max_tokens of 0", "/v1/completions", `{"prompt":"a","max_tokens":0}`, 400, "max_tokens", "at least 1"},
		{"max_tokens as text", "/v1/completions", `{"prompt":"a","max_tokens":"5"}`, 400, "max_tokens", "integer"},
		{"more tokens than the context has", "/v1/completions", `{"prompt":"a","max_tokens":9999999}`, 400,
			"max_tokens", "context length"},
		{"min_tokens above max_tokens", "/v1/completions", `{"prompt":"a","max_tokens":3,"min_tokens":4}`, 400,
			"min_tokens", "more than"},
		{"stream_options without stream", "/v1/completions", `{"prompt":"a","stream_options":{"include_usage":true}}`,
			400, "stream_options", "needs stream"},
		{"a body that is no JSON", "/v1/completions", `{"prompt":`, 400, "", "not a JSON object"},
		{"an empty body", "/v1/chat/completions", ``, 400, "", "not a JSON object"},
		{"data after the body", "/v1/completions", `{"prompt":"a"} x`, 400, "", "data after"},
		{"an unknown path", "/v1/nothing", `{}`, 404, "", "no endpoint POST /v1/nothing"},
	} {
		t.Run(row.name, func(t *testing.T) {
			got := call(t, s, "POST", row.path, row.body)
			var e struct {
				Error struct {
					Message, Type string
					Param         *string
					Code          int
				}
			}
			if err := json.Unmarshal([]byte(got.body), &e); err != nil {
				t.Fatalf("body %q: %v", got.body, err)
			}
			param := ""
			if e.Error.Param != nil {
				param = *e.Error.Param
			}
			if got.status != row.status || e.Error.Code != row.status || param != row.param ||
				!strings.Contains(e.Error.Message, row.message) {
				t.Errorf("status %d, error %+v, param %q; want %d, %q in %q",
					got.status, e.Error, param, row.status, row.message, row.param)
			}
		})
	}
}

func TestAnswers(t *testing.T) {
	s := listen(t, Config{Models: []string{"m", "alias"}})
	chat := `"messages":[{"role":"system","content":"be brief"},{"role":"user","content":[{"type":"text",` +
		`"text":"one two"}]}]`
	for _, row := range []struct {
		name, path, body string
		prompt, output   int
		finish           string
	}{
		{"a prompt of three words", "/v1/completions", `{"prompt":"one two three","max_tokens":4}`, 3, 4, "length"},
		{"token ids", "/v1/completions", `{"prompt":[5,6,7,8],"max_tokens":2}`, 4, 2, "length"},
		{"a batch of one", "/v1/completions", `{"prompt":["one two"],"max_tokens":2}`, 2, 2, "length"},
		{"the default length of a completion", "/v1/completions", `{"prompt":"one"}`, 1, 16, "length"},
		{"a chat with its template", "/v1/chat/completions", `{` + chat + `,"max_tokens":3}`, 2*4 + 3 + 4, 3, "length"},
		{"max_completion_tokens comes first", "/v1/chat/completions",
			`{` + chat + `,"max_tokens":9,"max_completion_tokens":3}`, 15, 3, "length"},
		{"a chat that stops by itself", "/v1/chat/completions", `{` + chat + `,"n":null}`, 15, 128, "stop"},
		{"min_tokens beyond that", "/v1/chat/completions", `{` + chat + `,"min_tokens":200}`, 15, 200, "stop"},
		{"unknown fields are ignored", "/v1/completions",
			`{"prompt":"a","max_tokens":1,"temperature":0.5e-1,"stop":null,"logit_bias":{"5":[1,{}]}}`, 1, 1, "length"},
	} {
		for _, stream := range []string{`,"stream":false}`, `,"stream":true,"stream_options":{"include_usage":true}}`} {
			t.Run(row.name+stream, func(t *testing.T) {
				got := call(t, s, "POST", row.path, strings.TrimSuffix(row.body, "}")+stream, "x-request-id", "id-1")
				if got.status != 200 || got.err != nil || got.header.Get("x-request-id") != "id-1" {
					t.Fatalf("answer %+v", got)
				}
				text, finish, usage := "", "", (*event)(nil)
				if strings.Contains(stream, "true") {
					r := parseStream(t, got.body)
					if !r.done || len(r.tokens) != row.output || r.usage == nil {
						t.Fatalf("done %v, %d token events, usage %v", r.done, len(r.tokens), r.usage)
					}
					text, finish, usage = strings.Join(r.tokens, ""), r.finish, r.usage
				} else {
					usage = &event{}
					if err := json.Unmarshal([]byte(got.body), usage); err != nil {
						t.Fatal(err)
					}
					text = usage.Choices[0].Text + usage.Choices[0].Message.Content
					finish = *usage.Choices[0].FinishReason
				}
				if usage.Usage.PromptTokens != row.prompt || usage.Usage.CompletionTokens != row.output || finish != row.finish {
					t.Errorf("prompt %d, output %d, finish %q; want %d, %d, %q", usage.Usage.PromptTokens,
						usage.Usage.CompletionTokens, finish, row.prompt, row.output, row.finish)
				}
				if n := len(strings.Fields(text)); n != row.output {
					t.Errorf("text has %d words, want %d", n, row.output)
				}
			})
		}
	}
}

func TestUsageInAStream(t *testing.T) {
	s := listen(t, Config{Models: []string{"m"}})
	for _, row := range []struct {
		name, options string
		last          bool
		each          bool
	}{
		{"none unless asked for", ``, false, false},
		{"in the last chunk", `,"stream_options":{"include_usage":true}`, true, false},
		{"in every chunk", `,"stream_options":{"include_usage":true,"continuous_usage_stats":true}`, true, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := parseStream(t, call(t, s, "POST", "/v1/chat/completions", chatBody(3, row.options)).body)
			each := 0
			for _, e := range r.events {
				if len(e.Choices) > 0 && e.Usage != nil {
					each++
					if e.Usage.CompletionTokens != each {
						t.Errorf("event %d counts %d tokens", each, e.Usage.CompletionTokens)
					}
				}
			}
			if (r.usage != nil) != row.last || (each == 3) != row.each {
				t.Errorf("usage in the last chunk %v, in %d others", r.usage != nil, each)
			}
		})
	}
}

func TestSmallEndpoints(t *testing.T) {
	s := listen(t, Config{Models: []string{"m", "alias"}, Sim: runplan.Sim{MaxModelLen: 4096}})
	for _, row := range []struct{ name, method, path, body, want string }{
		{"health is empty", "GET", "/health", "", ""},
		{"the models, first name first", "GET", "/v1/models", "", `"id":"m"`},
		{"their context length", "GET", "/v1/models", "", `"max_model_len":4096`},
		{"the version", "GET", "/version", "", `"version":"` + Version + `"`},
		{"tokenize text", "POST", "/tokenize", `{"prompt":"one, two"}`, `"count":3`},
		{"tokenize a chat", "POST", "/tokenize",
			`{"model":"m","messages":[{"role":"user","content":"one two"}]}`, `"count":9`},
		{"reset of the cache", "POST", "/reset_prefix_cache", "", ""},
		{"a query is ignored", "GET", "/health?verbose=1", "", ""},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := call(t, s, row.method, row.path, row.body); got.status != 200 || !strings.Contains(got.body, row.want) {
				t.Errorf("status %d, body %q, want %q", got.status, got.body, row.want)
			}
		})
	}
}

func TestAnAPIKeyIsRequiredUnderV1(t *testing.T) {
	s := listen(t, Config{APIKey: testKey})
	for _, row := range []struct {
		name, path, key string
		want            int
	}{
		{"no key", "/v1/models", "", 401}, {"a wrong key", "/v1/models", "Bearer x", 401},
		{"the right key", "/v1/models", "Bearer " + testKey, 200}, {"health needs none", "/health", "", 200},
	} {
		t.Run(row.name, func(t *testing.T) {
			got := call(t, s, "GET", row.path, "", "Authorization", row.key)
			if got.status != row.want || strings.Contains(got.body, testKey) {
				t.Errorf("status %d, body %q, want %d", got.status, got.body, row.want)
			}
		})
	}
}
