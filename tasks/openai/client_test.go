package openai_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"bflow.dev/bflow/tasks/openai"
	"bflow.dev/bflow/tasks/runplan"
)

func TestTheKeyGoesWhereTheExperimentSaysAndNowhereElse(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("%s %s came to where the server led, with %q", r.Method, r.URL, r.Header.Get("Authorization"))
	}))
	defer elsewhere.Close()
	for _, code := range []int{http.StatusMovedPermanently, http.StatusFound, http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
		server := httptest.NewTLSServer(http.RedirectHandler(elsewhere.URL+"/v1", code))
		client := openai.New(server.URL, runplan.API{Headers: map[string]string{"X-Team": "search"}}, "sk-1")
		_, models := client.Models(t.Context(), "/v1/models")
		_, answer := client.Generate(t.Context(), openai.Ask{Path: "/v1/completions", Model: "tiny", Prompt: "x", Tokens: 1})
		for what, err := range map[string]error{"models": models, "a generation": answer} {
			if err == nil || !strings.Contains(err.Error(), `it redirects to "`+elsewhere.URL+`/v1"`) || strings.Contains(err.Error(), "sk-1") {
				t.Errorf("HTTP %d, %s: %v", code, what, err)
			}
		}
		client.Close()
		server.Close()
	}
}
