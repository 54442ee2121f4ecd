package detecttest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// path is what a URL names.
type path struct {
	gv                                     schema.GroupVersion
	namespace, resource, name, subresource string
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for key, values := range s.Header {
		w.Header()[key] = values
	}
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	switch {
	case r.URL.Path == "/version":
		answer(w, http.StatusOK, version.Info{GitVersion: s.Version})
	case len(parts) == 1: // /api, /apis
		s.groups(w, parts[0])
	case parts[0] == "api" && len(parts) == 2, parts[0] == "apis" && len(parts) == 3:
		s.resources(w, strings.Join(parts[1:], "/"))
	default:
		s.object(w, r, parsePath(parts))
	}
}

func (s *Server) groups(w http.ResponseWriter, root string) {
	if root == "api" {
		answer(w, http.StatusOK, metav1.APIVersions{TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"}})
		return
	}
	list := metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}}
	for gv := range s.served {
		if gv.Group != "" {
			v := metav1.GroupVersionForDiscovery{GroupVersion: gv.String(), Version: gv.Version}
			list.Groups = append(list.Groups, metav1.APIGroup{Name: gv.Group, Versions: []metav1.GroupVersionForDiscovery{v}, PreferredVersion: v})
		}
	}
	answer(w, http.StatusOK, list)
}

func (s *Server) resources(w http.ResponseWriter, groupVersion string) {
	gv, _ := schema.ParseGroupVersion(groupVersion)
	answer(w, http.StatusOK, metav1.APIResourceList{
		TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: groupVersion, APIResources: s.served[gv],
	})
}

// parsePath reads /api/v1/namespaces/x/pods/y/log and its kind.
func parsePath(parts []string) path {
	var p path
	if parts[0] == "api" {
		p.gv, parts = schema.GroupVersion{Version: parts[1]}, parts[2:]
	} else {
		p.gv, parts = schema.GroupVersion{Group: parts[1], Version: parts[2]}, parts[3:]
	}
	if parts[0] == "namespaces" && len(parts) > 2 {
		p.namespace, parts = parts[1], parts[2:]
	}
	parts = append(parts, "", "")
	p.resource, p.name, p.subresource = parts[0], parts[1], parts[2]
	return p
}

func (s *Server) object(w http.ResponseWriter, r *http.Request, p path) {
	verb := map[string]string{http.MethodPost: "create", http.MethodDelete: "delete"}[r.Method]
	if verb == "" {
		verb = "get"
	}
	if s.Refused != nil && s.Refused(verb, p.resource) {
		status(w, http.StatusForbidden, metav1.StatusReasonForbidden, "you may not "+verb+" "+p.resource)
		return
	}
	found := s.matching(p, r.URL.Query().Get("labelSelector"), r.URL.Query().Get("fieldSelector"))
	switch {
	case verb == "create":
		s.create(w, r, p)
	case p.name == "":
		list := unstructured.UnstructuredList{Object: map[string]any{"apiVersion": p.gv.String(), "kind": "List"}}
		for _, o := range found {
			list.Items = append(list.Items, *o)
		}
		answer(w, http.StatusOK, &list)
	case len(found) == 0:
		status(w, http.StatusNotFound, metav1.StatusReasonNotFound, fmt.Sprintf("%s %q not found", p.resource, p.name))
	case p.subresource == "log":
		fmt.Fprint(w, s.Logs)
	case verb == "delete":
		s.remove(found[0])
		answer(w, http.StatusOK, found[0])
	default:
		answer(w, http.StatusOK, found[0])
	}
}

func (s *Server) create(w http.ResponseWriter, r *http.Request, p path) {
	o := &unstructured.Unstructured{}
	if err := json.NewDecoder(r.Body).Decode(&o.Object); err != nil {
		status(w, http.StatusBadRequest, metav1.StatusReasonBadRequest, err.Error())
		return
	}
	if p.resource == "selfsubjectaccessreviews" {
		a, _, _ := unstructured.NestedStringMap(o.Object, "spec", "resourceAttributes")
		allowed := s.Allowed == nil || s.Allowed(a["verb"], a["group"], a["resource"], a["subresource"])
		o.Object["status"] = map[string]any{"allowed": allowed}
		answer(w, http.StatusCreated, o)
		return
	}
	if o.GetName() == "" {
		o.SetName(o.GetGenerateName() + "abcde")
	}
	o.SetNamespace(p.namespace)
	if s.Created != nil {
		s.Created(o)
	}
	s.objects = append(s.objects, o)
	answer(w, http.StatusCreated, o)
}

func (s *Server) remove(o *unstructured.Unstructured) {
	for i := range s.objects {
		if s.objects[i] == o {
			s.objects = append(s.objects[:i], s.objects[i+1:]...)
			return
		}
	}
}

func status(w http.ResponseWriter, code int, reason metav1.StatusReason, message string) {
	answer(w, code, metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusFailure, Code: int32(code), Reason: reason, Message: message,
	})
}

func answer(w http.ResponseWriter, code int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	if err := json.NewEncoder(w).Encode(v); err != nil {
		panic(err) // of our own types
	}
}
