package openai_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"

	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/tasks/openai"
)

func TestTheKeyGoesWhereTheExperimentSaysAndNowhereElse(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		t.Errorf("%s %s came to where the server led, with %q", r.Method, r.URL, r.Header.Get("Authorization"))
	}))
	defer elsewhere.Close()
	for _, code := range []int{http.StatusMovedPermanently, http.StatusFound, http.StatusTemporaryRedirect,
		http.StatusPermanentRedirect} {
		server := httptest.NewTLSServer(http.RedirectHandler(elsewhere.URL+"/v1", code))
		client, err := openai.New(server.URL, runplan.API{Headers: map[string]string{"X-Team": "search"}}, "sk-1", nil)
		if err != nil {
			t.Fatal(err)
		}
		_, models := client.Models(t.Context(), "/v1/models")
		_, answer := client.Generate(t.Context(), openai.Ask{Path: "/v1/completions", Model: "tiny", Prompt: "x", Tokens: 1})
		for what, err := range map[string]error{"models": models, "a generation": answer} {
			if err == nil || !strings.Contains(err.Error(), `it redirects to "`+elsewhere.URL+`/v1"`) ||
				strings.Contains(err.Error(), "sk-1") {
				t.Errorf("HTTP %d, %s: %v", code, what, err)
			}
		}
		client.Close()
		server.Close()
	}
}

func TestNoAnswerIsReadWithoutEnd(t *testing.T) {
	for name, text := range map[string]string{
		"events":  `data: {"choices":[{"text":"a"}]}` + "\n\n",
		"a line":  "data: xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
		"a list":  `[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[`,
		"nothing": "\n",
	} {
		t.Run(name, func(t *testing.T) {
			var left atomic.Bool
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				for block := strings.Repeat(text, 1000); ; {
					if _, err := io.WriteString(w, block); err != nil {
						left.Store(true)
						return
					}
				}
			}))
			client, err := openai.New(server.URL, runplan.API{}, "", nil)
			if err != nil {
				t.Fatal(err)
			}
			_, models := client.Models(t.Context(), "/v1/models")
			_, whole := client.Generate(t.Context(), openai.Ask{Path: "/v1/completions"})
			_, stream := client.Generate(t.Context(), openai.Ask{Path: "/v1/completions", Stream: true})
			for what, err := range map[string]error{"models": models, "an answer": whole, "a stream": stream} {
				if err == nil {
					t.Errorf("%s without end is taken", what)
				}
			}
			client.Close()
			server.Close()
			if !left.Load() {
				t.Error("it was read until its server had enough")
			}
		})
	}
}

func TestTheServerIsAskedThroughTheProxyThatIsGiven(t *testing.T) {
	proxy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.String() != "http://model.example/v1/models" {
			t.Errorf("the proxy was asked for %q", r.URL)
		}
		io.WriteString(w, `{"data": [{"id": "tiny"}]}`)
	}))
	defer proxy.Close()
	address, err := url.Parse(proxy.URL)
	if err != nil {
		t.Fatal(err)
	}
	client, err := openai.New("http://model.example", runplan.API{}, "", address)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if models, err := client.Models(t.Context(), "/v1/models"); err != nil || len(models) != 1 {
		t.Errorf("models %v, %v", models, err)
	}
}
