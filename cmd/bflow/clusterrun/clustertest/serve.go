package clustertest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ServeHTTP answers as an API server does.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	down, refuse := s.down, s.refuse
	if r.Method != http.MethodGet {
		s.requests = append(s.requests, r.Method+" "+r.URL.Path)
	}
	s.mu.Unlock()
	if down {
		http.Error(w, "down", http.StatusBadGateway)
		return
	}
	if refuse != nil {
		if code, message := refuse(r.Method, r.URL.Path); code > 0 {
			fail(w, code, reason(code), message, nil)
			return
		}
	}
	switch {
	case r.URL.Path == "/version":
		answer(w, http.StatusOK, Object{"gitVersion": "v1.34.4"})
	case strings.HasSuffix(r.URL.Path, "/log"):
		s.log(w, r)
	default:
		s.object(w, r)
	}
}

func reason(code int) string {
	return map[int]string{http.StatusForbidden: "Forbidden", http.StatusUnauthorized: "Unauthorized", http.StatusBadRequest: "BadRequest"}[code]
}

// object serves a collection or one object.
func (s *Server) object(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	for kind := range s.kinds {
		if group := kind[:strings.LastIndexByte(kind, '/')]; r.URL.Path == group {
			s.mu.Unlock()
			answer(w, http.StatusOK, Object{"kind": "APIResourceList"})
			return
		}
	}
	collection, name := r.URL.Path, ""
	if !s.kinds[everywhere(collection)] {
		at := strings.LastIndexByte(collection, '/')
		collection, name = collection[:at], collection[at+1:]
	}
	if !s.kinds[everywhere(collection)] {
		s.mu.Unlock()
		http.Error(w, "404 page not found", http.StatusNotFound)
		return
	}
	if r.Method == http.MethodGet && name == "" {
		s.collection(w, r) // it unlocks
		return
	}
	defer s.mu.Unlock()
	switch r.Method {
	case http.MethodGet:
		s.get(w, r.URL.Path, name)
	case http.MethodPost:
		s.post(w, r, collection)
	case http.MethodPatch:
		s.patch(w, r, name)
	case http.MethodDelete:
		s.drop(w, r.URL.Path, name)
	}
}

func (s *Server) get(w http.ResponseWriter, path, name string) {
	obj := s.objects[path]
	if obj == nil {
		notFound(w, path, name)
		return
	}
	answer(w, http.StatusOK, obj)
}

func notFound(w http.ResponseWriter, path, name string) {
	fail(w, http.StatusNotFound, "NotFound", fmt.Sprintf("%q not found", name), Object{"name": name, "kind": path})
}

// collection lists or watches; it is called locked.
func (s *Server) collection(w http.ResponseWriter, r *http.Request) {
	selected, err := selection(r)
	if err != nil {
		s.mu.Unlock()
		fail(w, http.StatusBadRequest, "BadRequest", err.Error(), nil)
		return
	}
	if r.URL.Query().Get("watch") == "true" {
		watch := &watcher{collection: r.URL.Path, selected: selected, events: make(chan event, 1000)}
		s.watchers[watch] = true
		from, _ := strconv.Atoi(r.URL.Query().Get("resourceVersion"))
		for _, n := range s.past {
			if n.version > from {
				watch.hear(n)
			}
		}
		s.mu.Unlock()
		s.watch(w, r, watch)
		return
	}
	items := []Object{}
	for path, obj := range s.objects {
		if inCollection(path, r.URL.Path) && selected(obj) {
			items = append(items, obj)
		}
	}
	slices.SortFunc(items, func(a, b Object) int {
		return strings.Compare(fmt.Sprint(metadata(a)["namespace"], metadata(a)["name"]), fmt.Sprint(metadata(b)["namespace"], metadata(b)["name"]))
	})
	defer s.mu.Unlock()
	answer(w, http.StatusOK, Object{"metadata": Object{"resourceVersion": fmt.Sprint(s.version)}, "items": items})
}

func (s *Server) watch(w http.ResponseWriter, r *http.Request, watch *watcher) {
	defer func() {
		s.mu.Lock()
		delete(s.watchers, watch)
		s.mu.Unlock()
	}()
	w.Header().Set("Content-Type", "application/json")
	flush(w)
	for {
		select {
		case <-r.Context().Done():
			return
		case e, ok := <-watch.events:
			if !ok {
				return
			}
			if json.NewEncoder(w).Encode(e) != nil {
				return
			}
			flush(w)
		}
	}
}

func flush(w http.ResponseWriter) {
	if f, ok := w.(http.Flusher); ok {
		f.Flush()
	}
}

func (s *Server) post(w http.ResponseWriter, r *http.Request, collection string) {
	var obj Object
	if err := json.NewDecoder(r.Body).Decode(&obj); err != nil {
		fail(w, http.StatusBadRequest, "BadRequest", err.Error(), nil)
		return
	}
	namespace := ""
	if _, rest, ok := strings.Cut(collection, "/namespaces/"); ok {
		namespace, _, _ = strings.Cut(rest, "/")
	}
	if !s.namespaces[namespace] {
		fail(w, http.StatusNotFound, "NotFound", fmt.Sprintf("namespaces %q not found", namespace), Object{"name": namespace, "kind": "namespaces"})
		return
	}
	name := fmt.Sprint(metadata(obj)["name"])
	path := collection + "/" + name
	if s.objects[path] != nil {
		fail(w, http.StatusConflict, "AlreadyExists", fmt.Sprintf("%q already exists", name), Object{"name": name})
		return
	}
	metadata(obj)["namespace"] = namespace
	if r.URL.Query().Get("dryRun") == "" {
		s.store(path, obj)
	}
	answer(w, http.StatusCreated, obj)
}

func (s *Server) patch(w http.ResponseWriter, r *http.Request, name string) {
	text, err := io.ReadAll(r.Body)
	var change Object
	if err != nil || json.Unmarshal(text, &change) != nil {
		fail(w, http.StatusBadRequest, "BadRequest", "no JSON", nil)
		return
	}
	path, apply := r.URL.Path, strings.Contains(r.Header.Get("Content-Type"), "apply-patch")
	old := clone(s.objects[path])
	if old == nil && !apply {
		notFound(w, path, name)
		return
	}
	if old == nil {
		old = Object{}
	}
	if want := metadata(change)["resourceVersion"]; want != nil && want != metadata(old)["resourceVersion"] {
		fail(w, http.StatusConflict, "Conflict", "the object has been modified", Object{"name": name})
		return
	}
	if apply { // lists of owners are merged, each by its own manager
		ours, _ := metadata(change)["ownerReferences"].([]any)
		theirs, _ := metadata(old)["ownerReferences"].([]any)
		metadata(change)["ownerReferences"] = append(theirs, ours...)
	}
	merge(old, change)
	s.store(path, old)
	answer(w, http.StatusOK, old)
}

// merge is RFC 7386.
func merge(into, change Object) {
	for k, v := range change {
		below, ok := v.(Object)
		old, was := into[k].(Object)
		switch {
		case v == nil:
			delete(into, k)
		case ok && was:
			merge(old, below)
		default:
			into[k] = v
		}
	}
}

func (s *Server) drop(w http.ResponseWriter, path, name string) {
	obj := s.objects[path]
	if obj == nil {
		notFound(w, path, name)
		return
	}
	metadata(obj)["deletionTimestamp"] = time.Now().UTC().Format(time.RFC3339)
	s.store(path, obj)
	answer(w, http.StatusOK, obj)
}

func answer(w http.ResponseWriter, code int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	json.NewEncoder(w).Encode(v) //nolint:errcheck // the client is gone: nobody is left to be told
}

func fail(w http.ResponseWriter, code int, reason, message string, details Object) {
	answer(w, code, Object{"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "message": message, "code": code, "details": details})
}
