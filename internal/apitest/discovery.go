package apitest

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Serve makes a kind known: "apps/v1", "Deployment".
func (s *Server) Serve(groupVersion, name string, namespaced bool) {
	gv, err := schema.ParseGroupVersion(groupVersion)
	if err != nil {
		panic(err) // of the test
	}
	plural, _ := meta.UnsafeGuessKindToResource(gv.WithKind(name))
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, ok := s.kinds[plural]; !ok {
		s.kinds[plural] = kind{name, namespaced}
	}
}

// ServeRuns makes known what Tekton and Kueue have for runs.
func (s *Server) ServeRuns() {
	for _, name := range []string{"Task", "Pipeline", "PipelineRun", "TaskRun"} {
		s.Serve("tekton.dev/v1", name, true)
	}
	s.Serve("tekton.dev/v1beta1", "CustomRun", true)
	for _, name := range []string{"LocalQueue", "Workload"} {
		s.Serve("kueue.x-k8s.io/v1beta2", name, true)
	}
}

// Unserve forgets the groups and versions that begin with prefix, and the objects in them, as of a cluster where they
// are not installed.
func (s *Server) Unserve(prefix string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	maps.DeleteFunc(s.kinds, func(r schema.GroupVersionResource, _ kind) bool {
		return strings.HasPrefix(r.GroupVersion().String(), prefix)
	})
	maps.DeleteFunc(s.objects, func(path string, _ Object) bool { return strings.HasPrefix(path, "/apis/"+prefix) })
}

// discover answers what is served; false where the path asks for something else.
func (x exchange) discover() bool {
	path := x.r.URL.Path
	parts := strings.Split(strings.Trim(path, "/"), "/")
	switch {
	case path == "/readyz":
		x.w.WriteHeader(http.StatusOK)
	case path == "/version":
		answer(x.w, http.StatusOK, Object{"gitVersion": x.Version})
	case path == "/api":
		answer(x.w, http.StatusOK, metav1.APIVersions{
			TypeMeta: metav1.TypeMeta{Kind: "APIVersions"}, Versions: []string{"v1"},
		})
	case path == "/apis":
		answer(x.w, http.StatusOK, x.groups())
	case parts[0] == "api" && len(parts) == 2:
		x.serveResources(schema.GroupVersion{Version: parts[1]})
	case parts[0] == "apis" && len(parts) == 3:
		x.serveResources(schema.GroupVersion{Group: parts[1], Version: parts[2]})
	default:
		return false
	}
	return true
}

// resourceNames are the plural names, sorted.
func (s *Server) resourceNames() []schema.GroupVersionResource {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.SortedFunc(maps.Keys(s.kinds), func(a, b schema.GroupVersionResource) int {
		return strings.Compare(a.String(), b.String())
	})
}

func (s *Server) groups() metav1.APIGroupList {
	list := metav1.APIGroupList{TypeMeta: metav1.TypeMeta{Kind: "APIGroupList", APIVersion: "v1"}}
	for _, r := range s.resourceNames() {
		if r.Group == "" {
			continue
		}
		i := slices.IndexFunc(list.Groups, func(g metav1.APIGroup) bool { return g.Name == r.Group })
		v := metav1.GroupVersionForDiscovery{GroupVersion: r.GroupVersion().String(), Version: r.Version}
		if i < 0 {
			i = len(list.Groups)
			list.Groups = append(list.Groups, metav1.APIGroup{Name: r.Group, PreferredVersion: v})
		}
		if !slices.Contains(list.Groups[i].Versions, v) {
			list.Groups[i].Versions = append(list.Groups[i].Versions, v)
		}
	}
	return list
}

func (x exchange) serveResources(gv schema.GroupVersion) {
	list := metav1.APIResourceList{
		TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: gv.String(),
	}
	for _, r := range x.resourceNames() {
		if r.GroupVersion() == gv {
			k := x.kindOf(r)
			list.APIResources = append(list.APIResources,
				metav1.APIResource{Name: r.Resource, Kind: k.name, Namespaced: k.namespaced,
					Verbs: metav1.Verbs{"create", "delete", "get", "list", "patch", "watch"}})
		}
	}
	if len(list.APIResources) == 0 {
		http.Error(x.w, "404 page not found", http.StatusNotFound)
		return
	}
	answer(x.w, http.StatusOK, list)
}

func (s *Server) kindOf(r schema.GroupVersionResource) kind {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.kinds[r]
}
