package loadgen

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/runplan"
)

// script is a server that answers every request on path with the same body, once want is found in the request.
func script(t *testing.T, path, want, contentType, body string) *httptest.Server {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		if r.URL.Path != path || !json.Valid(text) || !strings.Contains(string(text), want) {
			http.Error(w, fmt.Sprintf("%s %s lacks %s", r.URL.Path, text, want), http.StatusNotFound)
			return
		}
		w.Header().Set("Content-Type", contentType)
		io.WriteString(w, body)
	}))
	t.Cleanup(srv.Close)
	return srv
}

// events joins the data of a stream.
func events(data ...string) string {
	out := ""
	for _, d := range data {
		out += "event: x\ndata: " + d + "\n\n"
	}
	return out
}

func TestEveryAPIIsSpoken(t *testing.T) {
	const sse, whole = "text/event-stream", "application/json"
	tests := []struct {
		name         string
		api          runplan.API
		want         string // in the request
		kind, answer string
		status       string
		out, in      int
		events       int
		finish       string
	}{
		{
			name: "chat without a stream", api: runplan.API{Type: "chat", Path: "/c"},
			want: `"messages":[{"role":"user","content":"`, kind: whole,
			answer: `{"choices":[{"message":{"content":"a ` +
				`b"},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":2}}`,
			status: report.StatusOK, out: 2, in: 9, finish: "stop",
		},
		{
			name: "completions with usage in every event", api: runplan.API{Type: "completions", Path: "/c", Stream: true},
			want: `"prompt":`, kind: sse,
			answer: events(`{"choices":[{"text":"a"}],"usage":{"prompt_tokens":9,"completion_tokens":3}}`,
				`{"choices":[{"text":"b"}],"usage":{"prompt_tokens":9,"completion_tokens":5}}`, `[DONE]`),
			status: report.StatusOK, out: 5, in: 9, events: 2,
		},
		{
			name: "responses as a stream", api: runplan.API{Type: "responses", Path: "/c", Stream: true},
			want: `"input":[{"role":"user"`, kind: sse,
			answer: events(`{"type":"response.created","response":{"status":"in_progress"}}`,
				`{"type":"response.reasoning_text.delta","delta":"r"}`,
				`{"type":"response.output_text.delta","delta":"a"}`, `{"type":"response.output_text.delta","delta":"b"}`,
				`{"type":"response.completed","response":{"status":"completed","output":[{"content":[{"text":"ab"}]}],`+
					`"usage":{"input_tokens":9,"output_tokens":3,"output_tokens_details":{"reasoning_tokens":1}}}}`),
			status: report.StatusOK, out: 3, in: 9, events: 3, finish: "completed",
		},
		{
			name: "a failed response", api: runplan.API{Type: "responses", Path: "/c", Stream: true},
			want: `"max_output_tokens":8`, kind: sse,
			answer: events(`{"type":"response.created"}`, `{"type":"response.failed","response":{"error":{"message":"boom"}}}`),
			status: report.StatusFailed,
		},
		{
			name: "responses without a stream", api: runplan.API{Type: "responses", Path: "/c"}, want: `"input"`, kind: whole,
			answer: `{"status":"completed","error":null,"output":[{"content":[{"type":"output_text","text":"ab"}]}],` +
				`"usage":{"input_tokens":9,"output_tokens":3}}`,
			status: report.StatusOK, out: 3, in: 9, finish: "completed",
		},
		{
			name: "messages as a stream", api: runplan.API{Type: "messages", Path: "/c", Stream: true}, want: `"max_tokens":8`,
			kind: sse,
			answer: events(`{"type":"message_start","message":{"usage":{"input_tokens":9,"output_tokens":1}}}`,
				`{"type":"ping"}`,
				`{"type":"content_block_delta","delta":{"type":"thinking_delta","thinking":"t"}}`,
				`{"type":"content_block_delta","delta":{"type":"text_delta","text":"a"}}`,
				`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":4}}`,
				`{"type":"message_stop"}`),
			status: report.StatusOK, out: 4, in: 9, events: 2, finish: "end_turn",
		},
		{
			name: "messages without a stream", api: runplan.API{Type: "messages", Path: "/c"}, want: `"messages"`, kind: whole,
			answer: `{"type":"message","content":[{"type":"text","text":"ab"}],"stop_reason":"end_turn",` +
				`"usage":{"input_tokens":9,"output_tokens":4}}`,
			status: report.StatusOK, out: 4, in: 9, finish: "end_turn",
		},
		{
			name: "a message that fails", api: runplan.API{Type: "messages", Path: "/c", Stream: true}, want: `"messages"`,
			kind:   sse,
			answer: events(`{"type":"error","error":{"type":"overloaded_error","message":"busy"}}`), status: report.StatusFailed,
		},
		{
			name: "embeddings", api: runplan.API{Type: "embeddings", Path: "/c", Stream: true}, want: `"input":"`, kind: whole,
			answer: `{"data":[{"embedding":[0.1,0.2]}],"usage":{"prompt_tokens":9,"total_tokens":9}}`, status: report.StatusOK,
			out: -1, in: 9,
		},
		{
			name: "embeddings without a vector are empty", api: runplan.API{Type: "embeddings", Path: "/c"}, want: `"input"`,
			kind:   whole,
			answer: `{"data":[],"usage":{"prompt_tokens":9}}`, status: report.StatusEmpty, out: -1, in: 9,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t.TempDir(), closedLoop(1, 2))
			b.endpoint = script(t, "/c", tt.want, tt.kind, tt.answer).URL
			api := &b.plan.Measurements[0].API
			tt.api.Timeout = api.Timeout
			*api = tt.api
			row := b.measure(t).rows[0]
			if row.Status != tt.status || row.FinishReason != tt.finish {
				t.Fatalf("row %+v", row)
			}
			if tt.status == report.StatusFailed && (row.ErrorClass != report.ErrErrorInStream || row.Error == "") {
				t.Errorf("class %q: %s", row.ErrorClass, row.Error)
			}
			if out := tokensOut(row); tt.out > 0 && out != tt.out || (row.TokensOut != nil) != (tt.out > 0) {
				t.Errorf("%v tokens out, want %d", row.TokensOut, tt.out)
			}
			if tt.in > 0 && (row.TokensIn == nil || *row.TokensIn != tt.in) {
				t.Errorf("%v tokens in, want %d", row.TokensIn, tt.in)
			}
			if tt.events > 0 && (row.Events == nil || *row.Events != tt.events) || tt.events == 0 && row.TFirst != nil {
				t.Errorf("%v token events, want %d", row.Events, tt.events)
			}
		})
	}
}

func TestTLSIsCheckedUnlessThePlanSaysNo(t *testing.T) {
	answer := events(`{"choices":[{"delta":{"content":"a"}}],"usage":{"prompt_tokens":9,"completion_tokens":1}}`, `[DONE]`)
	srv := httptest.NewTLSServer(script(t, "/c", "", "text/event-stream", answer).Config.Handler)
	defer srv.Close()
	for verify, want := range map[bool]int{true: 0, false: 2} {
		b := newBench(t.TempDir(), closedLoop(1, 2))
		b.endpoint = srv.URL
		b.plan.Measurements[0].API = runplan.API{Type: "chat", Path: "/c", Stream: true, VerifyTLS: verify, Timeout: generous}
		r := b.measure(t)
		if len(r.rows) != want || verify && !strings.Contains(r.load.Error, "certificate") {
			t.Errorf("verify %v: %d rows, error %q", verify, len(r.rows), r.load.Error)
		}
	}
}

func TestAServerThatRefusesExtrasGetsRequestsWithout(t *testing.T) {
	answer := events(`{"choices":[{"delta":{"content":"a"}}],"usage":{"prompt_tokens":9,"completion_tokens":1}}`, `[DONE]`)
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		text, _ := io.ReadAll(r.Body)
		if r.URL.Path != "/c" || strings.Contains(string(text), "ignore_eos") ||
			strings.Contains(string(text), `"max_tokens"`) {
			http.Error(w, `{"error":{"message":"unknown field"}}`, http.StatusBadRequest)
			return
		}
		io.WriteString(w, answer)
	}))
	defer srv.Close()
	b := newBench(t.TempDir(), closedLoop(1, 2))
	b.endpoint = srv.URL
	b.plan.Measurements[0].API.Path = "/c"
	r := b.measure(t)
	if r.rows[0].Status != report.StatusOK || !strings.Contains(strings.Join(r.load.Notes, "\n"),
		"max_tokens and ignore_eos and min_tokens") {
		t.Errorf("row %+v, notes %q", r.rows[0], r.load.Notes)
	}
}
