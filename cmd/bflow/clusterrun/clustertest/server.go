// Package clustertest is a small API server for tests: objects of the kinds it is told of, with versions, selectors,
// finalizers, patches, dry runs and watches, and logs of pods. It runs no controller: a test plays them. It checks no
// object, and it must not be used by anything but tests.
package clustertest

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/rest"
)

// Object is one object as the server keeps it.
type Object = map[string]any

// Server is an API server. Its zero value is not ready: use New.
type Server struct {
	URL string

	mu         sync.Mutex
	version    int
	kinds      map[string]bool // prefix/resource
	namespaces map[string]bool
	objects    map[string]Object // path -> object
	logs       map[string]*log
	watchers   map[*watcher]bool
	past       []news // a watch that begins a little after its list misses nothing
	refuse     func(verb, path string) (code int, message string)
	requests   []string
	down       bool
}

// watcher is a client that watches a collection.
type watcher struct {
	collection string
	selected   func(Object) bool
	events     chan event
}

// news is an event of the past.
type news struct {
	version int
	path    string
	event   event
}

type event struct {
	Type   string `json:"type"`
	Object Object `json:"object"`
}

// New starts a server with Tekton, Kueue and the namespaces.
func New(t interface{ Cleanup(f func()) }, namespaces ...string) *Server {
	s := &Server{kinds: map[string]bool{}, namespaces: map[string]bool{}, objects: map[string]Object{}, logs: map[string]*log{}, watchers: map[*watcher]bool{}}
	for _, kind := range []string{"/api/v1/pods", "/api/v1/configmaps", "/api/v1/secrets", "/apis/tekton.dev/v1/tasks", "/apis/tekton.dev/v1/pipelines",
		"/apis/tekton.dev/v1/pipelineruns", "/apis/tekton.dev/v1/taskruns", "/apis/kueue.x-k8s.io/v1beta2/localqueues", "/apis/kueue.x-k8s.io/v1beta2/workloads",
		"/apis/apps/v1/deployments"} {
		s.kinds[kind] = true
	}
	for _, n := range namespaces {
		s.namespaces[n] = true
	}
	srv := httptest.NewServer(s)
	s.URL = srv.URL
	t.Cleanup(func() {
		s.Break()
		srv.Close()
	})
	return s
}

// Config is the way to the server.
func (s *Server) Config() *rest.Config { return &rest.Config{Host: s.URL} }

// Without forgets a group, as of a cluster where it is not installed.
func (s *Server) Without(prefix string) *Server {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.kinds, func(kind string, _ bool) bool { return strings.HasPrefix(kind, prefix) })
	return s
}

// Refuse lets f answer requests first: a code above 0 is the answer.
func (s *Server) Refuse(f func(verb, path string) (code int, message string)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.refuse = f
}

// Down makes the server answer nothing but 503, and ends its watches; false lets it answer again.
func (s *Server) Down(down bool) {
	s.Break()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.down = down
}

// Break ends every watch and every log, as a restart does.
func (s *Server) Break() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for w := range s.watchers {
		close(w.events)
		delete(s.watchers, w)
	}
	for _, l := range s.logs {
		l.interrupt()
	}
}

// Requests are those that were served, as "VERB /path", without reads.
func (s *Server) Requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

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

// Put makes or replaces an object; v is anything that becomes JSON.
func (s *Server) Put(path string, v any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	obj := toObject(v)
	metadata(obj)["name"] = path[strings.LastIndexByte(path, '/')+1:]
	if _, rest, ok := strings.Cut(path, "/namespaces/"); ok {
		metadata(obj)["namespace"], _, _ = strings.Cut(rest, "/")
	}
	s.store(path, obj)
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
	meta := metadata(obj)
	meta["resourceVersion"] = fmt.Sprint(s.version)
	if meta["uid"] == nil {
		meta["uid"] = fmt.Sprintf("uid-%d", s.version)
		meta["creationTimestamp"] = time.Now().UTC().Format(time.RFC3339)
	}
	if finalizers, _ := meta["finalizers"].([]any); meta["deletionTimestamp"] != nil && len(finalizers) == 0 {
		s.objects[path] = obj
		s.remove(path)
		return
	}
	kind := "ADDED"
	if s.objects[path] != nil {
		kind = "MODIFIED"
	}
	s.objects[path] = obj
	s.tell(path, kind, obj)
}

func (s *Server) remove(path string) {
	obj := s.objects[path]
	if obj == nil {
		return
	}
	s.version++
	delete(s.objects, path)
	s.tell(path, "DELETED", obj)
}

func (s *Server) tell(path, kind string, obj Object) {
	n := news{version: s.version, path: path, event: event{kind, clone(obj)}}
	s.past = append(s.past, n)
	for w := range s.watchers {
		w.hear(n)
	}
}

// hear takes what it has selected.
func (w *watcher) hear(n news) {
	if inCollection(n.path, w.collection) && w.selected(n.event.Object) {
		w.events <- n.event
	}
}

// inCollection reports whether an object lies in a collection: that of its namespace, or that of all.
func inCollection(path, collection string) bool {
	folder := path[:strings.LastIndexByte(path, '/')]
	return folder == collection || everywhere(folder) == collection
}

// everywhere is a collection without its namespace.
func everywhere(path string) string {
	head, rest, ok := strings.Cut(path, "/namespaces/")
	if !ok {
		return path
	}
	_, resource, _ := strings.Cut(rest, "/")
	return head + "/" + resource
}

func metadata(obj Object) Object {
	meta, ok := obj["metadata"].(Object)
	if !ok {
		meta = Object{}
		obj["metadata"] = meta
	}
	return meta
}

func toObject(v any) Object {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	var obj Object
	if err := json.Unmarshal(text, &obj); err != nil {
		panic(err)
	}
	return obj
}

func clone(obj Object) Object {
	if obj == nil {
		return nil
	}
	return toObject(obj)
}

// selection is what a request asks for.
func selection(r *http.Request) (func(Object) bool, error) {
	byLabel, err := labels.Parse(r.URL.Query().Get("labelSelector"))
	if err != nil {
		return nil, err
	}
	name, byName := strings.CutPrefix(r.URL.Query().Get("fieldSelector"), "metadata.name=")
	return func(obj Object) bool {
		set := labels.Set{}
		all, _ := metadata(obj)["labels"].(Object)
		for k, v := range all {
			set[k] = fmt.Sprint(v)
		}
		return byLabel.Matches(set) && (!byName || metadata(obj)["name"] == name)
	}, nil
}
