package outbound_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"bflow.dev/bflow/tasks/outbound"
)

func TestARequestThatCarriesACredentialStays(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("it was followed")
	}))
	defer elsewhere.Close()
	for _, code := range []int{301, 302, 303, 307, 308} {
		first := httptest.NewTLSServer(http.RedirectHandler(elsewhere.URL+"/take?key=s3cret", code))
		resp, err := outbound.Stay(first.Client()).Get(first.URL)
		var redirect *outbound.RedirectError
		if !errors.As(err, &redirect) || redirect.To != elsewhere.URL+"/take" {
			t.Errorf("HTTP %d: got %v, %v", code, resp, err)
		}
		if strings.Contains(err.Error(), "s3cret") {
			t.Errorf("HTTP %d: the sentence has the query: %v", code, err)
		}
		first.Close()
	}
}

func TestWhereAnAnswerLeadsIsNamedWithoutItsSecrets(t *testing.T) {
	for _, row := range []struct{ name, from, location, want string }{
		{"another server", "https://h.example/v1?key=s3cret",
			"http://me:s3cret@elsewhere.example/take?key=s3cret#s3cret", "http://elsewhere.example/take"},
		{"another path of the same", "https://me:s3cret@h.example/v1", "../v2", "https://h.example/v2"},
		{"no address", "https://h.example", "http://[s3cret", ""},
		{"from no address", "http://[s3cret", "/v2", ""},
	} {
		if got := outbound.Redirect(row.from, row.location); got.To != row.want || strings.Contains(got.Error(), "s3cret") {
			t.Errorf("%s: %q, want %q", row.name, got.To, row.want)
		}
	}
}

func TestADownloadIsLedOn(t *testing.T) {
	file := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, values := range r.Header {
			if name == "Authorization" || strings.Contains(strings.Join(values, " "), "s3cret") {
				t.Errorf("a credential went to another host: %s %q", name, values)
			}
		}
		w.Write([]byte("rows"))
	})
	secure, plain := httptest.NewTLSServer(file), httptest.NewServer(file)
	defer secure.Close()
	defer plain.Close()
	for _, row := range []struct{ name, to, err string }{
		{"over https", "https://example.com/rows", ""}, // the client of httptest knows that name
		{"not in clear text", plain.URL + "?key=s3cret", `it redirects to "http://`},
		{"not for ever", "/again", "more than 10 times"},
	} {
		t.Run(row.name, func(t *testing.T) {
			first := httptest.NewTLSServer(http.RedirectHandler(row.to, http.StatusFound))
			defer first.Close()
			client := secure.Client()
			if row.err != "" {
				client = first.Client()
			}
			req, err := http.NewRequest(http.MethodGet, first.URL+"/rows?key=s3cret", nil)
			if err != nil {
				t.Fatal(err)
			}
			req.SetBasicAuth("me", "s3cret")
			resp, err := outbound.Download(client).Do(req)
			if row.err == "" && err == nil {
				resp.Body.Close()
				return
			}
			if row.err == "" || err == nil || !strings.Contains(err.Error(), row.err) {
				t.Errorf("got %v, want %q", err, row.err)
			}
		})
	}
}

func TestAQueryOfTheBaseStandsBehindThePath(t *testing.T) {
	for _, row := range []struct{ base, path, want string }{
		{"https://h/", "/v1/models", "https://h/v1/models"},
		{"https://h/b?key=1", "/v1/models", "https://h/b/v1/models?key=1"},
		{"https://h?key=1", "/v1/chat?x=2", "https://h/v1/chat?x=2&key=1"},
	} {
		if got := outbound.Below(row.base, row.path); got != row.want {
			t.Errorf("%s below %s is %q, want %q", row.path, row.base, got, row.want)
		}
	}
}
