package sim

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"bflow.dev/bflow/runplan"
)

// TestEveryAPI asks for three tokens in the words of every API and looks for what its clients live by.
func TestEveryAPI(t *testing.T) {
	s := listen(t, Config{Models: []string{"m"}, Sim: runplan.Sim{TTFT: ms(1), ITL: ms(1)}})
	tests := []struct {
		name, path, body string
		want, not        []string
		events           int
	}{
		{name: "responses as a stream", path: "/v1/responses",
			body: `{"model":"m","input":"a b","max_output_tokens":3,"stream":true}`, events: 7,
			want: []string{"event: response.created\ndata: {\"type\":\"response.created\"",
				`"type":"response.output_text.delta"`, `"type":"response.incomplete"`, `"usage":{"input_tokens":2`,
				`"output_tokens":3`}, not: []string{"[DONE]"}},
		{name: "responses with messages", path: "/v1/responses", body: `{"input":[{"role":"user",` +
			`"content":[{"type":"input_text","text":"a"}]}],"instructions":"b","max_output_tokens":3}`,
			want: []string{`"object":"response"`, `"type":"output_text","text":" `, `"output_tokens":3`, `"error":null`}},
		{name: "messages as a stream", path: "/v1/messages", body: `{"model":"m","messages":[{"role":"user",` +
			`"content":"a"}],"system":"b","max_tokens":3,"stream":true}`, events: 9,
			want: []string{"event: message_start\ndata: ", `"type":"ping"`, `"type":"text_delta","text":" `,
				`"stop_reason":"max_tokens"`, `"usage":{"output_tokens":3}`, `{"type":"message_stop"`}},
		{name: "messages", path: "/v1/messages", body: `{"messages":[{"role":"user","content":"a"}],"max_tokens":3}`,
			want: []string{`"type":"message"`, `"content":[{"type":"text","text":" `, `"output_tokens":3`}},
		{name: "Triton as a stream", path: "/v2/models/m/generate_stream", events: 3,
			body: `{"text_input":"a b","stream":true,"exclude_input_in_output":true,"return_num_output_tokens":true,` +
				`"return_num_input_tokens":true,"return_finish_reason":true,"parameters":{"max_tokens":3}}`,
			want: []string{`data: {"finish_reason":"None","model_name":"m","model_version":"1","num_input_tokens":2,` +
				`"num_output_tokens":1,"text_output":" `, `"finish_reason":"length"`}, not: []string{"[DONE]"}},
		{name: "Triton repeats the prompt unless it is told not to", path: "/v2/models/m/versions/1/generate",
			body: `{"text_input":"hello","parameters":{"max_tokens":3}}`,
			want: []string{`"text_output":"hello `}, not: []string{"num_output_tokens"}},
		{name: "TGI as a stream", path: "/generate_stream",
			body: `{"inputs":"a b","parameters":{"max_new_tokens":3,"details":true}}`, events: 3,
			want: []string{`"token":{"id":1000,"text":" `, `"generated_text":null`,
				`"details":{"finish_reason":"length","generated_tokens":3,"seed":null,"input_length":2}`},
			not: []string{"[DONE]"}},
		{name: "TGI", path: "/generate", body: `{"inputs":"a","parameters":{"max_new_tokens":3,"details":true}}`,
			want: []string{`{"generated_text":" `, `"generated_tokens":3`}},
		{name: "embeddings", path: "/v1/embeddings", body: `{"model":"m","input":"a b"}`,
			want: []string{`"embedding":[`, `"prompt_tokens":2`}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := call(t, s, "POST", tt.path, tt.body)
			if got.status != 200 || got.err != nil {
				t.Fatalf("%+v", got)
			}
			for _, part := range tt.want {
				if !strings.Contains(got.body, part) {
					t.Errorf("no %s in\n%s", part, got.body)
				}
			}
			for _, part := range tt.not {
				if strings.Contains(got.body, part) {
					t.Errorf("%s in\n%s", part, got.body)
				}
			}
			n := 0
			for line := range strings.SplitSeq(got.body, "\n") {
				data, ok := strings.CutPrefix(line, "data: ")
				if !ok && tt.events > 0 {
					continue
				}
				if n++; !json.Valid([]byte(data)) {
					t.Errorf("no JSON: %s", data)
				}
			}
			if tt.events > 0 && n != tt.events {
				t.Errorf("%d events, want %d:\n%s", n, tt.events, got.body)
			}
		})
	}
	for _, r := range s.Truth() {
		if r.Status != StatusComplete || r.OutputTokens < 1 {
			t.Errorf("record %+v", r)
		}
	}
}

func TestEndpointsBesideTheModel(t *testing.T) {
	s := listen(t, Config{Models: []string{"m"}})
	for path, want := range map[string]int{
		"/v2/health/ready": 200, "/v2/models/m/ready": 200, "/v2/models/m": 200, "/v2/models/x/ready": 400,
		"/v2/models/m/stats": 404, "/info": 200, "/health": 200,
	} {
		if got := call(t, s, "GET", path, ""); got.status != want {
			t.Errorf("%s: %d %s, want %d", path, got.status, got.body, want)
		}
	}
}

func TestTokenizeInBothShapes(t *testing.T) {
	s := listen(t, Config{})
	if got := call(t, s, "POST", "/tokenize", `{"prompt":"a b c"}`); !strings.Contains(got.body, `"count":3`) {
		t.Errorf("vLLM: %s", got.body)
	}
	var list []struct{ ID int }
	got := call(t, s, "POST", "/tokenize", `{"inputs":"a b c"}`)
	if err := json.Unmarshal([]byte(got.body), &list); err != nil || len(list) != 3 {
		t.Errorf("TGI: %s, error %v", got.body, err)
	}
}

func TestErrorsHaveTheShapeOfTheAPI(t *testing.T) {
	s := listen(t, Config{Models: []string{"m"}})
	for _, row := range []struct{ path, body, want string }{
		{"/v2/models/x/generate", `{"text_input":"a"}`, `{"error":"The model`},
		{"/v2/models/m/generate_stream", `{"text_input":"a"}`, `{"error":"when streaming`},
		{"/generate", `{"parameters":{}}`, `"error_type":"validation"`},
		{"/v1/messages", `{"messages":[{"role":"user","content":"a"}]}`,
			`{"type":"error","error":{"type":"invalid_request_error"`},
		{"/v1/responses", `{"model":"m"}`, `input is missing or empty`},
	} {
		if got := call(t, s, "POST", row.path, row.body); got.status < 400 || !strings.Contains(got.body, row.want) {
			t.Errorf("%s: %d %s", row.path, got.status, got.body)
		}
	}
}

func TestFaultsOfTheOtherAPIs(t *testing.T) {
	for _, row := range []struct {
		fault, path, body, want, not string
	}{
		{runplan.FaultErrorEvent, "/v2/models/sim/generate_stream",
			`{"text_input":"a","exclude_input_in_output":true,"max_tokens":4}`, `data: {"error":"injected`, "[DONE]"},
		{runplan.FaultErrorEvent, "/generate_stream", `{"inputs":"a","parameters":{"max_new_tokens":4}}`,
			`"error_type":"generation"`, "[DONE]"},
		{runplan.FaultErrorEvent,
			"/v1/messages", `{"messages":[{"role":"user","content":"a"}],"max_tokens":4,"stream":true}`,
			"event: error\n", "message_stop"},
		{runplan.FaultErrorEvent, "/v1/responses", `{"input":"a","max_output_tokens":4,"stream":true}`,
			`"type":"response.failed"`, "response.completed"},
		{runplan.FaultNoDone, "/v2/models/sim/generate_stream",
			`{"text_input":"a","exclude_input_in_output":true,"return_finish_reason":true,"max_tokens":4}`,
			`"finish_reason":"None"`, `"finish_reason":"length"`},
		{runplan.FaultNoDone, "/generate_stream", `{"inputs":"a","parameters":{"max_new_tokens":4,"details":true}}`,
			`"generated_text":null`, "generated_tokens"},
		{runplan.FaultNoDone,
			"/v1/messages", `{"messages":[{"role":"user","content":"a"}],"max_tokens":4,"stream":true}`,
			"message_delta", "message_stop"},
		{runplan.FaultUsageMissing, "/generate_stream",
			`{"inputs":"a","parameters":{"max_new_tokens":4,"details":true}}`, `"details":null`, "generated_tokens"},
		{runplan.FaultReasoning, "/v1/messages",
			`{"messages":[{"role":"user","content":"a"}],"max_tokens":4,"stream":true}`, "thinking_delta", "reasoning"},
		{runplan.FaultEmpty, "/v1/messages",
			`{"messages":[{"role":"user","content":"a"}],"max_tokens":4,"stream":true}`, "message_stop", "text_delta"},
		{runplan.FaultToolCalls,
			"/v1/chat/completions", `{"messages":[{"role":"user","content":"a"}],"max_tokens":4,"stream":true}`,
			`"tool_calls":[{"index":0,"function":{"arguments":"`, `"content":" `},
		{runplan.FaultCR, "/v1/chat/completions",
			`{"messages":[{"role":"user","content":"a"}],"max_tokens":4,"stream":true}`, "[DONE]\r\r", "\n"},
		{runplan.FaultBOM, "/v1/completions", `{"prompt":"a","max_tokens":4,"stream":true}`, "\ufeffdata: ", "\n\ufeff"},
		{runplan.FaultNoSpace, "/v1/completions", `{"prompt":"a","max_tokens":4,"stream":true}`, "data:{", "data: {"},
		{runplan.FaultUsageEvery, "/v1/completions", `{"prompt":"a","max_tokens":4,"stream":true}`,
			`"completion_tokens":2`, "choices\":[],"},
	} {
		t.Run(row.fault+row.path, func(t *testing.T) {
			s := listen(t, Config{Sim: runplan.Sim{Faults: []runplan.Fault{{Kind: row.fault}}}})
			got := call(t, s, "POST", row.path, row.body)
			if !strings.Contains(got.body, row.want) || strings.Contains(got.body, row.not) {
				t.Errorf("want %s, not %s, in %d %s", row.want, row.not, got.status, got.body)
			}
		})
	}
}

func TestABodyMayBeCompressedUnasked(t *testing.T) {
	s := listen(t, Config{Sim: runplan.Sim{TTFT: ms(1), ITL: ms(1), Faults: []runplan.Fault{{Kind: runplan.FaultGzip}}}})
	for _, stream := range []string{"true", "false"} {
		client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, DisableCompression: true}}
		got := callWith(t, client, s, "POST", "/v1/completions", `{"prompt":"a","max_tokens":3,"stream":`+stream+`}`)
		if got.header.Get("Content-Encoding") != "gzip" {
			t.Fatalf("header %v", got.header)
		}
		zip, err := gzip.NewReader(bytes.NewReader([]byte(got.body)))
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(zip)
		if err != nil || strings.Count(string(text), `"text":" `) < 1 {
			t.Errorf("error %v in %s", err, text)
		}
	}
}

func TestABigEvent(t *testing.T) {
	s := listen(t, Config{Sim: runplan.Sim{Faults: []runplan.Fault{{Kind: runplan.FaultBigEvent}}}})
	got := call(t, s, "POST", "/v1/completions", `{"prompt":"a","max_tokens":3,"stream":true}`)
	if first, _, _ := strings.Cut(got.body, "\n\n"); len(first) < 1<<20 || len(got.body) > 1<<20+2000 || got.err != nil {
		t.Errorf("first event of %d bytes, body of %d, error %v", len(first), len(got.body), got.err)
	}
}

func TestEventsHaveTheSizeThatIsAskedFor(t *testing.T) {
	s := listen(t, Config{NoStamps: true, EventBytes: 203})
	got := call(t, s, "POST", "/v1/chat/completions",
		`{"messages":[{"role":"user","content":"a"}],"max_tokens":5,"stream":true}`, "x-request-id", "abc")
	events := strings.SplitAfter(got.body, "\n\n")
	if n := len(events[2]); n != 203 || strings.Contains(got.body, "sent_ns") {
		t.Errorf("%d bytes: %s", n, events[2])
	}
}
