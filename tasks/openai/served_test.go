package openai_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"

	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/tasks/openai"
)

// TestAServerMayKnowItsModelByItsFolder: some have no option for another name.
func TestAServerMayKnowItsModelByItsFolder(t *testing.T) {
	for _, row := range []struct{ name, listed, want string }{
		{"the name of the plan", "acme/tiny", "acme/tiny"},
		{"the folder of the model", "/cache/models/acme-tiny", "acme/tiny"},
		{"another folder", "/cache/models/acme-huge", "/cache/models/acme-huge"},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintf(w, `{"object":"list","data":[{"id":%q}]}`, row.listed)
		}))
		t.Cleanup(server.Close)
		client, err := openai.New(server.URL, runplan.API{}, "", nil)
		if err != nil {
			t.Fatal(err)
		}
		plan := &runplan.RunPlan{Deployment: runplan.Deployment{Model: runplan.Model{Name: "acme/tiny"},
			ModelStorage: &runplan.ModelStorage{CacheDir: "/models", MountPath: "/cache"}}}
		if got, err := client.Served(t.Context(), plan); err != nil || !slices.Equal(got, []string{row.want}) {
			t.Errorf("%s: got %q, %v, want %q", row.name, got, err, row.want)
		}
	}
}
