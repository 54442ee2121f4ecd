package load

import (
	"reflect"
	"strconv"
	"strings"
	"testing"

	"bflow.dev/bflow/load/tool"
)

// What the fields of a stop rule say of themselves is what a plan gets.
func TestStopRulesHaveTheNumbersOfTheirFields(t *testing.T) {
	var names []string
	tags := map[string]reflect.StructTag{}
	for i, rule := 0, reflect.TypeFor[StopRule](); i < rule.NumField(); i++ {
		name, _, _ := strings.Cut(rule.Field(i).Tag.Get("json"), ",")
		tags[name] = rule.Field(i).Tag
	}
	for _, kind := range tool.StopKinds() {
		names = append(names, kind.Name)
		for _, n := range kind.Numbers {
			implied := ""
			if !n.Required {
				implied = strconv.FormatFloat(n.Value, 'f', -1, 64)
			}
			if got := tags[n.Name].Get("implied"); got != implied {
				t.Errorf("%s of %s is %q unless set, its field says %q", n.Name, kind.Name, implied, got)
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
