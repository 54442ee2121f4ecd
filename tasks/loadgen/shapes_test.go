package loadgen

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/sim"
)

// spelling is an answer as a server may write it, and what a row must say of it.
type spelling struct {
	name   string
	faults []string // of the engine
	api    string   // chat where empty
	whole  bool     // without a stream

	status, class, says string
	events, tokens      int
	first               bool // there is a first token
}

// ok is a spelling that changes nothing.
func ok(name string, faults ...string) spelling {
	return spelling{name: name, faults: faults, status: report.StatusOK, events: 8, tokens: 8, first: true}
}

// cut is an answer that ends after four of its tokens.
func cut(name, fault, status, class string) spelling {
	return spelling{name: name, faults: []string{fault}, status: status, class: class, events: 4, first: true}
}

func (s spelling) over(api string) spelling {
	s.api, s.name = api, api+": "+s.name
	return s
}

func (s spelling) in(events, tokens int) spelling {
	s.events, s.tokens = events, tokens
	return s
}

func spellings() []spelling {
	refused := func(name, fault, class string) spelling {
		return spelling{name: name, faults: []string{fault}, status: report.StatusFailed, class: class}
	}
	gzip := refused("a compressed body that nobody asked for is no payload, and the error names it", runplan.FaultGzip,
		report.ErrBadPayload)
	gzip.says = "gzip"
	return []spelling{
		ok("lines end with CRLF", runplan.FaultCRLF),
		ok("lines end with CR", runplan.FaultCR),
		ok("a byte order mark opens the body", runplan.FaultBOM),
		ok("data comes without a blank", runplan.FaultNoSpace),
		ok("comments stand between events", runplan.FaultComments),
		ok("an event has two data lines", runplan.FaultMultiLine),
		ok("an event is split at every byte", runplan.FaultSplit),
		ok("an event is split at every byte, with CRLF and two data lines", runplan.FaultSplit, runplan.FaultCRLF,
			runplan.FaultMultiLine),
		ok("all events come in one read", runplan.FaultCoalesce),
		ok("reads end inside a character", runplan.FaultCutUTF8),
		ok("a role comes long before the first token", runplan.FaultRoleFirst),
		ok("reasoning comes before content", runplan.FaultReasoning),
		ok("tokens are arguments of a tool", runplan.FaultToolCalls),
		ok("usage comes with every event", runplan.FaultUsageEvery),
		ok("an event has four tokens, and usage says so", runplan.FaultUsageEvery, runplan.FaultTokensPerEvent).in(2, 8),
		ok("an event has four tokens, and only the last usage says so", runplan.FaultTokensPerEvent).in(2, 8),
		ok("no usage: every event is a token", runplan.FaultUsageMissing),
		ok("fewer tokens than asked", runplan.FaultShortOutput).in(4, 4),
		ok("an event of a megabyte", runplan.FaultBigEvent),
		ok("an event of a megabyte with CR line ends", runplan.FaultBigEvent, runplan.FaultCR),
		ok("a kept connection is reset before the answer", runplan.FaultResetReused),
		ok("new connections wait", runplan.FaultSlowAccept+"=20ms"),
		{name: "no token at all", faults: []string{runplan.FaultEmpty}, status: report.StatusEmpty},
		cut("a reset in the middle", runplan.FaultReset, report.StatusFailed, report.ErrReset),
		cut("a clean end in the middle", runplan.FaultTruncated, report.StatusFailed, report.ErrTruncated),
		cut("an error object inside the 200", runplan.FaultErrorEvent, report.StatusFailed, report.ErrErrorInStream),
		cut("silence in the middle", runplan.FaultStall, report.StatusTimeout, report.ErrStall),
		{name: "everything but [DONE]", faults: []string{runplan.FaultNoDone}, status: report.StatusFailed,
			class: report.ErrTruncated, events: 8, tokens: 8, first: true},
		refused("429 with Retry-After", runplan.FaultHTTP429, report.ErrHTTP429),
		refused("500", runplan.FaultHTTP500, report.ErrHTTP5xx),
		gzip,

		ok("as it comes").over(runplan.APICompletions),
		ok("split at every byte", runplan.FaultSplit).over(runplan.APIResponses),
		cut("an error event", runplan.FaultErrorEvent, report.StatusFailed,
			report.ErrErrorInStream).over(runplan.APIResponses),
		{name: "responses: no end event", api: runplan.APIResponses, faults: []string{runplan.FaultNoDone},
			status: report.StatusFailed, class: report.ErrTruncated, events: 8, first: true},
		ok("two data lines and CRLF", runplan.FaultMultiLine, runplan.FaultCRLF).over(runplan.APIMessages),
		ok("thinking before text", runplan.FaultReasoning).over(runplan.APIMessages),
		cut("an error event", runplan.FaultErrorEvent, report.StatusFailed,
			report.ErrErrorInStream).over(runplan.APIMessages),
		{name: "messages: no end event", api: runplan.APIMessages, faults: []string{runplan.FaultNoDone},
			status: report.StatusFailed, class: report.ErrTruncated, events: 8, tokens: 8, first: true},
		ok("ends with its body").over(runplan.APITriton),
		ok("four tokens of an event are counted by the server", runplan.FaultTokensPerEvent).over(runplan.APITriton).in(2, 8),
		ok("split at every byte", runplan.FaultSplit).over(runplan.APITriton),
		cut("an error inside the 200", runplan.FaultErrorEvent, report.StatusFailed,
			report.ErrErrorInStream).over(runplan.APITriton),
		cut("the body ends before the answer", runplan.FaultTruncated, report.StatusFailed,
			report.ErrTruncated).over(runplan.APITriton),
		ok("the last event has the count").over(runplan.APITGI),
		cut("an error inside the 200", runplan.FaultErrorEvent, report.StatusFailed,
			report.ErrErrorInStream).over(runplan.APITGI),
		cut("the body ends before the answer", runplan.FaultTruncated, report.StatusFailed,
			report.ErrTruncated).over(runplan.APITGI),
		{name: "chat: whole", whole: true, status: report.StatusOK, tokens: 8},
		{name: "responses: whole", api: runplan.APIResponses, whole: true, status: report.StatusOK, tokens: 8},
		{name: "messages: whole", api: runplan.APIMessages, whole: true, status: report.StatusOK, tokens: 8},
		{name: "triton: whole", api: runplan.APITriton, whole: true, status: report.StatusOK, tokens: 8},
		{name: "tgi: whole", api: runplan.APITGI, whole: true, status: report.StatusOK, tokens: 8},
		{name: "a whole body of another length than it says", faults: []string{runplan.FaultTruncated}, whole: true,
			status: report.StatusFailed, class: report.ErrTruncated},
	}
}

// pathOf is where the engine takes requests of an API.
func pathOf(api string) string {
	switch api {
	case runplan.APITriton:
		return "/v2/models/{model}/generate_stream"
	case runplan.APITGI:
		return "/generate_stream"
	case "", runplan.APIChat:
		return "/v1/chat/completions"
	}
	return "/v1/" + api
}

func TestShapesOfAnswers(t *testing.T) {
	for _, tt := range spellings() {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			slots := 2
			if tt.class == report.ErrStall {
				slots = 4
			}
			b := makeBench(t, sim.Config{}, closedLoop(slots, 4))
			api := &b.plan.Measurements[0].API
			if tt.api != "" {
				api.Type = tt.api
			}
			api.Path, api.Stream, api.Timeout = pathOf(tt.api), !tt.whole, generous
			if tt.class == report.ErrStall {
				api.Timeout = untilStalled
			}
			for _, f := range tt.faults {
				b.engine.Inject(runplan.Fault{Kind: f}, b.engine.Now())
			}
			r := b.measure(t)
			if len(r.rows) != 4 {
				t.Fatalf("%d rows, want 4", len(r.rows))
			}
			for _, row := range r.rows {
				if err := tt.judge(row); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// judge says what is wrong with a row.
func (s spelling) judge(row report.Row) error {
	events := 0
	if row.Events != nil {
		events = *row.Events
	}
	switch {
	case row.Status != s.status || row.ErrorClass != s.class:
		return fmt.Errorf("row is %s %q (%s), want %s %q", row.Status, row.ErrorClass, row.Error, s.status, s.class)
	case !strings.Contains(row.Error, s.says):
		return fmt.Errorf("error %q does not say %q", row.Error, s.says)
	case events != s.events:
		return fmt.Errorf("%d token events, want %d", events, s.events)
	case s.tokens > 0 && tokensOut(row) != s.tokens:
		return fmt.Errorf("%d tokens, want %d", tokensOut(row), s.tokens)
	case (row.TFirst != nil) != s.first:
		return fmt.Errorf("a first token: %v, want %v", row.TFirst != nil, s.first)
	}
	return nil
}

// TestShapesThatNoEngineIsToldTo are answers that are written down, each with its end in a place of its own.
func TestShapesThatNoEngineIsToldTo(t *testing.T) {
	const token, usage = `data: {"choices":[{"delta":{"content":"a"}}]}` + "\n\n",
		`data: {"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":2}}` + "\n\n"
	tests := []struct {
		name, body           string
		status, class        string
		events, tokens, hide int
	}{
		{name: "the terminator lacks its blank line", body: token + token + usage + "data: [DONE]", status: report.StatusOK,
			events: 2, tokens: 2},
		{name: "the last event lacks its blank line", body: token + token + usage + "data: [DONE]\n", status: report.StatusOK,
			events: 2, tokens: 2},
		{name: "events without anything", body: "data: {}\n\n" + token + "data: {\"choices\":[{\"delta\":{}}]}\n\n" + token +
			usage + "data: [DONE]\n\n", status: report.StatusOK, events: 2, tokens: 2},
		{name: "empty and null deltas", body: `data: {"choices":[{"delta":{"content":""}}]}` + "\n\n" +
			`data: {"choices":[{"delta":{"content":null}}]}` + "\n\n" + token + token + usage + "data: [DONE]\n\n",
			status: report.StatusOK, events: 2, tokens: 2},
		{name: "usage beside the last finish reason", body: token +
			`data: {"choices":[{"delta":{},"finish_reason":"stop"}],"usage":{"completion_tokens":5}}` + "\n\ndata: [DONE]\n\n",
			status: report.StatusOK, events: 1, tokens: 5},
		{name: "nothing but usage", body: usage + "data: [DONE]\n\n", status: report.StatusOK, tokens: 2},
		{name: "nothing but the terminator", body: "data: [DONE]\n\n", status: report.StatusEmpty},
		{name: "nothing", body: "", status: report.StatusFailed, class: report.ErrTruncated},
		{name: "no event stream at all", body: "<html>busy</html>", status: report.StatusFailed, class: report.ErrTruncated},
		{name: "an event that is no JSON", body: token + "data: oops\n\n", status: report.StatusFailed,
			class: report.ErrBadPayload, events: 1},
		{name: "bytes behind the terminator", body: token + token + usage + "data: [DONE]\n\ndata: oops\n\n",
			status: report.StatusOK, events: 2, tokens: 2},
		{name: "events with names, ids and retry times", body: "retry: 10\n\nevent: a\nid: 1\n" + token + "id\n" + token +
			usage + "data: [DONE]\n\n", status: report.StatusOK, events: 2, tokens: 2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			b := newBench(t.TempDir(), closedLoop(1, 2))
			b.endpoint = script(t, "/c", "", "text/event-stream", tt.body).URL
			b.plan.Measurements[0].API.Path = "/c"
			want := spelling{status: tt.status, class: tt.class, events: tt.events, tokens: tt.tokens, first: tt.events > 0}
			if err := want.judge(b.measure(t).rows[0]); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestNoRequestAcceptsACompressedAnswer(t *testing.T) {
	var loads, offers atomic.Int64
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Accept") == "text/event-stream" { // one of the load
			loads.Add(1)
			if len(r.Header["Accept-Encoding"]) > 0 {
				offers.Add(1)
			}
		}
		w.Header().Set("Content-Type", "text/event-stream")
		_,
			_ = w.Write(
			[]byte(events(`{"choices":[{"delta":{"content":"a"}}],"usage":{"prompt_tokens":9,"completion_tokens":1}}`,
				`[DONE]`)))
	}))
	t.Cleanup(srv.Close)
	b := newBench(t.TempDir(), closedLoop(1, 2))
	b.endpoint = srv.URL
	b.plan.Measurements[0].API.Path = "/c"
	b.measure(t)
	if loads.Load() < 2 || offers.Load() > 0 {
		t.Errorf("%d of %d requests accept an encoding", offers.Load(), loads.Load())
	}
}
