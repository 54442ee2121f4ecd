package sim

import (
	"net"
	"sync"
	"testing"
	"time"

	"bflow.dev/bflow/internal/eventually"
	"bflow.dev/bflow/runplan"
)

// TestExactTimingIsNeverEarly runs 32 streams at once. How late events are depends on the host and is logged; that
// none is early, and that lateness does not add up, holds everywhere.
func TestExactTimingIsNeverEarly(t *testing.T) {
	const streams, tokens = 32, 30
	ttft, itl := 50*time.Millisecond, 10*time.Millisecond
	s := listen(t, Config{
		Models: []string{"m"}, Sim: runplan.Sim{TTFT: runplan.Duration(ttft), ITL: runplan.Duration(itl)},
	})
	var wg sync.WaitGroup
	for range streams {
		wg.Go(func() {
			r := parseStream(t, call(t, s, "POST", "/v1/chat/completions", chatBody(tokens, "")).body)
			want(t, "tokens", len(r.tokens), tokens)
		})
	}
	wg.Wait()
	for _, r := range ended(t, s, streams) {
		want(t, "status", r.Status, StatusComplete)
		most := int64(0)
		for i, at := range r.Events {
			late := at - int64(ttft) - int64(i)*int64(itl)
			if late < 0 {
				t.Errorf("event %d left %v before its deadline", i, time.Duration(-late))
			}
			most = max(most, late)
		}
		want(t, "lateness in the truth", r.LatenessMax, most)
		want(t, "first byte", r.FirstByte-r.Arrival, r.Events[0])
		want(t, "arrival by the kernel is not after ours", r.Arrival <= r.ArrivalRead, true)
	}
	st := s.Stats()
	want(t, "events", st.Events, streams*tokens)
	t.Logf("lateness p50 %v, p99 %v, max %v; pacer waited %.1f ms for a processor", time.Duration(st.Lateness.P50),
		time.Duration(st.Lateness.P99), time.Duration(st.Lateness.Max), st.PacerRunDelay*1e3)
}

func TestTheSendTimeInAnEventIsThatOfTheTruth(t *testing.T) {
	s := listen(t, Config{Models: []string{"m"}, Sim: runplan.Sim{TTFT: ms(5), ITL: ms(2)}})
	r := parseStream(t, call(t, s, "POST", "/v1/chat/completions", chatBody(5, "")).body)
	truth := ended(t, s, 1)[0]
	for i, at := range truth.Events {
		want(t, "event", r.events[i+1].SentNS, truth.Arrival+at) // the first event is the role
	}
}

func TestAClientThatLeavesIsCancelled(t *testing.T) {
	for _, row := range []struct {
		name string
		sim  runplan.Sim
	}{
		{"exact", runplan.Sim{TTFT: ms(3_600_000), ITL: ms(1)}},
		{"batch", runplan.Sim{TTFT: ms(20_000), PrefillTokensPerS: 1e4, DecodeTokensPerS: 100, MaxNumSeqs: 4}},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := listen(t, Config{Models: []string{"m"}, Sim: row.sim})
			c := dial(t, s)
			send(t, c, post("/v1/chat/completions", chatBody(5, "")))
			eventually.True(t, "the request is in the model", func() bool { l := s.load(); return l.Running+l.Waiting > 0 })
			c.Close()
			want(t, "truth", ended(t, s, 1)[0].Status, StatusCancelled)
			want(t, "left in the model", s.load().Running+s.load().Waiting, 0)
		})
	}
}

func TestTheBatchModelBehindTheServer(t *testing.T) {
	s := listen(t, Config{Models: []string{"m"}, Sim: runplan.Sim{
		PrefillTokensPerS: 1e5, DecodeTokensPerS: 200, MaxNumSeqs: 4, KVTokens: 4096, PrefixCache: true,
	}})
	body := `{"prompt":"` + words(40) + `","max_tokens":25,"stream":true` + withUsage + `}`
	var conns []net.Conn
	for range 12 {
		conns = append(conns, dial(t, s))
	}
	begin := s.Now()
	for _, c := range conns { // all at once, as far as the host can
		send(t, c, post("/v1/completions", body))
	}
	all := ended(t, s, 12)
	queued := 0
	for _, r := range all {
		want(t, "status", r.Status, StatusComplete)
		want(t, "tokens", r.OutputTokens, 25)
		if r.Started-r.Arrival > int64(20*time.Millisecond) {
			queued++
		}
	}
	// 300 tokens at 200/s take 1.5 s; only 4 of the 12 start at once
	if took := time.Duration(s.Now() - begin); took < 1450*time.Millisecond {
		t.Errorf("12 requests took %v, want at least 1.5 s", took)
	}
	want(t, "at least 6 waited", queued >= 6, true)
	before := s.load().PrefixHits
	again := parseStream(t, call(t, s, "POST", "/v1/completions", body).body)
	want(t, "cached tokens in usage", again.usage.Usage.Details.Cached, 32)
	want(t, "hits in the metrics", s.load().PrefixHits-before, 32)
}

func TestPrefixHitsAreInUsage(t *testing.T) {
	s := listen(t, Config{Sim: runplan.Sim{PrefixCache: true}})
	body := `{"prompt":"` + words(40) + `","max_tokens":1,"stream":true` + withUsage + `}`
	cached := func() int {
		return parseStream(t, call(t, s, "POST", "/v1/completions", body).body).usage.Usage.Details.Cached
	}
	want(t, "first", cached(), 0)
	want(t, "second: two full blocks of 16", cached(), 32)
	call(t, s, "POST", "/reset_prefix_cache", "")
	want(t, "after a reset", cached(), 0)
}

func TestASlowReaderBlocksNobody(t *testing.T) {
	s := listen(t, Config{Models: []string{"m"}, Sim: runplan.Sim{TTFT: ms(1)}})
	slow := dial(t, s)
	send(t, slow, post("/v1/chat/completions", chatBody(100_000, "")))
	eventually.True(t, "the engine cannot write on", func() bool {
		return s.Stats().BlockedWrites > 0 || s.stats.generation.Load() == 100_000
	})
	r := parseStream(t, call(t, s, "POST", "/v1/chat/completions", chatBody(5, "")).body)
	want(t, "tokens of another client", len(r.tokens), 5)
	slow.Close()
}
