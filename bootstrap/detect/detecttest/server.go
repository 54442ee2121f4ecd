// Package detecttest is a small API server that answers from YAML: discovery, get, list, create, delete and access
// reviews. It serves tests of code that asks a cluster questions, and knows no admission, no watch and no controllers.
package detecttest

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/rest"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Server is the API server. Change its fields before the first request.
type Server struct {
	Version string                                               // as /version says it
	Header  http.Header                                          // of every answer
	Allowed func(verb, group, resource, subresource string) bool // answers access reviews; nil allows everything
	Refused func(verb, resource string) bool                     // answers 403 to requests for a resource; nil refuses nothing
	Created func(*unstructured.Unstructured)                     // changes an object that is created, such as its status
	Logs    string                                               // of every pod

	mu      sync.Mutex
	objects []*unstructured.Unstructured
	served  map[schema.GroupVersion][]metav1.APIResource
	http    *httptest.Server
}

// Start serves the objects of some YAML documents until the test ends.
func Start(t testing.TB, documents ...string) *Server {
	t.Helper()
	s := &Server{Version: "v1.34.4", served: map[schema.GroupVersion][]metav1.APIResource{}}
	for _, r := range []string{
		"v1 Namespace", "v1 Node", "v1 Pod+", "v1 ConfigMap+", "v1 ServiceAccount+", "apps/v1 Deployment+",
		"storage.k8s.io/v1 StorageClass", "authorization.k8s.io/v1 SelfSubjectAccessReview",
	} {
		gv, kind, _ := strings.Cut(r, " ")
		kind, namespaced := strings.CutSuffix(kind, "+")
		s.Serve(gv, kind, namespaced)
	}
	for _, d := range documents {
		s.Add(t, d)
	}
	s.http = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(s.http.Close)
	return s
}

// Config is the way to the server.
func (s *Server) Config() *rest.Config { return &rest.Config{Host: s.http.URL, QPS: -1} }

// Serve makes a kind known that has no objects.
func (s *Server) Serve(groupVersion, kind string, namespaced bool) {
	gv, err := schema.ParseGroupVersion(groupVersion)
	if err != nil {
		panic(err)
	}
	plural, _ := meta.UnsafeGuessKindToResource(gv.WithKind(kind))
	if slices.ContainsFunc(s.served[gv], func(r metav1.APIResource) bool { return r.Name == plural.Resource }) {
		return
	}
	s.served[gv] = append(s.served[gv], metav1.APIResource{Name: plural.Resource, Kind: kind, Namespaced: namespaced, Verbs: metav1.Verbs{"get", "list", "create", "delete"}})
}

// Add adds the objects of YAML documents and serves their kinds.
func (s *Server) Add(t testing.TB, documents string) {
	t.Helper()
	decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(documents), 4096)
	for {
		o := &unstructured.Unstructured{}
		if err := decoder.Decode(&o.Object); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatalf("reading a document: %v", err)
		}
		if len(o.Object) == 0 {
			continue
		}
		normal, err := json.Marshal(o.Object) // numbers as the server has them
		if err != nil {
			t.Fatal(err)
		}
		if err := o.UnmarshalJSON(normal); err != nil {
			t.Fatalf("reading a document: %v", err)
		}
		s.Serve(o.GetAPIVersion(), o.GetKind(), o.GetNamespace() != "")
		s.objects = append(s.objects, o)
	}
}

// Edit changes an object in place, or removes it where change is nil.
func (s *Server) Edit(t testing.TB, kind, name string, change func(*unstructured.Unstructured)) {
	t.Helper()
	at := slices.IndexFunc(s.objects, func(o *unstructured.Unstructured) bool { return o.GetKind() == kind && o.GetName() == name })
	if at < 0 {
		t.Fatalf("there is no %s %q to edit", kind, name)
	}
	if change == nil {
		s.objects = slices.Delete(s.objects, at, at+1)
		return
	}
	change(s.objects[at])
}

// matching returns the objects that a request means.
func (s *Server) matching(p path, labelSelector, fieldSelector string) []*unstructured.Unstructured {
	wanted, err := labels.Parse(labelSelector)
	if err != nil {
		return nil
	}
	if name, ok := strings.CutPrefix(fieldSelector, "metadata.name="); ok {
		p.name = name
	}
	var found []*unstructured.Unstructured
	for _, o := range s.objects {
		plural, _ := meta.UnsafeGuessKindToResource(o.GroupVersionKind())
		if plural.GroupVersion() == p.gv && plural.Resource == p.resource && (p.namespace == "" || o.GetNamespace() == p.namespace) &&
			(p.name == "" || o.GetName() == p.name) && wanted.Matches(labels.Set(o.GetLabels())) {
			found = append(found, o)
		}
	}
	return found
}

// Unserve forgets a version of a group, and the objects in it.
func (s *Server) Unserve(groupVersion string) {
	gv, err := schema.ParseGroupVersion(groupVersion)
	if err != nil {
		panic(err)
	}
	delete(s.served, gv)
	s.objects = slices.DeleteFunc(s.objects, func(o *unstructured.Unstructured) bool { return o.GroupVersionKind().GroupVersion() == gv })
}

// Count returns how many objects of a kind are in a namespace.
func (s *Server) Count(kind, namespace string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	n := 0
	for _, o := range s.objects {
		if o.GetKind() == kind && o.GetNamespace() == namespace {
			n++
		}
	}
	return n
}
