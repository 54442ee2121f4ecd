package target

import (
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// TestANamespaceThatIsBeingDeletedIsWaitedFor: the API server reports it as forbidden, though more rights would not
// help.
func TestANamespaceThatIsBeingDeletedIsWaitedFor(t *testing.T) {
	refusal := apierrors.NewForbidden(schema.GroupResource{Resource: "serviceaccounts"}, "x", errors.New("it is being terminated"))
	refusal.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: corev1.NamespaceTerminatingCause}}
	got := (&Cluster{}).explain("applying x", refusal).Error()
	if !strings.HasSuffix(got, "it is being terminated; try again once it is gone") {
		t.Errorf("got %q", got)
	}
}
