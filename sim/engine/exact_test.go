package engine

import (
	"math"
	"testing"
	"time"
)

const ms = int64(time.Millisecond)

func TestExactDeadlines(t *testing.T) {
	for _, row := range []struct {
		name   string
		timing Timing
		want   int
		stride int
		due    []int64 // of each token
	}{
		{"the first after ttft, the others itl apart", Timing{TTFT: 50 * ms, ITL: 10 * ms}, 4, 1,
			[]int64{50 * ms, 60 * ms, 70 * ms, 80 * ms}},
		{"two together leave with the second", Timing{TTFT: 50 * ms, ITL: 10 * ms}, 5, 2,
			[]int64{60 * ms, 60 * ms, 80 * ms, 80 * ms, 90 * ms}},
		{"without itl all are due with the first", Timing{TTFT: 5 * ms}, 3, 1, []int64{5 * ms, 5 * ms, 5 * ms}},
		{"one token", Timing{TTFT: 5 * ms, ITL: ms}, 1, 1, []int64{5 * ms}},
		{"a stride beyond the output", Timing{TTFT: 5 * ms, ITL: ms}, 2, 9, []int64{6 * ms, 6 * ms}},
	} {
		t.Run(row.name, func(t *testing.T) {
			m := NewExact(row.timing)
			q := &timed{Seq: Seq{Prompt: 1, Want: row.want, Stride: row.stride}}
			q.Sink = q
			m.Add(1000*ms, &q.Seq)
			drain(m, math.MaxInt64)
			for i, due := range row.due {
				if i >= len(q.tokens) || q.tokens[i] != 1000*ms+due {
					t.Fatalf("tokens at %v, want %v after the start", q.tokens, row.due)
				}
			}
		})
	}
}

func TestALateDeliveryDelaysNoOther(t *testing.T) {
	m := NewExact(Timing{TTFT: 50 * ms, ITL: 10 * ms})
	q := &timed{Seq: Seq{Prompt: 1, Want: 3, Stride: 1}}
	q.Sink = q
	m.Add(0, &q.Seq)
	m.Advance(65 * ms)
	if len(q.tokens) != 2 {
		t.Fatalf("%d tokens were due at 65 ms, want 2", len(q.tokens))
	}
	if at, _ := m.Next(); at != 70*ms {
		t.Errorf("the third is due at %v, want 70 ms", time.Duration(at))
	}
}

func TestBeyondMaxSeqsRequestsWaitForAPlace(t *testing.T) {
	m := NewExact(Timing{TTFT: 10 * ms, ITL: 10 * ms, MaxSeqs: 1})
	a, b := &timed{Seq: Seq{Prompt: 1, Want: 3, Stride: 1}}, &timed{Seq: Seq{Prompt: 1, Want: 1, Stride: 1}}
	a.Sink, b.Sink = a, b
	m.Add(0, &a.Seq)
	m.Add(0, &b.Seq)
	if l := m.Load(); l.Running != 1 || l.Waiting != 1 {
		t.Errorf("load %+v, want one running and one waiting", l)
	}
	drain(m, math.MaxInt64)
	if got := b.tokens[0]; got != 40*ms {
		t.Errorf("the second starts when the first ends at 30 ms: token at %v, want 40 ms", time.Duration(got))
	}
}

func TestJitterKeepsTheMean(t *testing.T) {
	m := NewExact(Timing{TTFT: 50 * ms, ITL: 10 * ms, ITLStdev: 2 * ms})
	q := &timed{Seq: Seq{Prompt: 1, Want: 10_001, Stride: 1, Draw: 3}}
	q.Sink = q
	m.Add(0, &q.Seq)
	drain(m, math.MaxInt64)
	mean := float64(q.tokens[10_000]-q.tokens[0]) / 10_000
	if math.Abs(mean/float64(10*ms)-1) > 0.02 {
		t.Errorf("mean gap %v, want 10 ms within 2 %%", time.Duration(mean))
	}
}

// leaver is a sink that removes itself at its second token, as a client does that leaves.
type leaver struct {
	Seq
	m Model
	n int
}

func (l *leaver) Tokens(int, int64) bool {
	if l.n++; l.n == 2 {
		l.m.Remove(0, &l.Seq)
		return false
	}
	return true
}

func TestASinkMayRemoveItself(t *testing.T) {
	for name, m := range map[string]Model{"exact": NewExact(Timing{ITL: ms, TTFT: ms}),
		"batch": NewBatch(rates(1000, 4), 1)} {
		t.Run(name, func(t *testing.T) {
			l := &leaver{m: m, Seq: Seq{Prompt: 1, Want: 10, Stride: 1}}
			l.Sink = l
			m.Add(0, &l.Seq)
			drain(m, math.MaxInt64)
			if l.n != 2 || m.Load().Running != 0 {
				t.Errorf("%d tokens and %d running, want 2 and 0", l.n, m.Load().Running)
			}
		})
	}
}
