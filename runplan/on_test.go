package runplan

import "testing"

func TestAPlanThatLeavesItsTargetOpenSaysWhereItRan(t *testing.T) {
	for _, row := range []struct {
		name    string
		target  Target
		on      string
		want    string
		another bool // plan
	}{
		{"one of some", Target{Name: "any", AnyOf: []string{"a", "b"}}, "b", "b", true},
		{"one with labels", Target{Name: "any", Selector: map[string]string{"region": "eu"}}, "b", "b", true},
		{"one of some, on a host", Target{Name: "any", AnyOf: []string{"a", "b"}}, "", "any", false},
		{"a certain one", Target{Name: "a"}, "b", "a", false},
	} {
		t.Run(row.name, func(t *testing.T) {
			p := &RunPlan{Hash: "h", Target: row.target}
			got := p.On(row.on)
			if got.Target.Name != row.want || got.Hash != "h" || (got != p) != row.another || p.Target.Name != row.target.Name {
				t.Errorf("on %q it is %+v, and the plan %+v", row.on, got.Target, p.Target)
			}
		})
	}
}
