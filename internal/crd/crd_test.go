package crd

import (
	"bytes"
	"strings"
	"testing"
)

func TestASchemaRefusesWhatItsRulesForbid(t *testing.T) {
	s, err := New([]byte(`
type: object
properties:
  low: {type: integer}
  high: {type: integer}
x-kubernetes-validations:
- {rule: self.low <= self.high, message: low is above high}
`))
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	for _, problem := range s.Check(map[string]any{"low": 3, "high": 2, "other": 1}) {
		out.WriteString(problem.Error() + "\n")
	}
	for _, want := range []string{"low is above high", `unknown field "other"`} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("got %q, want %q in it", out.String(), want)
		}
	}
}
