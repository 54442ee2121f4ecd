package apitest

import (
	stdjson "encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/yaml"
)

// Get returns a copy of an object, nil where there is none.
func (s *Server) Get(path string) Object {
	s.mu.Lock()
	defer s.mu.Unlock()
	return clone(s.objects[path])
}

// List returns the paths of what is below prefix.
func (s *Server) List(prefix string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var out []string
	for path := range s.objects {
		if strings.HasPrefix(path, prefix) {
			out = append(out, path)
		}
	}
	slices.Sort(out)
	return out
}

// Find returns the path of the first object of a kind and name, in whatever namespace.
func (s *Server) Find(t testing.TB, kind, name string) string {
	t.Helper()
	for _, path := range s.List("/") {
		if o := s.Get(path); o["kind"] == kind && metadata(o)["name"] == name {
			return path
		}
	}
	t.Fatalf("there is no %s %q", kind, name)
	return ""
}

// Put makes or replaces the object of a path; v is anything that becomes JSON.
func (s *Server) Put(path string, v any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	q, ok := parse(&http.Request{Method: http.MethodGet, URL: urlOf(path)})
	if !ok || q.Name == "" {
		panic(fmt.Sprintf("%s is no path of an object", path))
	}
	obj := toObject(v)
	if k, ok := s.kinds[q.resource()]; ok {
		obj["kind"], obj["apiVersion"] = k.name, q.resource().GroupVersion().String()
	}
	metadata(obj)["name"] = q.Name
	if q.Namespace != "" {
		metadata(obj)["namespace"] = q.Namespace
	}
	s.store(path, obj)
}

// Add makes the objects of YAML documents, and serves their kinds.
func (s *Server) Add(t testing.TB, documents string) {
	t.Helper()
	decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(documents), 4096)
	for {
		u := &unstructured.Unstructured{}
		if err := decoder.Decode(&u.Object); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatalf("reading a document: %v", err)
		}
		if len(u.Object) == 0 {
			continue
		}
		s.Serve(u.GetAPIVersion(), u.GetKind(), u.GetNamespace() != "")
		s.Put(pathOf(u), u.Object)
	}
}

// pathOf is where an object lies.
func pathOf(u *unstructured.Unstructured) string {
	plural, _ := meta.UnsafeGuessKindToResource(u.GroupVersionKind())
	path := "/apis/" + plural.GroupVersion().String()
	if plural.Group == "" {
		path = "/api/" + plural.Version
	}
	if n := u.GetNamespace(); n != "" {
		path += "/namespaces/" + n
	}
	return path + "/" + plural.Resource + "/" + u.GetName()
}

// Change changes an object as a controller does.
func (s *Server) Change(path string, f func(Object)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	obj := clone(s.objects[path])
	f(obj)
	s.store(path, obj)
}

// Remove makes an object be gone.
func (s *Server) Remove(path string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.remove(path)
}

// store keeps obj as a new version and tells it. An object whose deletion waited for its finalizers alone goes.
func (s *Server) store(path string, obj Object) {
	s.version++
	m := metadata(obj)
	m["resourceVersion"] = fmt.Sprint(s.version)
	old := s.objects[path]
	for _, key := range []string{"uid", "creationTimestamp"} { // a test that puts an object anew means the same one
		if old != nil && m[key] == nil {
			m[key] = metadata(old)[key]
		}
	}
	if m["uid"] == nil {
		m["uid"] = fmt.Sprintf("uid-%d", s.version)
	}
	if m["creationTimestamp"] == nil {
		m["creationTimestamp"] = s.born
	}
	s.objects[path] = obj
	if finalizers, _ := m["finalizers"].([]any); m["deletionTimestamp"] != nil && len(finalizers) == 0 {
		s.remove(path)
		return
	}
	if old == nil {
		s.tell(path, "ADDED", obj)
		return
	}
	s.tell(path, "MODIFIED", obj)
}

func (s *Server) remove(path string) {
	if obj := s.objects[path]; obj != nil {
		s.version++
		delete(s.objects, path)
		s.tell(path, "DELETED", obj)
	}
}

func metadata(obj Object) Object {
	m, ok := obj["metadata"].(Object)
	if !ok {
		m = Object{}
		obj["metadata"] = m
	}
	return m
}

func toObject(v any) Object {
	text, err := stdjson.Marshal(v)
	if err != nil {
		panic(err)
	}
	var obj Object
	if err := json.Unmarshal(text, &obj); err != nil {
		panic(err)
	}
	if obj == nil {
		obj = Object{}
	}
	return obj
}

func clone(obj Object) Object {
	if obj == nil {
		return nil
	}
	return toObject(obj)
}
