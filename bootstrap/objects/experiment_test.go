package objects_test

import (
	"strings"
	"testing"

	"bflow.dev/bflow/bootstrap/objects"

	"bflow.dev/bflow/pipelines/check"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// TestThePipelineOfExperimentsIsOneThatTektonTakes checks it by the rules of Tekton and of Pod Security.
func TestThePipelineOfExperimentsIsOneThatTektonTakes(t *testing.T) {
	checker, err := check.New()
	if err != nil {
		t.Fatal(err)
	}
	var stream strings.Builder
	for _, o := range objectsOf(t, full()) {
		if o.GroupVersionKind().Group != "tekton.dev" || o.GetNamespace() != "bench" {
			continue
		}
		text, err := o.MarshalJSON()
		if err != nil {
			t.Fatal(err)
		}
		stream.WriteString("---\n" + string(text) + "\n")
	}
	if err := checker.Stream(strings.NewReader(stream.String())); err != nil || stream.Len() == 0 {
		t.Error(err)
	}
}

func TestTheTaskOfExperimentsRunsTheImageBesideTheControllers(t *testing.T) {
	digest := "@sha256:" + strings.Repeat("a", 64)
	for _, row := range []struct {
		name string
		c    objects.Config
		want string
	}{
		{"nothing is named", objects.Config{Version: "v1+2"}, "localhost/bflow/bflow:v1-2"},
		{"the controller's image is named", objects.Config{Version: "v1", Image: "reg.example/x/bflow-controller:v1"},
			"reg.example/x/bflow:v1"},
		{"by digest", objects.Config{Version: "v1", Image: "reg.example/x/bflow-controller" + digest},
			"reg.example/x/bflow:v1"},
		{"both by digest", objects.Config{Image: "reg.example/x/bflow-controller" + digest,
			Client: "reg.example/x/bflow" + digest}, "reg.example/x/bflow" + digest},
		{"the controller has a name of its own", objects.Config{Version: "v1", Image: "reg.example/mine:v7"},
			"localhost/bflow/bflow:v1"},
	} {
		steps, _, _ := unstructured.NestedSlice(find(t, objectsOf(t, row.c), "Task", objects.DefaultNamespace,
			"bflow-experiment").Object, "spec", "steps")
		if got := steps[0].(map[string]any)["image"]; got != row.want {
			t.Errorf("%s: got %s, want %s", row.name, got, row.want)
		}
	}
}
