package app

import (
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"bflow.dev/bflow/bootstrap"
	queuetarget "bflow.dev/bflow/queue/target"

	"github.com/google/go-cmp/cmp"
)

func TestTheTableOfTargets(t *testing.T) {
	since := time.Unix(1000, 0)
	all := []bootstrap.TargetState{
		{Name: "away", Seen: &queuetarget.Status{Since: since, Why: "no route\nto host"}, Waiting: 3},
		{Name: "far", Running: 2, Held: true, Seen: &queuetarget.Status{Up: true, Since: since, Version: "v1.34.4",
			Complete: true, Devices: map[string]queuetarget.DeviceCount{
				"nvidia.com/gpu":         {Total: 8, Free: 5, Ours: 2, Foreign: 1, Product: "bflow.dev/gpu-h100"},
				"nvidia.com/mig-1g.10gb": {Total: 7, Free: 7},
			}}},
		{Name: "new"},
		{Name: "old", Lacks: []string{"bench", "lab"},
			Seen: &queuetarget.Status{Up: true, Since: since, Version: "v1.34.4", Complete: true}},
	}
	var out strings.Builder
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', 0)
	if err := printTargetTable(w, all, since.Add(90*time.Second)); err != nil {
		t.Fatal(err)
	}
	w.Flush()
	want := `
TARGET  ANSWERS        VERSION  DEVICES                 TOTAL  FREE  OURS  OTHERS  RUNS  WAITING  NOTE
away    no, for 1m30s  -        -                       -      -     -     -       0     3        no route to host
far     yes            v1.34.4  bflow.dev/gpu-h100      8      5     2     1       2     0        no run starts there: it is being removed
                                nvidia.com/mig-1g.10gb  7      7     0     0                      
new     unknown        -        -                       -      -     -     -       0     0        
old     yes            v1.34.4  -                       -      -     -     -       0     0        its service accounts lack permissions for runs of bench, lab: run bflow target add old --kubeconfig FILE
`
	if diff := cmp.Diff(strings.TrimLeft(want, "\n"), out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
