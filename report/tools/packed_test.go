package tools

import (
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"bflow.dev/bflow/report"
)

func TestNumbersOfRequestsAreKeptExactly(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	stamp := func() *int64 {
		x := rng.Int64N(1<<(1+rng.IntN(61))) - rng.Int64N(1<<40)
		return map[bool]*int64{true: &x}[rng.IntN(4) > 0]
	}
	count := func() *int {
		x := rng.IntN(1<<(1+rng.IntN(40))) - 2
		return map[bool]*int{true: &x}[rng.IntN(4) > 0]
	}
	var want []report.Row
	var p packed
	for i := range 50_000 {
		r := report.Row{TIntended: rng.Int64N(1 << 50), Sample: rng.IntN(3),
			Status:     []string{report.StatusOK, report.StatusCut, ""}[rng.IntN(3)],
			ErrorClass: []string{"", report.ErrDial}[rng.IntN(2)], TSend: stamp(), TFirstByte: stamp(), TFirst: stamp(),
			TContent: stamp(), TLast: stamp(),
			TEnd: stamp(), TokensInAsked: count(), TokensIn: count(), TokensOut: count(), TokensReasoning: count(),
			TokensCached: count(), Events: count(),
			QueueWait: rng.Int64N(1 << 40), Dial: -rng.Int64N(9), BytesOut: rng.Int64N(1 << 20)}
		p.add(3*i, &r)
		want = append(want, r)
	}
	i := 0
	for number, got := range p.all() {
		if diff := cmp.Diff(&want[i], got); diff != "" || number != 3*i {
			t.Fatalf("row %d has number %d (-want +got):\n%s", i, number, diff)
		}
		i++
	}
	if i != len(want) {
		t.Errorf("%d rows, want %d", i, len(want))
	}
}
