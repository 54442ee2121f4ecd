package apitest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

func urlOf(path string) *url.URL { return &url.URL{Path: path} }

// exchange is a request that is being answered.
type exchange struct {
	*Server
	w http.ResponseWriter
	r *http.Request
	q Request
}

// serve answers as an API server does.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	q, named := parse(r)
	x := exchange{Server: s, w: w, r: r, q: q}
	s.mu.Lock()
	down, refuse, proxy := s.down, s.refuse, s.proxy
	_, known := s.kinds[q.resource()]
	if named {
		s.requests = append(s.requests, q)
	}
	s.mu.Unlock()
	for key, values := range s.Header {
		w.Header()[key] = values
	}
	if down {
		failDown(w)
		return
	}
	if !x.isAuthentic() {
		fail(w, http.StatusUnauthorized, "Unauthorized", nil)
		return
	}
	if refuse != nil {
		if code, message := refuse(q); code > 0 {
			writeRefusal(w, q, code, message)
			return
		}
	}
	switch {
	case x.discover():
	case !named || !known:
		http.Error(w, "404 page not found", http.StatusNotFound)
	case q.Resource == "serviceaccounts" && q.Subresource == "token" && q.Verb == "create":
		x.serveToken()
	case q.Resource == "pods" && q.Subresource == "log":
		x.serveLog()
	case (q.Resource == "pods" || q.Resource == "services") && strings.HasPrefix(q.Subresource, "proxy") && proxy != nil:
		query := r.URL.RawQuery
		r.URL = urlOf("/" + q.Namespace + "/" + q.Name + strings.TrimPrefix(q.Subresource, "proxy"))
		r.URL.RawQuery = query
		proxy.ServeHTTP(w, r)
	default:
		x.serveObject()
	}
}

// serveObject serves a collection or one object.
func (x exchange) serveObject() {
	switch x.q.Verb {
	case "list", "watch":
		selected, err := selection(x.r)
		if err != nil {
			fail(x.w, http.StatusBadRequest, err.Error(), nil)
			return
		}
		// as older servers; the client lists first then
		if x.q.Verb == "watch" && x.r.URL.Query().Get("sendInitialEvents") == "true" {
			failAs(x.w, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "sendInitialEvents is not known here", nil)
			return
		}
		if x.q.Verb == "watch" {
			x.watch(selected)
			return
		}
		x.list(selected)
	case "get":
		if obj := x.Get(x.q.Path); obj != nil {
			answer(x.w, http.StatusOK, obj)
			return
		}
		notFound(x.w, x.q)
	case "create":
		x.create()
	case "patch":
		x.patch()
	case "delete":
		x.delete()
	default:
		fail(x.w, http.StatusMethodNotAllowed, "this server does not "+x.q.String(), nil)
	}
}

func (x exchange) create() {
	var obj Object
	if err := decode(x.r.Body, &obj); err != nil {
		fail(x.w, http.StatusBadRequest, err.Error(), nil)
		return
	}
	if x.q.Resource == "selfsubjectaccessreviews" {
		x.review(obj)
		return
	}
	m := metadata(obj)
	if prefix, ok := m["generateName"].(string); ok && m["name"] == nil {
		m["name"] = prefix + "abcde"
	}
	x.q.Name = fmt.Sprint(m["name"])
	x.q.Path = strings.TrimSuffix(x.q.Path, "/") + "/" + x.q.Name
	x.mu.Lock()
	refusal := x.admit(x.q)
	if refusal == nil {
		if x.q.Namespace != "" {
			m["namespace"] = x.q.Namespace
		}
		if x.r.URL.Query().Get("dryRun") == "" {
			x.store(x.q.Path, obj)
		}
	}
	created := x.created
	x.mu.Unlock()
	if refusal != nil {
		refusal(x.w)
		return
	}
	if created != nil && x.r.URL.Query().Get("dryRun") == "" {
		created(x.q, clone(obj))
	}
	answer(x.w, http.StatusCreated, obj)
}

// admit returns the answer to who makes an object where it cannot be, nil where it can; it is called locked.
func (s *Server) admit(q Request) func(http.ResponseWriter) {
	if q.Namespace != "" && s.objects["/api/v1/namespaces/"+q.Namespace] == nil {
		return func(w http.ResponseWriter) { notFound(w, Request{Resource: "namespaces", Name: q.Namespace}) }
	}
	if s.objects[q.Path] != nil {
		return func(w http.ResponseWriter) {
			failAs(w, http.StatusConflict, metav1.StatusReasonAlreadyExists,
				fmt.Sprintf("%s %q already exists", q.Resource, q.Name),
				Object{"name": q.Name, "kind": q.Resource})
		}
	}
	return nil
}

// review answers what an account may do.
func (x exchange) review(obj Object) {
	x.mu.Lock()
	allow := x.allow
	x.mu.Unlock()
	spec, _ := obj["spec"].(Object)
	asked, _ := spec["resourceAttributes"].(Object)
	text := func(key string) string { v, _ := asked[key].(string); return v }
	obj["status"] = Object{
		"allowed": allow == nil || allow(text("verb"), text("group"), text("resource"), text("subresource")),
	}
	answer(x.w, http.StatusCreated, obj)
}

func (x exchange) patch() {
	var change Object
	if err := decode(x.r.Body, &change); err != nil {
		fail(x.w, http.StatusBadRequest, err.Error(), nil)
		return
	}
	apply := strings.Contains(x.r.Header.Get("Content-Type"), "apply-patch")
	x.mu.Lock()
	defer x.mu.Unlock()
	obj := clone(x.objects[x.q.Path])
	if obj == nil && !apply {
		notFound(x.w, x.q)
		return
	}
	if obj == nil {
		obj = Object{}
	}
	if want := metadata(change)["resourceVersion"]; want != nil && want != metadata(obj)["resourceVersion"] {
		fail(x.w, http.StatusConflict, "the object has been modified", Object{"name": x.q.Name})
		return
	}
	obj, err := x.applyPatch(obj, change, apply, x.r.URL.Query())
	var refusal apierrors.APIStatus
	if errors.As(err, &refusal) {
		status := refusal.Status()
		status.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
		answer(x.w, int(status.Code), status)
		return
	}
	if err != nil {
		fail(x.w, http.StatusInternalServerError, err.Error(), nil)
		return
	}
	if x.r.URL.Query().Get("dryRun") == "" {
		x.store(x.q.Path, obj)
	}
	answer(x.w, http.StatusOK, obj)
}

// applyPatch returns what a patch makes of an object, which it may change.
func (s *Server) applyPatch(obj, change Object, apply bool, query url.Values) (Object, error) {
	manager := query.Get("fieldManager")
	if s.fields != nil && apply {
		return s.fields.Apply(obj, change, manager, query.Get("force") == "true")
	}
	if apply { // lists of owners are merged, each by its own manager
		ours, _ := metadata(change)["ownerReferences"].([]any)
		theirs, _ := metadata(obj)["ownerReferences"].([]any)
		metadata(change)["ownerReferences"] = append(theirs, ours...)
	}
	live := clone(obj)
	merge(obj, change)
	if s.fields != nil {
		return s.fields.Update(live, obj, manager)
	}
	return obj, nil
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

func (x exchange) delete() {
	var o metav1.DeleteOptions
	_ = json.NewDecoder(x.r.Body).Decode(&o) // most clients send none
	x.mu.Lock()
	obj, deleted := clone(x.objects[x.q.Path]), x.deleted
	if p := o.Preconditions; obj != nil && p != nil && p.UID != nil && string(*p.UID) != metadata(obj)["uid"] {
		x.mu.Unlock()
		fail(x.w, http.StatusConflict, "the UID in the precondition is that of another object", Object{"name": x.q.Name})
		return
	}
	if obj != nil && deleted == nil {
		if metadata(obj)["deletionTimestamp"] == nil {
			metadata(obj)["deletionTimestamp"] = time.Now().UTC().Format(time.RFC3339)
		}
		x.store(x.q.Path, obj)
	}
	x.mu.Unlock()
	if obj == nil {
		notFound(x.w, x.q)
		return
	}
	if deleted != nil {
		deleted(x.q, obj)
	}
	answer(x.w, http.StatusOK, obj)
}

// decode reads an object with whole numbers as int64.
func decode(body io.Reader, into *Object) error {
	text, err := io.ReadAll(body)
	if err != nil {
		return err
	}
	return utiljson.Unmarshal(text, into)
}

func notFound(w http.ResponseWriter, q Request) {
	fail(w, http.StatusNotFound, fmt.Sprintf("%s %q not found", q.Resource, q.Name), Object{
		"name": q.Name, "kind": q.Resource,
	})
}

func answer(w http.ResponseWriter, code int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	json.NewEncoder(w).Encode(v) //nolint:errcheck // the client is gone: nobody is left to be told
}

// failDown answers for a server that is down.
func failDown(w http.ResponseWriter) { http.Error(w, "down", http.StatusBadGateway) }

// writeRefusal answers a request as a test wants it refused.
func writeRefusal(w http.ResponseWriter, q Request, code int, message string) {
	if code == http.StatusConflict && q.Verb == "create" {
		failAs(w, code, metav1.StatusReasonAlreadyExists, message, nil)
		return
	}
	fail(w, code, message, nil)
}

func fail(w http.ResponseWriter, code int, message string, details Object) {
	reason := map[int]metav1.StatusReason{http.StatusForbidden: metav1.StatusReasonForbidden,
		http.StatusUnauthorized: metav1.StatusReasonUnauthorized,
		http.StatusBadRequest:   metav1.StatusReasonBadRequest, http.StatusNotFound: metav1.StatusReasonNotFound,
		http.StatusConflict:            metav1.StatusReasonConflict,
		http.StatusServiceUnavailable:  metav1.StatusReasonServiceUnavailable,
		http.StatusInternalServerError: metav1.StatusReasonInternalError,
		http.StatusTooManyRequests:     metav1.StatusReasonTooManyRequests,
		http.StatusGone:                metav1.StatusReasonExpired}[code]
	failAs(w, code, reason, message, details)
}

func failAs(w http.ResponseWriter, code int, reason metav1.StatusReason, message string, details Object) {
	answer(w, code, status(code, reason, message, details))
}

func status(code int, reason metav1.StatusReason, message string, details Object) Object {
	return Object{
		"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "message": message,
		"code": code, "details": details,
	}
}
