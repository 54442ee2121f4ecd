package bootstrap

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestAnInstallationWithoutItsOwnImagesChangesNothing and says in one sentence how they are made.
func TestAnInstallationWithoutItsOwnImagesChangesNothing(t *testing.T) {
	registry := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v2/" {
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	defer registry.Close()
	there := strings.TrimPrefix(registry.URL, "http://") + "/team/bflow-controller:v1"
	full := make([]string, maxReportedImages)
	for i := range full {
		full[i] = fmt.Sprintf("registry.example/other:%d", i)
	}
	for _, row := range []struct {
		name  string
		image string   // "" = the default
		nodes []string // have these
		want  string   // in the error; "" = it is installed
		said  string
	}{
		{name: "built here and loaded nowhere", want: "localhost/bflow/bflow-controller:v3.0.0"},
		{name: "loaded into a node", nodes: []string{"localhost/bflow/bflow-controller:v3.0.0",
			"localhost/bflow/bflow:v3.0.0"}},
		{name: "a node tells only of its largest images", nodes: full},
		{name: "a registry that has it not", image: there, want: there},
		{name: "a registry that nobody reaches from here", image: "registry.invalid/bflow-controller:v1",
			said: "may or may not exist: the registry cannot be reached"},
	} {
		t.Run(row.name, func(t *testing.T) {
			s, hub, said := bareServer(t)
			s.Put("/api/v1/nodes/m", holding(row.nodes...))
			before := len(s.List("/"))
			err := hub.Install(t.Context(), Options{Version: "v3.0.0", Image: row.image})
			if row.want == "" {
				if err != nil || !strings.Contains(said.String(), row.said) {
					t.Fatalf("%v, said\n%s", err, said)
				}
				return
			}
			if err == nil || !strings.Contains(err.Error(), row.want) ||
				!strings.Contains(err.Error(), "bflow images push --prefix") || !strings.Contains(err.Error(), "--lock") {
				t.Errorf("got %v", err)
			}
			if n := len(s.List("/")); n != before {
				t.Errorf("there were %d objects, and now %d", before, n)
			}
		})
	}
}
