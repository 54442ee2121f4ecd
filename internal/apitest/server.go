package apitest

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// Object is one object as the server keeps it, with whole numbers as int64.
type Object = map[string]any

// Server is an API server; make one with New. Objects are named by their paths: /api/v1/namespaces/bench/pods/x.
type Server struct {
	*httptest.Server
	Version string      // as /version says it; may be changed before the first request
	Header  http.Header // of every answer, likewise

	mu       sync.Mutex
	born     string // when all objects were created that do not say: else their order would change with a second
	version  int    // of the newest object
	kinds    map[schema.GroupVersionResource]kind
	objects  map[string]Object // path -> object
	logs     map[string]*log
	watchers map[*watcher]bool
	past     []news // a watch that begins a little after its list misses nothing
	oldest   int    // version that a watch can begin at
	requests []Request
	down     bool
	hooks
}

// hooks are the functions of a test.
type hooks struct {
	refuse           func(Request) (code int, message string)
	allow            func(verb, group, resource, subresource string) bool
	created, deleted func(Request, Object)
	proxy            http.Handler
	fields           Fields
	taken            func(token string) bool
	mostToken        time.Duration
	tokens           int
	bound            map[string]Object // by token: what it is bound to
}

// kind is what is served under a plural name.
type kind struct {
	name       string
	namespaced bool
}

// New starts a server with the namespaces that serves core kinds, and ends it with t.
func New(t interface{ Cleanup(f func()) }, namespaces ...string) *Server {
	s := &Server{Version: "v1.34.4", born: time.Now().UTC().Format(time.RFC3339),
		kinds: map[schema.GroupVersionResource]kind{}, objects: map[string]Object{},
		logs: map[string]*log{}, watchers: map[*watcher]bool{}}
	for _, name := range []string{"Namespace", "Node", "PersistentVolume"} {
		s.Serve("v1", name, false)
	}
	for _, name := range []string{"Pod", "ConfigMap", "Secret", "Service", "ServiceAccount", "Event",
		"PersistentVolumeClaim"} {
		s.Serve("v1", name, true)
	}
	s.Serve("apps/v1", "Deployment", true)
	s.Serve("apps/v1", "ReplicaSet", true)
	s.Serve("storage.k8s.io/v1", "StorageClass", false)
	s.Serve("authorization.k8s.io/v1", "SelfSubjectAccessReview", false)
	for _, n := range namespaces {
		s.Put("/api/v1/namespaces/"+n, Object{})
	}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(func() {
		s.Break()
		s.Close()
	})
	return s
}

// NewWith returns a server of kinds, such as "apps/v1 Deployment", and of the objects in documents of YAML.
func NewWith(t testing.TB, kinds []string, documents ...string) *Server {
	t.Helper()
	s := New(t)
	for _, d := range documents {
		s.Add(t, d)
	}
	for _, k := range kinds {
		groupVersion, name, _ := strings.Cut(k, " ")
		s.Serve(groupVersion, name, true)
	}
	return s
}

// Config is the way to the server, for clients that are not slowed down.
func (s *Server) Config() *rest.Config { return &rest.Config{Host: s.URL, QPS: -1} }

// Kubeconfig writes the way to the server into a file of dir and returns its path.
func (s *Server) Kubeconfig(dir string) (string, error) {
	text := fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"hub","clusters":[{"name":"hub",`+
		`"cluster":{"server":%q}}],`+
		`"contexts":[{"name":"hub","context":{"cluster":"hub","user":"me"}}],"users":[{"name":"me",`+
		`"user":{"token":"t"}}]}`, s.URL)
	path := filepath.Join(dir, "kubeconfig")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		return "", fmt.Errorf("writing the kubeconfig: %w", err)
	}
	return path, nil
}

// Refuse lets f answer requests first: a code above 0 is the answer. nil refuses nothing.
func (s *Server) Refuse(f func(Request) (code int, message string)) { s.set(func() { s.refuse = f }) }

// Allow lets f answer access reviews; without it everything is allowed.
func (s *Server) Allow(f func(verb, group, resource, subresource string) bool) {
	s.set(func() { s.allow = f })
}

// OnCreate lets f know of every object that a client made, before the client does. It may change the server.
func (s *Server) OnCreate(f func(Request, Object)) { s.set(func() { s.created = f }) }

// OnDelete lets f act in place of a deletion that a client asks for: the object stays unless f removes it.
func (s *Server) OnDelete(f func(Request, Object)) { s.set(func() { s.deleted = f }) }

// Proxy lets h answer what is asked of pods and services through the proxy: /bench/x:8080/report.json.
func (s *Server) Proxy(h http.Handler) { s.set(func() { s.proxy = h }) }

// Fields knows who owns which fields of an object. Objects are as the server keeps them; live is never changed.
type Fields interface {
	Apply(live, applied Object, manager string, force bool) (Object, error)
	Update(live, changed Object, manager string) (Object, error)
}

// Own lets f say what becomes of an object that a client applies or patches. Without it whoever applies fields owns
// them all, and takes none away. Package ownership has one.
func (s *Server) Own(f Fields) { s.set(func() { s.fields = f }) }

func (s *Server) set(change func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
}

// Down makes the server answer nothing but errors, and ends its watches and logs, those too that begin meanwhile; false
// lets it answer again.
func (s *Server) Down(down bool) {
	s.set(func() { s.down = down })
	if down {
		s.Break()
	}
}

func (s *Server) isDown() (down bool) {
	s.set(func() { down = s.down })
	return down
}

// Break ends every watch and breaks every log, as a restart does.
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

// Expire forgets what has happened, as a server does after some minutes: watches end with an error, and none can begin
// at a version of before.
func (s *Server) Expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.version++
	s.past, s.oldest = nil, s.version
	for w := range s.watchers {
		w.events <- event{"ERROR", expired()}
	}
}

// Requests are those for objects, in order.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Request is what a client asks for.
type Request struct {
	Verb                  string // get, list, watch, create, patch, update or delete
	Group, Version        string
	Resource, Subresource string // plural; log, proxy/PATH
	Namespace, Name       string
	Path                  string // of the collection or object
}

// String is the request as a rule of RBAC would put it: "get pods/log".
func (r Request) String() string {
	if r.Subresource != "" {
		return r.Verb + " " + r.Resource + "/" + r.Subresource
	}
	return r.Verb + " " + r.Resource
}

func (r Request) resource() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: r.Group, Version: r.Version, Resource: r.Resource}
}

// parse reads what is asked for; false where the path names no collection.
func parse(r *http.Request) (Request, bool) {
	q := Request{Path: r.URL.Path,
		Verb: map[string]string{http.MethodGet: "get", http.MethodPost: "create", http.MethodPatch: "patch",
			http.MethodPut: "update", http.MethodDelete: "delete"}[r.Method]}
	parts := strings.Split(strings.Trim(q.Path, "/"), "/")
	switch {
	case parts[0] == "api" && len(parts) > 2:
		q.Version, parts = parts[1], parts[2:]
	case parts[0] == "apis" && len(parts) > 3:
		q.Group, q.Version, parts = parts[1], parts[2], parts[3:]
	default:
		return q, false
	}
	if parts[0] == "namespaces" && len(parts) > 2 {
		q.Namespace, parts = parts[1], parts[2:]
	}
	q.Resource = parts[0]
	if len(parts) > 1 {
		q.Name = parts[1]
	}
	if len(parts) > 2 {
		q.Subresource = strings.Join(parts[2:], "/")
	}
	if q.Verb == "get" && q.Name == "" {
		q.Verb = "list"
		if watch := r.URL.Query().Get("watch"); watch == "true" || watch == "1" {
			q.Verb = "watch"
		}
	}
	return q, true
}
