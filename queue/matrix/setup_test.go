package matrix

import (
	"testing"
	"time"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

func TestAMatrixIsLookedAtWhenItsParentEnds(t *testing.T) {
	for name, tt := range map[string]struct {
		edit func(*tektonv1.PipelineRun)
		want int
	}{
		"it goes on":      {func(*tektonv1.PipelineRun) {}, 0},
		"it is cancelled": {func(pr *tektonv1.PipelineRun) { pr.Spec.Status = tektonv1.PipelineRunSpecStatusCancelled }, 1},
		"it is deleted":   {func(pr *tektonv1.PipelineRun) { pr.DeletionTimestamp = &metav1.Time{Time: time.Now()} }, 1},
		"it has no matrix": {func(pr *tektonv1.PipelineRun) { pr.Spec.Status, pr.Status.ChildReferences = "Cancelled", nil },
			0},
	} {
		t.Run(name, func(t *testing.T) {
			pr := &tektonv1.PipelineRun{}
			pr.Name, pr.Namespace = "tiny", ns
			pr.Status.ChildReferences = []tektonv1.ChildStatusReference{{Name: "tiny-begin", TypeMeta: typeOf("TaskRun")},
				{Name: "tiny-children", TypeMeta: typeOf(kind)}}
			tt.edit(pr)
			got := endingIn(t.Context(), pr)
			if len(got) != tt.want || tt.want == 1 && (got[0].Namespace != ns || got[0].Name != "tiny-children") {
				t.Errorf("asks for %v", got)
			}
		})
	}
}

func typeOf(kind string) runtime.TypeMeta { return runtime.TypeMeta{Kind: kind} }
