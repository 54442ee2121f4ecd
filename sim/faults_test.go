package sim

import (
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"bflow.dev/bflow/internal/eventually"
	"bflow.dev/bflow/runplan"
)

// faulty returns an engine with one fault, 5 ms to the first token and 1 ms between tokens; half a second to the first
// where something has to come long before it, also on a busy host.
func faulty(t *testing.T, kind string) *Server {
	t.Helper()
	ttft := ms(5)
	if kind == runplan.FaultRoleFirst {
		ttft = ms(500)
	}
	return listen(t, Config{
		Models: []string{"m"}, Sim: runplan.Sim{TTFT: ttft, ITL: ms(1), Faults: []runplan.Fault{{Kind: kind}}},
	})
}

const withUsage = `,"stream_options":{"include_usage":true}`

func TestFaultsOfOneRequest(t *testing.T) {
	for _, row := range []struct {
		kind   string
		status int    // of HTTP
		truth  string // status in the truth log
		check  func(t *testing.T, a answer, r readStream)
	}{
		{runplan.FaultHTTP400, 400, StatusFailed, nil},
		{runplan.FaultHTTP500, 500, StatusFailed, nil},
		{runplan.FaultHTTP503, 503, StatusFailed, nil},
		{runplan.FaultHTTP429, 429, StatusFailed, func(t *testing.T, a answer, _ readStream) {
			want(t, "Retry-After", a.header.Get("Retry-After"), "1")
		}},
		{runplan.FaultEmpty, 200, StatusEmpty, func(t *testing.T, _ answer, r readStream) {
			want(t, "tokens", len(r.tokens), 0)
			want(t, "done", r.done, true)
		}},
		{runplan.FaultReset, 200, StatusReset, func(t *testing.T, a answer, r readStream) {
			want(t, "reset", errors.Is(a.err, syscall.ECONNRESET) || errors.Is(a.err, io.ErrUnexpectedEOF), true)
		}},
		{runplan.FaultTruncated, 200, StatusTruncated, func(t *testing.T, a answer, r readStream) {
			want(t, "error", a.err, nil)
			want(t, "tokens", len(r.tokens), 5)
			want(t, "done", r.done, false)
		}},
		{runplan.FaultErrorEvent, 200, StatusFailed, func(t *testing.T, _ answer, r readStream) {
			want(t, "tokens", len(r.tokens), 5)
			want(t, "error event", r.failed != nil && r.failed.Error.Code == 500, true)
		}},
		{runplan.FaultShortOutput, 200, StatusComplete, func(t *testing.T, _ answer, r readStream) {
			want(t, "tokens", len(r.tokens), 5)
			want(t, "finish", r.finish, "stop")
			want(t, "usage", r.usage.Usage.CompletionTokens, 5)
		}},
		{runplan.FaultNoDone, 200, StatusTruncated, func(t *testing.T, _ answer, r readStream) {
			want(t, "tokens", len(r.tokens), 10)
			want(t, "done", r.done, false)
		}},
		{runplan.FaultUsageMissing, 200, StatusComplete, func(t *testing.T, _ answer, r readStream) {
			want(t, "usage", r.usage, nil)
			want(t, "done", r.done, true)
		}},
		{runplan.FaultTokensPerEvent + "=3", 200, StatusComplete, func(t *testing.T, _ answer, r readStream) {
			want(t, "events", len(r.tokens), 4)
			want(t, "words in the first", len(strings.Fields(r.tokens[0])), 3)
			want(t, "words in the last", len(strings.Fields(r.tokens[3])), 1)
		}},
		{runplan.FaultSplit, 200, StatusComplete, whole},
		{runplan.FaultCoalesce, 200, StatusComplete, func(t *testing.T, a answer, r readStream) {
			whole(t, a, r)
			want(t, "all were sent at once", r.events[0].SentNS, r.events[len(r.events)-1].SentNS)
		}},
		{runplan.FaultCRLF, 200, StatusComplete, func(t *testing.T, a answer, r readStream) {
			whole(t, a, r)
			want(t, "lines with CR LF", r.crlf >= 20, true)
		}},
		{runplan.FaultComments, 200, StatusComplete, func(t *testing.T, a answer, r readStream) {
			whole(t, a, r)
			want(t, "comments", r.comments, 12) // role, 10 tokens, usage
		}},
		{runplan.FaultMultiLine, 200, StatusComplete, func(t *testing.T, a answer, r readStream) {
			whole(t, a, r)
			want(t, "events of several lines", r.multi, 12)
		}},
		{runplan.FaultCutUTF8, 200, StatusComplete, func(t *testing.T, a answer, r readStream) {
			whole(t, a, r)
			want(t, "valid UTF-8 in the end", utf8.ValidString(a.body), true)
			want(t, "characters of several bytes", strings.Contains(a.body, "界"), true)
		}},
		{runplan.FaultRoleFirst, 200, StatusComplete, func(t *testing.T, a answer, r readStream) {
			whole(t, a, r)
			want(t, "the role came long before the token",
				r.events[1].SentNS-r.events[0].SentNS > int64(300*time.Millisecond), true)
		}},
		{runplan.FaultReasoning, 200, StatusComplete, func(t *testing.T, a answer, r readStream) {
			whole(t, a, r)
			want(t, "events with reasoning", r.reasoning, 5)
			want(t, "reasoning in usage", r.usage.Usage.Completion.Reasoning, 5)
		}},
	} {
		t.Run(row.kind, func(t *testing.T) {
			s := faulty(t, row.kind)
			a := call(t, s, "POST", "/v1/chat/completions", chatBody(10, withUsage))
			truth := ended(t, s, 1)[0]
			want(t, "status in the truth", truth.Status, row.truth)
			want(t, "fault in the truth", len(truth.Faults) == 1 && strings.HasPrefix(row.kind, truth.Faults[0]), true)
			if a.status != row.status {
				t.Fatalf("status %d, error %v, want %d", a.status, a.err, row.status)
			}
			if row.check != nil {
				r := readStream{}
				if a.err == nil && a.status == 200 {
					r = parseStream(t, a.body)
				}
				row.check(t, a, r)
			}
			got := 0
			for _, n := range truth.EventTokens {
				got += n
			}
			want(t, "tokens of the events in the truth", got, truth.OutputTokens)
		})
	}
}

// whole checks that nothing is missing from the answer.
func whole(t *testing.T, a answer, r readStream) {
	t.Helper()
	want(t, "error", a.err, nil)
	want(t, "tokens", len(r.tokens), 10)
	want(t, "done", r.done, true)
	want(t, "usage", r.usage != nil && r.usage.Usage.CompletionTokens == 10, true)
}

func want[T any](t *testing.T, what string, got, wanted T) {
	t.Helper()
	if any(got) != any(wanted) {
		t.Errorf("%s: %v, want %v", what, got, wanted)
	}
}

func TestFaultsOfAnAnswerWithoutStream(t *testing.T) {
	body := strings.Replace(chatBody(10, ""), `"stream":true`, `"stream":false`, 1)
	for _, row := range []struct {
		kind, truth string
		status      int
		cut         bool
	}{
		{runplan.FaultErrorEvent, StatusFailed, 500, false},
		{runplan.FaultTruncated, StatusTruncated, 200, true},
		{runplan.FaultReset, StatusReset, 0, true},
		{runplan.FaultEmpty, StatusEmpty, 200, false},
		{runplan.FaultReasoning, StatusComplete, 200, false},
	} {
		t.Run(row.kind, func(t *testing.T) {
			s := faulty(t, row.kind)
			a := call(t, s, "POST", "/v1/chat/completions", body)
			want(t, "status", a.status, row.status)
			want(t, "cut", a.err != nil, row.cut)
			want(t, "truth", ended(t, s, 1)[0].Status, row.truth)
		})
	}
}

func TestAStalledStreamStaysOpenUntilTheClientLeaves(t *testing.T) {
	s := faulty(t, runplan.FaultStall)
	c := dial(t, s)
	send(t, c, post("/v1/chat/completions", chatBody(10, "")))
	var got []byte
	tokens := func() int { return strings.Count(string(got), `"content":" `) }
	eventually.Bound(c)
	for piece := make([]byte, 4096); tokens() < 5; {
		n, err := c.Read(piece)
		if got = append(got, piece[:n]...); err != nil {
			t.Fatalf("read %q and %v, want 5 tokens", got, err)
		}
	}
	_ = c.SetReadDeadline(time.Now().Add(200 * time.Millisecond)) //nolint:forbidigo // silence, which a busy host does not break
	rest, err := io.ReadAll(c)
	got = append(got, rest...)
	var timeout net.Error
	if !errors.As(err, &timeout) || !timeout.Timeout() || tokens() != 5 {
		t.Fatalf("read %q and %v, want 5 tokens and silence", got, err)
	}
	c.Close()
	want(t, "truth", ended(t, s, 1)[0].Status, StatusCancelled)
}

func TestAReusedConnectionIsResetBeforeAnyAnswer(t *testing.T) {
	s := faulty(t, runplan.FaultResetReused)
	c := dial(t, s)
	request := post("/v1/completions", `{"prompt":"a","max_tokens":1}`)
	send(t, c, request)
	ended(t, s, 1)
	send(t, c, request)
	all := ended(t, s, 2)
	want(t, "first", all[0].Status, StatusComplete)
	want(t, "second", all[1].Status, StatusReset)
	want(t, "status line of the second", all[1].HTTPStatus, 0)
}

func TestAShareHitsTheSameRequestsEveryTime(t *testing.T) {
	run := func(seed int64) (failed []bool) {
		s := listen(t, Config{Sim: runplan.Sim{Seed: seed, FailureRate: 0.2}})
		for range 200 {
			failed = append(failed, call(t, s, "POST", "/v1/completions", `{"prompt":"a","max_tokens":1}`).status == 500)
		}
		return failed
	}
	a, b, other := run(1), run(1), run(2)
	hits, same := 0, true
	for i := range a {
		want(t, "request "+number(float64(i)), b[i], a[i])
		same = same && a[i] == other[i]
		if a[i] {
			hits++
		}
	}
	if hits < 25 || hits > 55 {
		t.Errorf("%d of 200 requests failed, want about 40", hits)
	}
	want(t, "another seed hits the same", same, false)
}

func TestFaultsAtRunTime(t *testing.T) {
	s := listen(t, Config{})
	ask := func() int { return call(t, s, "POST", "/v1/completions", `{"prompt":"a","max_tokens":1}`).status }
	want(t, "before", ask(), 200)
	got := call(t, s, "POST", "/sim/faults", `{"kind":"http_503"}`)
	want(t, "POST", got.status, 200)
	want(t, "during", ask(), 503)
	want(t, "list", strings.Contains(call(t, s, "GET", "/sim/faults", "").body, "http_503"), true)
	call(t, s, "DELETE", "/sim/faults", "")
	want(t, "after", ask(), 200)
	call(t, s, "POST", "/sim/faults", `[{"kind":"http_500","after":"1h"},{"kind":"crlf"}]`)
	want(t, "one that comes later", ask(), 200)
	for _, row := range []struct{ name, body, want string }{
		{"an unknown kind", `{"kind":"flood"}`, `unknown kind of fault \"flood\"`},
		{"a share above 1", `{"kind":"reset","share":2}`, "want 0 to 1"},
		{"a freeze without an end", `{"kind":"freeze"}`, "needs a duration"},
		{"a value where none is taken", `{"kind":"reset=3"}`, "takes no value"},
		{"an unknown key", `{"kind":"reset","x":1}`, "unknown field"},
	} {
		t.Run(row.name, func(t *testing.T) {
			a := call(t, s, "POST", "/sim/faults", row.body)
			if a.status != 400 || !strings.Contains(a.body, row.want) {
				t.Errorf("status %d, body %q, want %q", a.status, a.body, row.want)
			}
		})
	}
}

func TestFaultsOfTheServer(t *testing.T) {
	t.Run("another model is served", func(t *testing.T) {
		s := faulty(t, runplan.FaultWrongModel)
		want(t, "models", strings.Contains(call(t, s, "GET", "/v1/models", "").body, `"id":"m-wrong"`), true)
		want(t, "completion", call(t, s, "POST", "/v1/chat/completions", chatBody(1, "")).status, 404)
	})
	t.Run("not ready", func(t *testing.T) {
		s := faulty(t, runplan.FaultNotReady)
		want(t, "health", call(t, s, "GET", "/health", "").status, 503)
		want(t, "metrics", call(t, s, "GET", "/metrics", "").status, 200)
	})
	t.Run("not ready at first", func(t *testing.T) {
		s := listen(t, Config{Sim: runplan.Sim{NotReady: ms(1000)}})
		want(t, "health at first", call(t, s, "GET", "/health", "").status, 503)
		eventually.Nil(t, "health", func() error {
			begin := s.Now()
			status := call(t, s, "GET", "/health", "").status
			want(t, "ready too late", status == 503 && begin >= s.ready, false)
			if status != 200 {
				return fmt.Errorf("status %d", status)
			}
			return nil
		})
		want(t, "ready too early", s.Now() < s.ready, false)
	})
	t.Run("a frozen server answers nothing until the end", func(t *testing.T) {
		s := listen(t, Config{Sim: runplan.Sim{TTFT: ms(20), ITL: ms(1)}})
		s.Inject(runplan.Fault{Kind: runplan.FaultFreeze, Duration: ms(300)}, s.Now())
		eventually.True(t, "the freeze", func() bool { return s.pacer.Thaw() != 0 })
		end := s.pacer.Thaw()
		call(t, s, "GET", "/health", "")
		want(t, "health before the end", s.Now() < end, false)
	})
	t.Run("what is due in a freeze comes later by its length", func(t *testing.T) {
		s := listen(t, Config{Sim: runplan.Sim{TTFT: ms(800), ITL: ms(1)}})
		s.Inject(runplan.Fault{Kind: runplan.FaultFreeze, After: ms(400), Duration: ms(300)}, s.Now())
		call(t, s, "POST", "/v1/completions", `{"prompt":"a","max_tokens":2,"stream":true}`)
		r := ended(t, s, 1)[0]
		// A busy host may freeze late: then it waits for what is left of the freeze when it comes, or not at all.
		end := s.pacer.Thaw()
		begin, due := end-int64(300*time.Millisecond), r.Arrival+int64(800*time.Millisecond)
		least := due - r.Arrival
		if due > begin {
			least += max(0, end-max(r.Arrival, begin))
		}
		if r.Events[0] < least {
			t.Errorf("first token after %v, want %v", time.Duration(r.Events[0]), time.Duration(least))
		}
	})
	t.Run("slow accept delays only the first request", func(t *testing.T) {
		const pause = int64(time.Second)
		s := faulty(t, runplan.FaultSlowAccept+"=1s")
		client := &http.Client{Transport: &http.Transport{}}
		defer client.CloseIdleConnections()
		begin := s.Now()
		callWith(t, client, s, "GET", "/health", "")
		want(t, "the first waited", s.Now()-begin >= pause, true)
		least := int64(math.MaxInt64) // a busy host may delay one
		for range 5 {
			begin = s.Now()
			callWith(t, client, s, "GET", "/health", "")
			least = min(least, s.Now()-begin)
		}
		want(t, "all others did", least >= pause, false)
	})
	t.Run("a crash resets what runs", func(t *testing.T) {
		s, err := New(Config{KeepTruth: true, Sim: runplan.Sim{TTFT: ms(3_600_000), ITL: ms(1)}})
		if err != nil {
			t.Fatal(err)
		}
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		served := make(chan error, 1)
		go func() { served <- s.Serve(t.Context(), ln) }()
		eventually.True(t, "the address", func() bool { return s.URL() != "" })
		go func() { // it comes in the middle of the answer
			eventually.Happens(t.Context(), func() bool { return s.load().Running > 0 })
			s.Inject(runplan.Fault{Kind: runplan.FaultCrash, After: ms(100)}, s.Now())
		}()
		a := call(t, s, "POST", "/v1/completions", `{"prompt":"a","max_tokens":1}`)
		want(t, "the request fails", a.err != nil, true)
		want(t, "Serve says so", errors.Is(<-served, ErrCrashed), true)
		want(t, "truth", ended(t, s, 1)[0].Status, StatusReset)
	})
}
