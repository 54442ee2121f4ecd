package cluster

import (
	"net/http"
	"strings"
	"testing"

	"bflow.dev/bflow/internal/apitest"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

func TestAnObjectIsMadeOnceWhoIsAskedAnswers(t *testing.T) {
	service := []runtime.Object{&corev1.Service{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"}, ObjectMeta: metav1.ObjectMeta{Name: "s"},
	}}
	for _, row := range []struct {
		name    string
		answers []int
		tries   int
		want    string
	}{
		{"an API server that is away for a moment is asked again", []int{http.StatusServiceUnavailable, 0}, 2, ""},
		{"what a lost try has made is taken", []int{http.StatusServiceUnavailable, http.StatusConflict}, 2, ""},
		{"a name that is taken is not taken over", []int{http.StatusConflict}, 1, "the name is taken"},
		{"who may not, may not", []int{http.StatusForbidden}, 1, "creating services"},
	} {
		t.Run(row.name, func(t *testing.T) {
			server, tries := apitest.New(t, "bench"), 0
			server.Refuse(func(apitest.Request) (int, string) {
				tries++
				return row.answers[min(tries, len(row.answers))-1], "refused"
			})
			err := connect(t, server).Create(t.Context(), service)
			if (err == nil) != (row.want == "") || err != nil && !strings.Contains(err.Error(), row.want) || tries != row.tries {
				t.Errorf("after %d tries: %v", tries, err)
			}
		})
	}
}

// TestANamespaceThatIsNoNameLeadsNowhere: it comes from a plan, and is a part of the path of each request.
func TestANamespaceThatIsNoNameLeadsNowhere(t *testing.T) {
	service := []runtime.Object{&corev1.Service{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"}, ObjectMeta: metav1.ObjectMeta{Name: "s"},
	}}
	for _, row := range []struct {
		name string
		act  func(*Cluster) error
	}{
		{"an object is created", func(c *Cluster) error { return c.Create(t.Context(), service) }},
		{"a run is removed", func(c *Cluster) error { return c.Remove(t.Context(), Run{ID: "r-1", Attempt: 1}) }},
	} {
		t.Run(row.name, func(t *testing.T) {
			server := apitest.New(t, "bench")
			c := connect(t, server)
			c.Namespace = "x/../bench"
			err := row.act(c)
			asked := len(server.Requests())
			if err == nil || !strings.Contains(err.Error(), `invalid namespace "x/../bench"`) || asked > 0 {
				t.Errorf("%v, after %d requests", err, asked)
			}
		})
	}
}
