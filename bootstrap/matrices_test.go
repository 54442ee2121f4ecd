package bootstrap

import (
	"testing"

	"bflow.dev/bflow/runplan/contract"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func TestAMatrixIsSettledWhenItsControllerLetsItGo(t *testing.T) {
	ended := []any{map[string]any{"type": "Succeeded", "status": "False"}}
	for name, tt := range map[string]struct {
		conditions []any
		finalizers []string
		want       bool
	}{
		"its runs have not ended":          {nil, []string{contract.FinalizerMatrix}, false},
		"they have, and it is not let go":  {ended, []string{contract.FinalizerMatrix}, false},
		"it is let go":                     {ended, nil, true},
		"only somebody else holds it then": {ended, []string{"example.com/other"}, true},
	} {
		t.Run(name, func(t *testing.T) {
			custom := &unstructured.Unstructured{Object: map[string]any{"status": map[string]any{"conditions": tt.conditions}}}
			custom.SetFinalizers(tt.finalizers)
			if got, why := settled(custom); got != tt.want || got != (why == "") {
				t.Errorf("settled %v: %q", got, why)
			}
		})
	}
	if got, _ := settled(nil); !got {
		t.Error("one that is gone is not settled")
	}
}
