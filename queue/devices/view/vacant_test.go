package view

import (
	"testing"

	"bflow.dev/bflow/internal/apitest"
	"bflow.dev/bflow/internal/eventually"
	"bflow.dev/bflow/runplan/contract"

	corev1 "k8s.io/api/core/v1"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
)

func TestANamespaceIsVacantOnlyWhereThatIsKnown(t *testing.T) {
	const pod, account = "/api/v1/namespaces/bench/pods/p", "/api/v1/namespaces/bench/serviceaccounts/bflow-runner"
	s := apitest.New(t, "bench", "other")
	s.Put("/api/v1/namespaces/other/serviceaccounts/bflow-runner", apitest.Object{})
	s.Put(account, apitest.Object{})
	s.Put(pod, fullPod(func(p *corev1.Pod) { p.Namespace = "bench" }))
	far, err := New(s.Config(), "far", func() {})
	if err != nil {
		t.Fatal(err)
	}
	far.Also(&corev1.ServiceAccount{}, cache.ByObject{}, toolscache.ResourceEventHandlerFuncs{})
	ours := func(labels map[string]string) bool { return labels[contract.LabelHub] == "h" }
	if vacant, err := far.Vacant(t.Context(), "bench", ours); vacant || err == nil {
		t.Errorf("before anything is known it is vacant: %v, %v", vacant, err)
	}
	go far.Start(t.Context())
	becomes := func(what string, want bool) {
		t.Helper()
		eventually.True(t, what, func() bool {
			vacant, err := far.Vacant(t.Context(), "bench", ours)
			return err == nil && vacant == want
		})
	}
	becomes("a pod and an account are seen", false)
	s.Remove(pod)
	if vacant, _ := far.Vacant(t.Context(), "bench", ours); vacant {
		t.Error("it is vacant though its account is there")
	}
	s.Remove(account)
	becomes("both are gone", true)
	s.Put(pod, fullPod(func(p *corev1.Pod) { p.Namespace, p.Labels[contract.LabelHub] = "bench", "another" }))
	s.Put("/api/v1/namespaces/bench/pods/q", fullPod(func(p *corev1.Pod) { p.Namespace, p.Name = "bench", "q" }))
	becomes("a pod of ours is back", false)
	s.Remove("/api/v1/namespaces/bench/pods/q")
	becomes("that of another hub alone is there", true)
	far.probe.note("no route to host")
	if vacant, err := far.Vacant(t.Context(), "bench", ours); vacant || err == nil {
		t.Errorf("of one that does not answer it is vacant: %v, %v", vacant, err)
	}
}

func TestWhereNobodyWatchesAccountsNothingIsVacant(t *testing.T) {
	s := apitest.New(t, "bench")
	far, err := New(s.Config(), "far", func() {})
	if err != nil {
		t.Fatal(err)
	}
	go far.Start(t.Context())
	eventually.True(t, "that all of it is seen", func() bool { return far.Ready() && far.Reach().Up })
	if vacant, err := far.Vacant(t.Context(), "bench", func(map[string]string) bool { return true }); vacant ||
		err == nil {
		t.Errorf("it is vacant: %v, %v", vacant, err)
	}
}
