package gc

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
)

func TestWhatMakesPodsStaysUntilTheyAreGone(t *testing.T) {
	got := map[string]metav1.DeletionPropagation{}
	c := interceptor.NewClient(fake.NewClientBuilder().Build(), interceptor.Funcs{
		Delete: func(_ context.Context, _ client.WithWatch, o client.Object, options ...client.DeleteOption) error {
			all := new(client.DeleteOptions).ApplyOptions(options)
			got[o.GetObjectKind().GroupVersionKind().Kind] = *all.PropagationPolicy
			return nil
		},
	})
	var all []Object
	for _, kind := range []string{"Deployment", "Job", "Service", "Secret"} {
		all = append(all, Object{metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{Kind: kind}}})
	}
	if err := Delete(t.Context(), c, all, func(Object) {}); err != nil {
		t.Fatal(err)
	}
	want := map[string]metav1.DeletionPropagation{
		"Deployment": metav1.DeletePropagationForeground, "Job": metav1.DeletePropagationForeground,
		"Service": metav1.DeletePropagationBackground, "Secret": metav1.DeletePropagationBackground,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("how they are deleted (-want +got):\n%s", diff)
	}
}
