package load

import (
	"reflect"
	"strconv"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// What the fields of a stop rule say of themselves is what a plan gets.
func TestStopRulesHaveTheNumbersOfTheirFields(t *testing.T) {
	var names []string
	tags := map[string]reflect.StructTag{}
	for i, rule := 0, reflect.TypeFor[StopRule](); i < rule.NumField(); i++ {
		name, _, _ := strings.Cut(rule.Field(i).Tag.Get("json"), ",")
		tags[name] = rule.Field(i).Tag
	}
	for _, kind := range stopKinds() {
		names = append(names, kind.name)
		for _, n := range kind.numbers {
			implied := ""
			if !n.required {
				implied = strconv.FormatFloat(n.value, 'f', -1, 64)
			}
			if got := tags[n.name].Get("implied"); got != implied {
				t.Errorf("%s of %s is %q unless set, its field says %q", n.name, kind.name, implied, got)
			}
		}
	}
	if got, want := tags["kind"].Get("enum"), strings.Join(names, "|"); got != want {
		t.Errorf("the kinds are %s, the field says %s", want, got)
	}
	for _, v := range (&StopRule{}).values(1) {
		if _, ok := tags[v.name]; !ok {
			t.Errorf("%s is no field of a stop rule", v.name)
		}
	}
	if got, want := len((&StopRule{}).values(1)), len(tags)-len([]string{"kind", "stopping_scope", "mode"}); got != want {
		t.Errorf("%d numbers are looked at, the rule has %d", got, want)
	}
}

// A path leads to what stands there, or to the nearest above it, and says where it should be.
func TestAPlaceBelowABlockIsFound(t *testing.T) {
	var doc yaml.Node
	text := "api: {headers: {a.b: x}}\nstages:\n- rate: 1\n- rate: 22\ndata:\n"
	if err := yaml.Unmarshal([]byte(text), &doc); err != nil {
		t.Fatal(err)
	}
	block := value{findings: &findings{}}.at(doc.Content[0], "spec.load")
	for _, row := range []struct {
		path string
		line int
	}{
		{`api.headers["a.b"]`, 1}, {"stages[1].rate", 4}, {"stages[1].name", 4}, {"stages[5].rate", 3}, {"data.input", 1},
	} {
		got := block.below(row.path)
		if got.node.Line != row.line || got.path != "spec.load."+row.path {
			t.Errorf("%s: found in line %d as %s, want line %d", row.path, got.node.Line, got.path, row.line)
		}
	}
}
