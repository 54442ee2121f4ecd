package runs

import (
	"strings"
	"testing"
	"time"

	"bflow.dev/bflow/internal/screen"
)

// A line has no room for all that a run asks for: the devices, which people wait for, are not cut.
func TestWhoHoldsAQueueFitsATerminal(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	asked := map[string]string{"bflow.dev/cluster-slot": "1", "cpu": "13250m", "ephemeral-storage": "20Gi",
		"memory": "90Gi", "nvidia.com/gpu": "8", "pods": "6"}
	near := &Neighbours{
		Holders: []Neighbour{
			{Run: "holder-20260301-101112-ab12", Namespace: "team-a", Requests: asked, Since: now.Add(-75 * time.Minute)},
			{Run: "done", Namespace: "team-b", Requests: asked, Since: now.Add(-time.Minute), Ending: true},
		},
		Before: []Neighbour{
			{Run: "earlier", Namespace: "team-b", Requests: asked, Since: now.Add(-30 * time.Second), Place: 1},
			{Run: "next", Namespace: "team-b", Requests: asked, Since: now.Add(time.Second), Place: 2},
		},
		Hidden: true,
	}
	var out strings.Builder
	neighbourRows(&out, screen.Screen{Width: 80}, near, now)
	want := `
HELD BY                      NAMESPACE  FOR           ASKS FOR
holder-20260301-101112-ab12  team-a     1h15m0s       8 nvidia.com/gpu, 13250m..
done                         team-b     1m0s, ending  8 nvidia.com/gpu, 13250m..

BEFORE IT  NAMESPACE  WAITING       ASKS FOR
earlier    team-b     30s, place 1  8 nvidia.com/gpu, 13250m cpu, 20Gi ephemer..
next       team-b     0s, place 2   8 nvidia.com/gpu, 13250m cpu, 20Gi ephemer..

runs in other namespaces may use the rest; you are not allowed to see them
`
	if out.String() != want {
		t.Errorf("got:\n%s\nwant:\n%s", out.String(), want)
	}
}
