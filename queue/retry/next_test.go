package retry

import (
	"testing"

	"bflow.dev/bflow/tasks/contract"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestTheNextAttemptBelongsToWhoeverStartedTheFirst(t *testing.T) {
	next := Next(&tektonv1.PipelineRun{ObjectMeta: metav1.ObjectMeta{Name: "r", Labels: map[string]string{contract.LabelPlanHash: "abc", contract.LabelParent: "start"},
		Annotations:     map[string]string{contract.AnnotationStarted: "jane", contract.AnnotationReleased: "now"},
		OwnerReferences: []metav1.OwnerReference{{Kind: "PipelineRun", Name: "start", UID: "u"}}}})
	if len(next.OwnerReferences) != 1 || next.OwnerReferences[0].Name != "start" || next.Labels[contract.LabelParent] != "start" {
		t.Errorf("owners %v, labels %v", next.OwnerReferences, next.Labels)
	}
	if next.Annotations[contract.AnnotationStarted] != "jane" || next.Annotations[contract.AnnotationReleased] != "" {
		t.Errorf("annotations %v", next.Annotations)
	}
}
