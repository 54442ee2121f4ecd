// Package clustertest is an API server in memory for tests: it keeps objects, lists, watches and deletes them by label,
// and serves logs. It knows no kind, checks nothing and runs no controller: a test says what happens to an object.
package clustertest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/labels"
)

// Object is an object as JSON has it.
type Object = map[string]any

// Server is the API server. Its functions may be set before the first request.
type Server struct {
	*httptest.Server
	// Created is called after an object was made, Deleted in place of its removal; they may call Put and Remove.
	Created, Deleted func(resource string, obj Object)
	// Refuse, where it is set, may answer a request with a status of its own: 0 lets it pass.
	Refuse func(verb, resource string) int
	// Logs are those of containers: "pod/container", or "pod/container/previous".
	Logs map[string]string

	mu      sync.Mutex
	objects map[string]Object // "resource/name"
	events  []change
	grown   chan struct{} // closed when there is a new event
	log     []string
}

type change struct {
	kind, resource string
	object         Object
}

// New starts a server that ends with the test.
func New(t testing.TB) *Server {
	s := &Server{objects: map[string]Object{}, Logs: map[string]string{}, grown: make(chan struct{})}
	s.Server = httptest.NewServer(http.HandlerFunc(s.serve))
	t.Cleanup(s.CloseClientConnections)
	t.Cleanup(s.Close)
	return s
}

// Kubeconfig writes the way to the server into dir as provision finds it there.
func (s *Server) Kubeconfig(t testing.TB, dir string) {
	t.Helper()
	text := fmt.Sprintf(`{"apiVersion":"v1","kind":"Config","current-context":"c","clusters":[{"name":"c","cluster":{"server":%q}}],"contexts":[{"name":"c","context":{"cluster":"c","user":"u"}}],"users":[{"name":"u","user":{}}]}`, s.URL)
	if err := os.WriteFile(filepath.Join(dir, "kubeconfig"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// Put makes an object, or replaces it.
func (s *Server) Put(resource string, obj Object) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key, kind := resource+"/"+name(obj), "ADDED"
	if s.objects[key] != nil {
		kind = "MODIFIED"
	}
	s.objects[key] = obj
	s.tell(change{kind, resource, obj})
}

// Remove takes an object away.
func (s *Server) Remove(resource, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if obj := s.objects[resource+"/"+name]; obj != nil {
		delete(s.objects, resource+"/"+name)
		s.tell(change{"DELETED", resource, obj})
	}
}

// Names are the objects of a resource that are there.
func (s *Server) Names(resource string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var names []string
	for key := range s.objects {
		if rest, ok := strings.CutPrefix(key, resource+"/"); ok {
			names = append(names, rest)
		}
	}
	return names
}

// Get returns an object, nil where it is not there.
func (s *Server) Get(resource, name string) Object {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.objects[resource+"/"+name]
}

// Requests are the verbs and resources that were asked for, in order: "create deployments".
func (s *Server) Requests() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]string(nil), s.log...)
}

// tell gives an event its version, which is its place in the list of all, from 1.
func (s *Server) tell(c change) {
	s.events = append(s.events, c)
	meta(c.object)["resourceVersion"] = strconv.Itoa(len(s.events))
	text, _ := json.Marshal(c.object) // later changes of the object must not change the event
	c.object = Object{}
	_ = json.Unmarshal(text, &c.object)
	s.events[len(s.events)-1] = c
	close(s.grown)
	s.grown = make(chan struct{})
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	t := parse(r)
	s.mu.Lock()
	s.log = append(s.log, t.verb+" "+t.resource)
	s.mu.Unlock()
	if s.Refuse != nil {
		if code := s.Refuse(t.verb, t.resource); code != 0 {
			fail(w, code, "refused")
			return
		}
	}
	switch t.verb {
	case "create", "patch":
		s.create(w, r, t)
	case "list":
		s.list(w, t)
	case "watch":
		s.watch(w, r, t)
	case "delete":
		s.delete(w, t)
	case "log":
		s.serveLog(w, r, t)
	default:
		fail(w, http.StatusNotFound, "no such thing: "+r.Method+" "+r.URL.Path)
	}
}

func (s *Server) create(w http.ResponseWriter, r *http.Request, t target) {
	var obj Object
	body, _ := io.ReadAll(r.Body)
	if err := json.Unmarshal(body, &obj); err != nil {
		fail(w, http.StatusBadRequest, err.Error())
		return
	}
	if t.verb == "create" && s.Get(t.resource, name(obj)) != nil {
		fail(w, http.StatusConflict, name(obj)+" already exists")
		return
	}
	meta(obj)["uid"] = "uid-" + name(obj)
	meta(obj)["creationTimestamp"] = time.Now().UTC().Format(time.RFC3339)
	s.Put(t.resource, obj)
	reply(w, http.StatusCreated, obj)
	if s.Created != nil {
		s.Created(t.resource, obj)
	}
}

func (s *Server) list(w http.ResponseWriter, t target) {
	s.mu.Lock()
	items := []Object{}
	for key, obj := range s.objects {
		if strings.HasPrefix(key, t.resource+"/") && t.matches(obj) {
			items = append(items, obj)
		}
	}
	text, _ := json.Marshal(Object{"metadata": Object{"resourceVersion": strconv.Itoa(len(s.events))}, "items": items})
	s.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(text)
}

func (s *Server) watch(w http.ResponseWriter, r *http.Request, t target) {
	w.Header().Set("Content-Type", "application/json")
	from, _ := strconv.Atoi(r.URL.Query().Get("resourceVersion"))
	for {
		s.mu.Lock()
		fresh, grown := s.events[min(from, len(s.events)):], s.grown
		from = len(s.events)
		s.mu.Unlock()
		for _, c := range fresh {
			if c.resource == t.resource && t.matches(c.object) {
				_ = json.NewEncoder(w).Encode(Object{"type": c.kind, "object": c.object})
			}
		}
		w.(http.Flusher).Flush()
		select {
		case <-grown:
		case <-r.Context().Done():
			return
		}
	}
}

func (s *Server) delete(w http.ResponseWriter, t target) {
	obj := s.Get(t.resource, t.name)
	if obj == nil {
		fail(w, http.StatusNotFound, t.name+" not found")
		return
	}
	reply(w, http.StatusOK, Object{"kind": "Status", "apiVersion": "v1", "status": "Success"})
	if s.Deleted != nil {
		s.Deleted(t.resource, obj)
		return
	}
	s.Remove(t.resource, t.name)
}

func (s *Server) serveLog(w http.ResponseWriter, r *http.Request, t target) {
	key := t.name + "/" + r.URL.Query().Get("container")
	if r.URL.Query().Get("previous") == "true" {
		key += "/previous"
	}
	text, ok := s.Logs[key]
	if !ok {
		fail(w, http.StatusBadRequest, "no log of "+key)
		return
	}
	_, _ = io.WriteString(w, text)
}

// target is what a request is about.
type target struct {
	verb, resource, name string
	selector             labels.Selector
}

func (t target) matches(obj Object) bool {
	set := labels.Set{}
	given, _ := meta(obj)["labels"].(Object)
	for k, v := range given {
		set[k], _ = v.(string)
	}
	return t.selector.Matches(set)
}

func parse(r *http.Request) target {
	var t target
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	t.selector, _ = labels.Parse(r.URL.Query().Get("labelSelector"))
	if parts = parts[min(2, len(parts)):]; strings.HasPrefix(r.URL.Path, "/apis/") && len(parts) > 0 {
		parts = parts[1:]
	}
	if len(parts) > 2 && parts[0] == "namespaces" {
		parts = parts[2:]
	}
	if len(parts) == 0 {
		return t
	}
	if t.resource = parts[0]; len(parts) > 1 {
		t.name = parts[1]
	}
	verbs := map[string]string{http.MethodPost: "create", http.MethodDelete: "delete", http.MethodPatch: "patch", http.MethodGet: "get"}
	switch t.verb = verbs[r.Method]; {
	case len(parts) > 2:
		t.verb = parts[2]
	case t.verb == "get" && t.name == "" && r.URL.Query().Get("watch") == "true":
		t.verb = "watch"
	case t.verb == "get" && t.name == "":
		t.verb = "list"
	}
	return t
}

func meta(obj Object) Object {
	m, ok := obj["metadata"].(Object)
	if !ok {
		m = Object{}
		obj["metadata"] = m
	}
	return m
}

func name(obj Object) string {
	n, _ := meta(obj)["name"].(string)
	return n
}

func reply(w http.ResponseWriter, code int, obj Object) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_ = json.NewEncoder(w).Encode(obj)
}

func fail(w http.ResponseWriter, code int, message string) {
	reasons := map[int]string{http.StatusNotFound: "NotFound", http.StatusConflict: "AlreadyExists", http.StatusForbidden: "Forbidden"}
	reply(w, code, Object{"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": message, "reason": reasons[code], "code": code})
}
