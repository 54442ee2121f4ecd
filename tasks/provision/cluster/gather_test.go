package cluster

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bflow.dev/bflow/internal/apitest"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
)

// TestEventsOfARunAreThoseOfItsObjects asks for each by name: what else happens in the namespace is not sent.
func TestEventsOfARunAreThoseOfItsObjects(t *testing.T) {
	server, dir := apitest.New(t, "bench"), t.TempDir()
	for _, name := range []string{"x-sim-5f-1", "x-sim-5f", "x-sim", "x-sim-5f-11", "x", "stranger"} {
		server.Put("/api/v1/namespaces/bench/events/"+name,
			corev1.Event{Reason: "Seen", InvolvedObject: corev1.ObjectReference{Kind: "Any", Name: name}})
	}
	var pod corev1.Pod
	text := []byte(`{"metadata":{"name":"x-sim-5f-1","labels":{"pod-template-hash":"5f"},` +
		`"ownerReferences":[{"kind":"ReplicaSet","name":"x-sim-5f"}]}}`)
	if err := json.Unmarshal(text, &pod); err != nil {
		t.Fatal(err)
	}
	d := diagnostics{cluster: connect(t, server), dir: dir, pods: []*corev1.Pod{&pod}}
	if err := d.events(t.Context()); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, FileEvents))
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]bool{}
	for line := range strings.Lines(string(text)) {
		var e event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		got[e.Object] = true
	}
	if diff := cmp.Diff(map[string]bool{"any/x-sim-5f-1": true, "any/x-sim-5f": true, "any/x-sim": true},
		got); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}
