package runplan

import (
	"strings"
	"testing"
)

func TestAPlanThatIsMoved(t *testing.T) {
	for _, row := range []struct {
		name, into string
		query      string
		want, err  string
	}{
		{name: "goes where it is told", into: "lab", query: `up{job="bench"}`, want: "lab"},
		{name: "stays where nobody says anything", query: `up{namespace="perf"}`, want: "perf"},
		{name: "stays where it is already", into: "perf", query: `up{namespace="perf"}`, want: "perf"},
		{name: "is refused where it asks about its namespace", into: "lab", query: `up{namespace="perf"}`, want: "perf",
			err: `query "a" names namespace "perf"; plan its experiment again, with -n lab`},
		{name: "may ask about another that begins so", into: "lab", query: `up{namespace="perf-2"}`, want: "lab"},
	} {
		t.Run(row.name, func(t *testing.T) {
			p := &RunPlan{APIVersion: APIVersion, Kind: Kind, Name: "p", Target: Target{Namespace: "perf"},
				Metrics: &Metrics{Queries: map[string]string{"a": row.query}}}
			if err := Seal(p); err != nil {
				t.Fatal(err)
			}
			err := new(Sealer).Move(p, row.into)
			if (err == nil) != (row.err == "") || err != nil && !strings.Contains(err.Error(), row.err) {
				t.Fatalf("it says %v", err)
			}
			if p.Target.Namespace != row.want {
				t.Errorf("it is of namespace %q, want %q", p.Target.Namespace, row.want)
			}
			if err := Verify(p); err != nil {
				t.Error(err)
			}
		})
	}
}
