package apitest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
)

// watcher is a client that watches a collection.
type watcher struct {
	q        Request
	selected func(Object) bool
	events   chan event
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

func (s *Server) tell(path, kind string, obj Object) {
	n := news{version: s.version, path: path, event: event{kind, clone(obj)}}
	s.past = append(s.past, n)
	for w := range s.watchers {
		w.hear(n)
	}
}

// hear takes what it has selected.
func (w *watcher) hear(n news) {
	if w.q.covers(n.path) && w.selected(n.event.Object) {
		w.events <- n.event
	}
}

// covers reports whether an object lies in a collection: that of its namespace, or that of all.
func (r Request) covers(path string) bool {
	collection := path[:strings.LastIndexByte(path, '/')]
	if r.Namespace == "" {
		if head, rest, ok := strings.Cut(collection, "/namespaces/"); ok {
			_, resource, _ := strings.Cut(rest, "/")
			collection = head + "/" + resource
		}
	}
	return collection == strings.TrimSuffix(r.Path, "/")
}

// selection is what a request asks for.
func selection(r *http.Request) (func(Object) bool, error) {
	byLabel, err := labels.Parse(r.URL.Query().Get("labelSelector"))
	if err != nil {
		return nil, err
	}
	byField, err := fields.ParseSelector(r.URL.Query().Get("fieldSelector"))
	if err != nil {
		return nil, err
	}
	return func(obj Object) bool {
		set := labels.Set{}
		all, _ := metadata(obj)["labels"].(Object)
		for k, v := range all {
			set[k] = fmt.Sprint(v)
		}
		return byLabel.Matches(set) && byField.Matches(fieldsOf(obj, byField))
	}, nil
}

// fieldsOf are the fields that a selector asks for: a real server knows few, this one any that is text.
func fieldsOf(obj Object, selector fields.Selector) fields.Set {
	set := fields.Set{}
	for _, r := range selector.Requirements() {
		set[r.Field], _, _ = unstructured.NestedString(obj, strings.Split(r.Field, ".")...)
	}
	return set
}

// shown is as much of an object as a request asks for: all, or its metadata alone.
func shown(r *http.Request, obj Object) Object {
	if !strings.Contains(r.Header.Get("Accept"), "as=PartialObjectMetadata") {
		return obj
	}
	return Object{"apiVersion": obj["apiVersion"], "kind": obj["kind"], "metadata": obj["metadata"]}
}

func (x exchange) list(selected func(Object) bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	items := []Object{}
	for path, obj := range x.objects {
		if x.q.covers(path) && selected(obj) {
			items = append(items, shown(x.r, obj))
		}
	}
	order := func(o Object) string { return fmt.Sprint(metadata(o)["namespace"], "/", metadata(o)["name"]) }
	slices.SortFunc(items, func(a, b Object) int { return strings.Compare(order(a), order(b)) })
	answer(x.w, http.StatusOK,
		Object{"apiVersion": x.q.resource().GroupVersion().String(), "kind": x.kinds[x.q.resource()].name + "List",
			"metadata": Object{"resourceVersion": fmt.Sprint(x.version)}, "items": items})
}

func (x exchange) watch(selected func(Object) bool) {
	watch := &watcher{q: x.q, selected: selected, events: make(chan event, 1000)}
	from, _ := strconv.Atoi(x.r.URL.Query().Get("resourceVersion"))
	x.mu.Lock()
	if x.down { // since this request has come
		x.mu.Unlock()
		failDown(x.w)
		return
	}
	if from > 0 && from < x.oldest {
		x.mu.Unlock()
		answer(x.w, http.StatusGone, expired())
		return
	}
	x.watchers[watch] = true
	for _, n := range x.past {
		if n.version > from {
			watch.hear(n)
		}
	}
	x.mu.Unlock()
	defer x.set(func() { delete(x.watchers, watch) })
	x.w.Header().Set("Content-Type", "application/json")
	flush(x.w)
	for {
		select {
		case <-x.r.Context().Done():
			return
		case e, ok := <-watch.events:
			if e.Type != "ERROR" {
				e.Object = shown(x.r, e.Object)
			}
			if !ok || json.NewEncoder(x.w).Encode(e) != nil {
				return
			}
			flush(x.w)
		}
	}
}

// expired is what a server says of a version that it has forgotten.
func expired() Object {
	return status(http.StatusGone, metav1.StatusReasonExpired, "too old resource version", nil)
}

func flush(w http.ResponseWriter) {
	if f, ok := w.(http.Flusher); ok {
		f.Flush()
	}
}
