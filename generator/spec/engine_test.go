package spec

import (
	"reflect"
	"strings"
	"testing"

	"bflow.dev/bflow/platform/engine"
)

// TestTheFormatHasEveryEngine: the words of field kind are those of the registry.
func TestTheFormatHasEveryEngine(t *testing.T) {
	kind, _ := reflect.TypeFor[Engine]().FieldByName("Kind")
	if got, want := kind.Tag.Get("enum"), strings.Join(engine.Kinds(), "|"); got != want {
		t.Errorf("the field takes %s, the engines are %s", got, want)
	}
	if got := kind.Tag.Get("implied"); got != engine.Default {
		t.Errorf("the field implies %s, the usual engine is %s", got, engine.Default)
	}
}
