package engine

import (
	"math"
	"testing"
	"time"
)

// load is a run of a model on a virtual clock: requests arrive at a constant rate and every token is noted.
type load struct {
	rate         float64 // 1/s
	n            int
	prompt, want int
	prefix       []uint64 // blocks that all prompts share
	ownBlocks    bool
	seqs         []*timed
}

// timed is a request of a load; it implements Sink.
type timed struct {
	Seq
	at     int64
	tokens []int64
}

func (r *timed) Tokens(n int, due int64) bool {
	for range n {
		r.tokens = append(r.tokens, due)
	}
	return true
}

func (l *load) run(m Model) {
	for i := range l.n {
		at := int64(float64(i) / l.rate * 1e9)
		drain(m, at)
		r := &timed{at: at, Seq: Seq{Prompt: l.prompt, Want: l.want, Stride: 1, Draw: uint64(i)}}
		r.Blocks = append(r.Blocks, l.prefix...)
		if l.ownBlocks {
			for b := len(r.Blocks); b < l.prompt/BlockSize; b++ {
				r.Blocks = append(r.Blocks, uint64(i+1)<<32|uint64(b))
			}
		}
		r.Sink = r
		l.seqs = append(l.seqs, r)
		m.Add(at, &r.Seq)
	}
	drain(m, math.MaxInt64)
}

// drain advances m step by step up to the time end.
func drain(m Model, end int64) {
	for {
		at, ok := m.Next()
		if !ok || at > end {
			return
		}
		m.Advance(at)
	}
}

// ttfts returns the mean time to first token of the first and of the last tenth of the requests.
func (l *load) ttfts() (first, last time.Duration) {
	mean := func(part []*timed) time.Duration {
		sum := int64(0)
		for _, r := range part {
			sum += r.tokens[0] - r.at
		}
		return time.Duration(sum / int64(len(part)))
	}
	tenth := len(l.seqs) / 10
	return mean(l.seqs[:tenth]), mean(l.seqs[len(l.seqs)-tenth:])
}

// throughput returns requests per second between the first arrival and the last token.
func (l *load) throughput() float64 {
	end := int64(0)
	for _, r := range l.seqs {
		end = max(end, r.tokens[len(r.tokens)-1])
	}
	return float64(len(l.seqs)) / (float64(end) / 1e9)
}

func (l *load) complete(t *testing.T) {
	t.Helper()
	for i, r := range l.seqs {
		if len(r.tokens) != r.Want {
			t.Fatalf("request %d got %d of %d tokens", i, len(r.tokens), r.Want)
		}
	}
}

func rates(decode float64, seqs int) Rates {
	return Rates{Timing: Timing{MaxSeqs: seqs}, Prefill: 100_000, Decode: decode}
}

func TestTheKneeIsDecodeRateByOutputLength(t *testing.T) {
	for _, row := range []struct {
		name   string
		decode float64
		seqs   int
		want   int
		prompt int
		itl    time.Duration
	}{
		{name: "64 sequences, 128 tokens", decode: 4000, seqs: 64, want: 128, prompt: 256},
		{name: "16 sequences, short outputs", decode: 1000, seqs: 16, want: 20, prompt: 64},
		{name: "256 sequences, long prompts", decode: 8000, seqs: 256, want: 200, prompt: 2000},
		{name: "an ITL of its own below the batch's", decode: 4000, seqs: 64, want: 128, prompt: 256,
			itl: 8 * time.Millisecond},
		{name: "no limit of sequences", decode: 4000, want: 128, prompt: 256},
	} {
		t.Run(row.name, func(t *testing.T) {
			knee := row.decode / float64(row.want)
			got := findKnee(row.decode, row.seqs, row.want, row.prompt, row.itl, knee)
			t.Logf("knee at %.2f requests/s, decode rate by length %.2f", got, knee)
			if math.Abs(got/knee-1) > 0.05 {
				t.Errorf("knee at %.2f requests/s, want %.2f within 5 %%", got, knee)
			}
		})
	}
}

// findKnee bisects the highest rate at which requests do not queue up.
func findKnee(decode float64, seqs, want, prompt int, itl time.Duration, guess float64) float64 {
	low, high := guess/4, guess*4
	for high/low > 1.01 {
		rate := math.Sqrt(low * high)
		r := rates(decode, seqs)
		r.ITL = int64(itl)
		// long enough that a queue that grows by 1 % of the rate shows
		l := load{rate: rate, n: 3000, prompt: prompt, want: want}
		l.run(NewBatch(r, 1))
		if l.throughput() >= 0.99*rate*steady(&l, rate) {
			low = rate
		} else {
			high = rate
		}
	}
	return low
}

// steady is the share of the run that is not the tail of the last request at an idle engine.
func steady(l *load, rate float64) float64 {
	first := l.seqs[0]
	span := float64(len(l.seqs)) / rate
	return span / (span + float64(first.tokens[len(first.tokens)-1]-first.at)/1e9)
}

func TestAboveTheKneeRequestsQueueAndBelowTheyDoNot(t *testing.T) {
	below := load{rate: 25, n: 2000, prompt: 256, want: 128}
	below.run(NewBatch(rates(4000, 64), 1))
	below.complete(t)
	if first, last := below.ttfts(); last > 2*first+20*time.Millisecond {
		t.Errorf("at 80 %% of the knee ttft rose from %v to %v", first, last)
	}
	above := load{rate: 40, n: 2000, prompt: 256, want: 128}
	above.run(NewBatch(rates(4000, 64), 1))
	above.complete(t)
	// 2000 requests arrive in 50 s and take 64 s: the last wait about 14 s
	if _, last := above.ttfts(); last < 10*time.Second || last > 16*time.Second {
		t.Errorf("at 128 %% of the knee the last ttft is %v, want about 13 s", last)
	}
	if got := above.throughput(); math.Abs(got/(4000.0/128)-1) > 0.05 {
		t.Errorf("overloaded throughput %.2f requests/s, want %.2f", got, 4000.0/128)
	}
}

func TestAFullKVCachePreemptsAndNothingIsLost(t *testing.T) {
	r := rates(4000, 64)
	r.KVTokens = 64 * 160 // of 64 sequences that want 384 tokens each
	b := NewBatch(r, 1)
	l := load{rate: 100, n: 300, prompt: 128, want: 256}
	l.run(b)
	l.complete(t)
	got := b.Load()
	if got.Preemptions == 0 {
		t.Error("no preemption although the cache is far too small")
	}
	if got.Running != 0 || got.Waiting != 0 || got.KVUsed != 0 {
		t.Errorf("left over after the last request: %+v", got)
	}
	if got.PrefillTokens <= 300*128 {
		t.Errorf("%d tokens were read, want more than the prompts: preempted ones are read again", got.PrefillTokens)
	}

	roomy := NewBatch(rates(4000, 64), 1)
	again := load{rate: 100, n: 300, prompt: 128, want: 256}
	again.run(roomy)
	if n := roomy.Load().Preemptions; n != 0 {
		t.Errorf("%d preemptions without a bound of the cache", n)
	}
	if l.throughput() >= again.throughput() {
		t.Errorf("preemption made it faster: %.2f against %.2f requests/s", l.throughput(), again.throughput())
	}
}

func TestSharedPrefixesAreReadOnce(t *testing.T) {
	prefix := make([]uint64, 64) // 1024 tokens
	for i := range prefix {
		prefix[i] = uint64(i) + 1<<60
	}
	r := rates(4000, 64)
	r.Prefill, r.PrefixCache, r.KVTokens = 10_000, true, 1_000_000
	shared, apart := NewBatch(r, 1), NewBatch(r, 1)
	a := load{rate: 5, n: 200, prompt: 1040, want: 10, prefix: prefix, ownBlocks: true}
	a.run(shared)
	b := load{rate: 5, n: 200, prompt: 1040, want: 10, ownBlocks: true}
	b.run(apart)
	if got := shared.Load(); got.PrefixHits != 199*1024 || got.PrefixQueries != 200*1040 {
		t.Errorf("hits %d of %d tokens, want %d of %d", got.PrefixHits, got.PrefixQueries, 199*1024, 200*1040)
	}
	if got := apart.Load().PrefixHits; got != 0 {
		t.Errorf("%d hits without a shared prefix", got)
	}
	_, hit := a.ttfts()
	_, miss := b.ttfts()
	// reading 1040 tokens takes 104 ms, 16 tokens 1.6 ms
	if miss-hit < 90*time.Millisecond || miss-hit > 115*time.Millisecond {
		t.Errorf("ttft with a hit %v, without %v: want about 102 ms less", hit, miss)
	}
	shared.ResetCache()
	again := load{rate: 0.01, n: 2, prompt: 1040, want: 10, prefix: prefix}
	before := shared.Load().PrefixHits
	again.run(shared)
	if got := shared.Load().PrefixHits - before; got != 1024 {
		t.Errorf("%d hits of two requests after a reset, want 1024", got)
	}
}

func TestTheSameSeedGivesTheSameTokens(t *testing.T) {
	r := rates(4000, 16)
	r.TTFTStdev, r.ITLStdev = int64(time.Millisecond), int64(time.Millisecond)
	r.ITL, r.KVTokens = int64(4*time.Millisecond), 4096
	run := func() *load {
		l := &load{rate: 50, n: 200, prompt: 100, want: 50}
		l.run(NewBatch(r, 7))
		return l
	}
	a, b := run(), run()
	for i := range a.seqs {
		for j := range a.seqs[i].tokens {
			if a.seqs[i].tokens[j] != b.seqs[i].tokens[j] {
				t.Fatalf("token %d of request %d differs between two runs", j, i)
			}
		}
	}
}

func TestARemovedSequenceLeavesNothingBehind(t *testing.T) {
	r := rates(1000, 2)
	r.TTFT, r.KVTokens = int64(time.Millisecond), 4096
	for _, row := range []struct {
		name  string
		after time.Duration
	}{
		{"before it is scheduled", 0}, {"while it waits or is read", 2 * time.Millisecond},
		{"while it decodes", 40 * time.Millisecond},
	} {
		t.Run(row.name, func(t *testing.T) {
			b := NewBatch(r, 1)
			l := load{}
			for range 4 {
				q := &timed{Seq: Seq{Prompt: 100, Want: 100, Stride: 1}}
				q.Sink = q
				l.seqs = append(l.seqs, q)
				b.Add(0, &q.Seq)
			}
			drain(b, int64(row.after))
			for _, q := range l.seqs {
				b.Remove(int64(row.after), &q.Seq)
				b.Remove(int64(row.after), &q.Seq)
			}
			drain(b, math.MaxInt64)
			if got := b.Load(); got.Running != 0 || got.Waiting != 0 || got.KVUsed != 0 {
				t.Errorf("left over: %+v", got)
			}
		})
	}
}
