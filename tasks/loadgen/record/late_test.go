package record

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"bflow.dev/bflow/report"
)

// answer is a request whose answer brought token events at these µs after its send.
func answer(arrivals ...int64) *Outcome {
	o := &Outcome{}
	o.Reset()
	o.Intended, o.Send, o.Sent = 0, 0, 0
	for _, at := range arrivals {
		o.Token(1000*at, 1)
	}
	o.FirstByte, o.Content = o.First, o.First
	o.End, o.Out = o.Last, int64(len(arrivals))
	return o
}

func TestStampsWithoutTheLatenessOfTheReader(t *testing.T) {
	within := func(room int64, o *Outcome, first, all int64) *Outcome { // µs
		o.Behind, o.Bunched, o.Within = first, all, 1000*room
		return o
	}
	behind := func(o *Outcome, first, all int64) *Outcome { return within(o.Last/1000, o, first, all) }
	for _, row := range []struct {
		name             string
		o                *Outcome
		first, last, end int64 // µs
		gaps             []int32
	}{
		{name: "a reader in time", o: answer(10_000, 14_000, 18_000), first: 10_000, last: 18_000, end: 18_000},
		{name: "the first came with the second", o: behind(answer(14_000, 14_000, 18_000, 22_000), 1, 1), first: 10_000,
			last: 22_000, end: 22_000,
			gaps: []int32{4000, 4000, 4000}},
		{name: "two in the middle came together", o: behind(answer(10_000, 18_000, 18_000, 22_000), 0, 1),
			first: 10_000, last: 22_000, end: 22_000,
			gaps: []int32{4000, 4000, 4000}},
		{name: "the first came with the second, and nothing was there 300 µs before",
			o:     within(300, answer(14_000, 14_000, 18_000, 22_000), 1, 1),
			first: 13_700, last: 22_000, end: 22_000, gaps: []int32{300, 4000, 4000}},
		{name: "three in the middle came together, and nothing was there 600 µs before",
			o:     within(600, answer(10_000, 18_000, 18_000, 18_000, 22_000), 0, 2),
			first: 10_000, last: 22_000, end: 22_000, gaps: []int32{7400, 300, 300, 4000}},
		{name: "the first two in time, and two later ones",
			o:     within(4000, answer(10_000, 10_000, 18_000, 18_000, 22_000), 0, 1),
			first: 10_000, last: 22_000, end: 22_000, gaps: []int32{0, 4000, 4000, 4000}},
		{name: "the server sent two at once, and the reader was in time", o: answer(10_000, 18_000, 18_000, 22_000),
			first: 10_000, last: 22_000, end: 22_000},
		{name: "all came together", o: behind(answer(40_000, 40_000, 40_000, 40_000), 3, 3), first: 10_000,
			last: 40_000, end: 40_000, gaps: []int32{10_000, 10_000, 10_000}},
	} {
		t.Run(row.name, func(t *testing.T) {
			var l lateness
			got := l.of(row.o)
			if got.first != 1000*row.first || got.last != 1000*row.last || got.end != 1000*row.end ||
				!slices.Equal(got.gaps, row.gaps) {
				t.Errorf("got %+v, want %d %d %d %v", got, 1000*row.first, 1000*row.last, 1000*row.end, row.gaps)
			}
		})
	}
}

// TestShiftsAreWhatLatenessHasDone makes requests whose true times are known, delays what the client sees of them, and
// compares what is said of each number with what has become of it.
func TestShiftsAreWhatLatenessHasDone(t *testing.T) {
	const n = 3000
	for _, row := range []struct {
		name string
		late func(r *rand.Rand) int64 // ns, of a read
		even bool                     // the gaps are all the same
		want bool                     // a median is wrong
	}{
		{name: "in time", late: func(r *rand.Rand) int64 { return r.Int64N(5_000) }},
		{name: "a little late, and the gaps of the engine are even", even: true,
			late: func(r *rand.Rand) int64 { return int64(r.ExpFloat64() * 25e3) }},
		{name: "always late", late: func(r *rand.Rand) int64 { return 1e6 + r.Int64N(1e6) }, want: true},
		{name: "one of ten very late", want: true, late: func(r *rand.Rand) int64 { return 5e6 * int64((9+r.IntN(10))/18) }},
		{name: "one of a hundred very late", late: func(r *rand.Rand) int64 { return 5e6 * int64((99+r.IntN(100))/198) }},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(7, 8))
			d, truth := &distributions{store: new(store)}, &distributions{store: new(store)}
			for range n {
				first, gap := int64(20e6+r.ExpFloat64()*5e6), int64(4e6+r.NormFloat64()*2e5)
				if row.even {
					gap = 4e6
				}
				real, seen := answer(), answer()
				late := row.late(r)
				for i := range int64(16) {
					real.Token(first+i*gap, 1)
					seen.Token(first+i*gap+late, 1)
					seen.LateBy(late)
					late = row.late(r)
				}
				for _, o := range []*Outcome{real, seen} {
					o.FirstByte, o.Content = o.First, o.First
					o.End, o.Out = o.Last, 16
				}
				seen.LateEnd = seen.Last - real.Last
				truth.addOK(real)
				d.addOK(seen)
			}
			want, got := map[report.Number]bool{}, map[report.Number]bool{}
			real := map[string]report.Metric{}
			collect(t, truth, func(name string, m report.Metric, _ *report.Distribution) { real[name] = m })
			var seen []report.Shift
			collect(t, d, func(name string, m report.Metric, timely *report.Distribution) {
				seen = append(seen, shifts(name, m, timely)...)
				for _, s := range report.Shifts(name, m, real[name]) {
					want[s.Number] = math.Abs(s.By) > 1.1*s.Limit
				}
			})
			for _, s := range seen {
				got[s.Number] = true
			}
			if want[report.Number{Metric: "ttft", Quantile: "p50"}] != row.want {
				t.Fatalf("the median is wrong: %v, want %v", !row.want, row.want)
			}
			for number, wrong := range want {
				if wrong && !got[number] && slices.Contains(report.Headlines(), number) {
					t.Errorf("%s is wrong, and nothing says so", number)
				}
			}
			for number := range got {
				if _, off := want[number]; !off && slices.Contains(report.Headlines(), number) {
					t.Errorf("%s is said to be wrong, and is not", number)
				}
			}
		})
	}
}

func collect(t *testing.T, d *distributions, f func(name string, m report.Metric, timely *report.Distribution)) {
	t.Helper()
	err := d.each(func(names []string, values, timely *report.Distribution) error {
		m, ok := values.Metric()
		for _, name := range names {
			if ok {
				f(name, m, timely)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
