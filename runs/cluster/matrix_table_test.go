package cluster

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"bflow.dev/bflow/internal/screen"
	"bflow.dev/bflow/pipelines/local"
	"bflow.dev/bflow/queue/matrix/state"
)

func TestTheTableOfAMatrix(t *testing.T) {
	now := time.Unix(10_000, 0)
	v := MatrixView{MatrixStatus: MatrixStatus{Matrix: "tiny", State: local.Running, Alive: true, Points: 40,
		Counts: state.Counts{Passed: 10, Running: 2, Queued: 20, Waiting: 8}, Finish: now.Add(20 * time.Minute),
		Waits: []string{`queue "a": all are in use`}}}
	for i := range 20 {
		r := RunLine{Run: fmt.Sprintf("tiny-%05d", i+11), Point: i + 11, State: local.Pending, Since: now.Add(-time.Minute),
			Reason: "Place 3"}
		if i < 2 {
			r.State, r.Target, r.Reason = local.Running, "a", ""
		}
		v.Runs = append(v.Runs, r)
	}
	lines := tableOf(v, now, 80)
	want := []string{"tiny  Running", "[##########--" + strings.Repeat(" ", 28) + "]  10 passed, 2 running, 20 queued, 8 ",
		`waits: queue "a": all are in use`,
		"     11  tiny-00011  runs on a, 1m0s"}
	for i, w := range want {
		if lines[i] != w {
			t.Errorf("line %d is %q, want %q", i, lines[i], w)
		}
	}
	if last := lines[len(lines)-1]; last != "  and 4 more" {
		t.Errorf("the last line is %q", last)
	}
	var shown strings.Builder
	table := newLiveTable(&shown, screen.Screen{Width: 80, Live: true}, func() time.Time { return now })
	table.show(v)
	table.show(v)
	if up := fmt.Sprintf("\x1b[%dA\x1b[J", len(lines)); strings.Count(shown.String(), up) != 1 {
		t.Errorf("%q is not drawn over", shown.String())
	}
}
