package runplan

import "testing"

// A Sealer that has seen other plans gives the digest that Verify takes of the whole document.
func TestASealerGivesTheDigestOfTheWholeDocument(t *testing.T) {
	shared := &Metrics{Profile: "detailed", Queries: map[string]string{"a": "rate(x[1m])"}}
	var s Sealer
	for i, metrics := range []*Metrics{nil, shared, shared, {Profile: "other"}, shared, nil, {Profile: standIn}} {
		p := &RunPlan{APIVersion: APIVersion, Kind: Kind, Name: "p", Index: i, Metrics: metrics}
		if err := s.Seal(p); err != nil {
			t.Fatal(err)
		}
		if err := Verify(p); err != nil {
			t.Errorf("plan %d: %v", i, err)
		}
	}
}
