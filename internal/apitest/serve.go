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

// serve answers as an API server does.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	q, named := parse(r)
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
		http.Error(w, "down", http.StatusBadGateway)
		return
	}
	if !s.authentic(r) {
		fail(w, http.StatusUnauthorized, "Unauthorized", nil)
		return
	}
	if refuse != nil {
		if code, message := refuse(q); code > 0 {
			refused(w, q, code, message)
			return
		}
	}
	switch {
	case s.discover(w, r.URL.Path):
	case !named || !known:
		http.Error(w, "404 page not found", http.StatusNotFound)
	case q.Resource == "serviceaccounts" && q.Subresource == "token" && q.Verb == "create":
		s.token(w, r, q)
	case q.Resource == "pods" && q.Subresource == "log":
		s.log(w, r, q)
	case (q.Resource == "pods" || q.Resource == "services") && strings.HasPrefix(q.Subresource, "proxy") && proxy != nil:
		query := r.URL.RawQuery
		r.URL = urlOf("/" + q.Namespace + "/" + q.Name + strings.TrimPrefix(q.Subresource, "proxy"))
		r.URL.RawQuery = query
		proxy.ServeHTTP(w, r)
	default:
		s.object(w, r, q)
	}
}

// object serves a collection or one object.
func (s *Server) object(w http.ResponseWriter, r *http.Request, q Request) {
	switch q.Verb {
	case "list", "watch":
		selected, err := selection(r)
		if err != nil {
			fail(w, http.StatusBadRequest, err.Error(), nil)
			return
		}
		// as older servers; the client lists first then
		if q.Verb == "watch" && r.URL.Query().Get("sendInitialEvents") == "true" {
			failAs(w, http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "sendInitialEvents is not known here", nil)
			return
		}
		if q.Verb == "watch" {
			s.watch(w, r, q, selected)
			return
		}
		s.list(w, r, q, selected)
	case "get":
		if obj := s.Get(q.Path); obj != nil {
			answer(w, http.StatusOK, obj)
			return
		}
		notFound(w, q)
	case "create":
		s.create(w, r, q)
	case "patch":
		s.patch(w, r, q)
	case "delete":
		s.delete(w, q)
	default:
		fail(w, http.StatusMethodNotAllowed, "this server does not "+q.String(), nil)
	}
}

func (s *Server) create(w http.ResponseWriter, r *http.Request, q Request) {
	var obj Object
	if err := decode(r.Body, &obj); err != nil {
		fail(w, http.StatusBadRequest, err.Error(), nil)
		return
	}
	if q.Resource == "selfsubjectaccessreviews" {
		s.review(w, obj)
		return
	}
	m := metadata(obj)
	if prefix, ok := m["generateName"].(string); ok && m["name"] == nil {
		m["name"] = prefix + "abcde"
	}
	q.Name = fmt.Sprint(m["name"])
	q.Path = strings.TrimSuffix(q.Path, "/") + "/" + q.Name
	s.mu.Lock()
	refusal := s.admit(q)
	if refusal == nil {
		if q.Namespace != "" {
			m["namespace"] = q.Namespace
		}
		if r.URL.Query().Get("dryRun") == "" {
			s.store(q.Path, obj)
		}
	}
	created := s.created
	s.mu.Unlock()
	if refusal != nil {
		refusal(w)
		return
	}
	if created != nil && r.URL.Query().Get("dryRun") == "" {
		created(q, clone(obj))
	}
	answer(w, http.StatusCreated, obj)
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
func (s *Server) review(w http.ResponseWriter, obj Object) {
	s.mu.Lock()
	allow := s.allow
	s.mu.Unlock()
	spec, _ := obj["spec"].(Object)
	asked, _ := spec["resourceAttributes"].(Object)
	text := func(key string) string { v, _ := asked[key].(string); return v }
	obj["status"] = Object{
		"allowed": allow == nil || allow(text("verb"), text("group"), text("resource"), text("subresource")),
	}
	answer(w, http.StatusCreated, obj)
}

func (s *Server) patch(w http.ResponseWriter, r *http.Request, q Request) {
	var change Object
	if err := decode(r.Body, &change); err != nil {
		fail(w, http.StatusBadRequest, err.Error(), nil)
		return
	}
	apply := strings.Contains(r.Header.Get("Content-Type"), "apply-patch")
	s.mu.Lock()
	defer s.mu.Unlock()
	obj := clone(s.objects[q.Path])
	if obj == nil && !apply {
		notFound(w, q)
		return
	}
	if obj == nil {
		obj = Object{}
	}
	if want := metadata(change)["resourceVersion"]; want != nil && want != metadata(obj)["resourceVersion"] {
		fail(w, http.StatusConflict, "the object has been modified", Object{"name": q.Name})
		return
	}
	obj, err := s.changed(obj, change, apply, r.URL.Query())
	var refusal apierrors.APIStatus
	if errors.As(err, &refusal) {
		status := refusal.Status()
		status.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
		answer(w, int(status.Code), status)
		return
	}
	if err != nil {
		fail(w, http.StatusInternalServerError, err.Error(), nil)
		return
	}
	if r.URL.Query().Get("dryRun") == "" {
		s.store(q.Path, obj)
	}
	answer(w, http.StatusOK, obj)
}

// changed is what a patch makes of an object, which it may change.
func (s *Server) changed(obj, change Object, apply bool, query url.Values) (Object, error) {
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

func (s *Server) delete(w http.ResponseWriter, q Request) {
	s.mu.Lock()
	obj, deleted := clone(s.objects[q.Path]), s.deleted
	if obj != nil && deleted == nil {
		if metadata(obj)["deletionTimestamp"] == nil {
			metadata(obj)["deletionTimestamp"] = time.Now().UTC().Format(time.RFC3339)
		}
		s.store(q.Path, obj)
	}
	s.mu.Unlock()
	if obj == nil {
		notFound(w, q)
		return
	}
	if deleted != nil {
		deleted(q, obj)
	}
	answer(w, http.StatusOK, obj)
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

// refused answers what a test wants to be answered.
func refused(w http.ResponseWriter, q Request, code int, message string) {
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
		http.StatusInternalServerError: metav1.StatusReasonInternalError}[code]
	failAs(w, code, reason, message, details)
}

func failAs(w http.ResponseWriter, code int, reason metav1.StatusReason, message string, details Object) {
	answer(w, code, Object{
		"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": reason, "message": message,
		"code": code, "details": details,
	})
}
