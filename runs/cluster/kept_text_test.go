package cluster

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestTheJanitorTellsWhatEndedRunsKeep(t *testing.T) {
	const gib = 1 << 30
	run := func(name string, volumes int, saved bool) Kept {
		return Kept{Run: name, Pods: 7, Volumes: volumes, Bytes: int64(volumes) * 2 * gib, Saved: saved}
	}
	for _, row := range []struct {
		name string
		kept []Kept
		want string
	}{
		{"nothing", nil, "no ended run keeps a pod or a volume\n"},
		{"pods alone", []Kept{run("a", 0, false)}, "kept by 1 run that has ended: 7 pods\n"},
		{"results of both kinds", []Kept{run("a", 1, true), run("b", 2, false), run("c", 1, false), run("d", 1, false),
			run("e", 1, false)},
			`kept by 5 runs that have ended: 35 pods and 6 volumes of 12Gi
  7 pods and 1 volume of 2Gi: the results were fetched, pushed or gathered; --keep-volumes of bflow bootstrap sets how long they are kept; delete them now with bflow delete a
  28 pods and 5 volumes of 10Gi: the results exist only there; fetch them with bflow fetch b, likewise c d e
`},
	} {
		if diff := cmp.Diff(row.want, keptText(row.kept)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", row.name, diff)
		}
	}
}
