package omission

import (
	"math"
	"testing"
	"time"
)

const ms = time.Millisecond

func within(t *testing.T, what string, got, want time.Duration, share float64) {
	t.Helper()
	if math.Abs(float64(got-want)) > share*float64(want) {
		t.Errorf("%s is %v, want %v within %v %%", what, got, want, 100*share)
	}
}

// frozen is a server frozen for 1 s of 10 at 100/s.
func frozen() Case {
	return Case{Rate: 100, Window: 10 * time.Second, At: 4 * time.Second, Freeze: time.Second, TTFT: 20 * ms, E2E: 50 * ms}
}

func TestTheCaseOfTenSeconds(t *testing.T) {
	capped, dropping := frozen(), frozen()
	capped.Cap = 10
	dropping.Cap, dropping.Drop = 10, true
	slow := capped
	slow.E2E = 90 * ms // the slots are used to 90 %: 10 s are needed to empty the queue
	instant := frozen()
	instant.TTFT, instant.E2E = 0, 0
	tests := []struct {
		name string
		c    Case
		p    float64
		want time.Duration
	}{
		{name: "without a cap, no service time: the 99th percentile is 1 s - 1 % of 10 s", c: instant, p: 99, want: 900 * ms},
		{name: "and the 95th half of the freeze", c: instant, p: 95, want: 500 * ms},
		{name: "without a cap: those under way wait longest", c: frozen(), p: 99, want: 940 * ms},
		{name: "without a cap, beyond the freeze", c: frozen(), p: 80, want: 20 * ms},
		{name: "a cap of 10, its slots used by half: twice as many wait", c: capped, p: 99, want: 980 * ms},
		{name: "a cap of 10: a fifth of all requests waits", c: capped, p: 90, want: 530 * ms},
	}
	for _, tt := range tests {
		formula, ok := tt.c.Formula(tt.p)
		if !ok {
			t.Errorf("%s: no formula", tt.name)
		}
		within(t, tt.name+": formula", formula, tt.want, 1e-6)
		within(t, tt.name+": request by request", tt.c.TTFTIntended(tt.p), tt.want, 0.02)
	}
	for name, c := range map[string]Case{"dropping": dropping, "slots that never empty the queue in the window": slow} {
		if _, ok := c.Formula(99); ok {
			t.Errorf("%s: the formula does not hold", name)
		}
	}
}

func TestTheFormulaHoldsForOtherCases(t *testing.T) {
	for _, rate := range []float64{50, 100, 333, 1000} {
		for _, e2e := range []time.Duration{5 * ms, 20 * ms, 50 * ms} {
			for _, load := range []float64{0, 0.3, 0.6, 0.8} {
				c := Case{Rate: rate, Window: 20 * time.Second, At: 3 * time.Second, Freeze: time.Second, TTFT: e2e / 2, E2E: e2e}
				if load > 0 {
					c.Cap = int(math.Ceil(rate * e2e.Seconds() / load))
				}
				for _, p := range []float64{96, 98, 99, 99.5} {
					want, ok := c.Formula(p)
					if !ok {
						t.Fatalf("%+v: no formula", c)
					}
					// The waves of the slots move a request by up to E2E, the spacing of the requests by 1/rate.
					got, room := c.TTFTIntended(p), c.E2E+time.Duration(2e9/rate)
					if d := got - want; d > room || d < -room {
						t.Errorf("%+v: p%v is %v, by the formula %v", c, p, got, want)
					}
				}
			}
		}
	}
}

func TestFromTheSendTheFreezeIsHidden(t *testing.T) {
	c := frozen()
	c.Cap = 8
	c.Window = 20 * time.Second
	intended, send := Latencies(c.Constant())
	if len(intended) != 2000 {
		t.Fatalf("%d requests", len(intended))
	}
	if p := time.Duration(Percentile(send, 99)); p != c.TTFT {
		t.Errorf("p99 from the send is %v: a cap of 8 hides the freeze", p)
	}
	if p := time.Duration(Percentile(intended, 99)); p < 900*ms {
		t.Errorf("p99 from the intended send is %v", p)
	}
	waited := 0
	for _, x := range send {
		if time.Duration(x) > c.TTFT {
			waited++
		}
	}
	if waited == 0 || waited > c.Cap {
		t.Errorf("%d requests met the frozen server, want some, up to the cap of %d", waited, c.Cap)
	}
}

func TestADroppingCapCountsTheOthers(t *testing.T) {
	c := frozen()
	c.Cap, c.Drop = 10, true
	dropped := 0
	for _, r := range c.Constant() {
		if r.Dropped {
			dropped++
		} else if r.Send != r.Intended || r.First < r.Send || r.End < r.First {
			t.Errorf("%+v", r)
		}
	}
	// 5 of the 10 slots were in use; 100 requests come in the freeze, and slots come free from its end on.
	if dropped < 94 || dropped > 96 {
		t.Errorf("%d requests dropped, want 95", dropped)
	}
}

func TestAFreezeMovesWhatIsDueByItsLength(t *testing.T) {
	c := frozen()
	at := func(d time.Duration) Request { return c.Play([]int64{int64(d)})[0] }
	tests := []struct {
		name       string
		sent       time.Duration
		first, end time.Duration
	}{
		{name: "before", sent: 3 * time.Second, first: 3020 * ms, end: 3050 * ms},
		{name: "its first token comes before, its end after", sent: 3970 * ms, first: 3990 * ms, end: 5020 * ms},
		{name: "under way to its first token", sent: 3990 * ms, first: 5010 * ms, end: 5040 * ms},
		{name: "in the freeze", sent: 4700 * ms, first: 5020 * ms, end: 5050 * ms},
		{name: "after", sent: 5 * time.Second, first: 5020 * ms, end: 5050 * ms},
	}
	for _, tt := range tests {
		if r := at(tt.sent); r.First != int64(tt.first) || r.End != int64(tt.end) {
			t.Errorf("%s: first token at %v, end at %v", tt.name, time.Duration(r.First), time.Duration(r.End))
		}
	}
	if p := Percentile(nil, 50); !math.IsNaN(p) {
		t.Errorf("the median of nothing is %v", p)
	}
	if p := Percentile([]float64{4, 1, 3, 2}, 50); p != 2.5 {
		t.Errorf("median %v", p)
	}
}
