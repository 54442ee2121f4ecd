package outbound_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/tasks/outbound"
)

func TestOnlyAnAddressThatWasThereBeforeIsReachedThroughAProxy(t *testing.T) {
	const plain, secure = "http://proxy:3128", "http://secure-proxy:3128"
	both := map[string]string{"HTTP_PROXY": plain, "https_proxy": secure}
	for _, row := range []struct {
		name     string
		base     string
		deployed bool
		headers  map[string]string
		env      map[string]string
		want     string
		wrong    string // the error
	}{
		{name: "an http address", base: "http://model.example:8000", env: both, want: plain},
		{name: "an https address, by the variable in small letters", base: "https://model.example", env: both, want: secure},
		{name: "one that is an exception", base: "http://model.example",
			env: map[string]string{"HTTP_PROXY": plain, "NO_PROXY": ".example"}},
		{name: "one on this host", base: "http://127.0.0.1:8000", env: both},
		{name: "no proxy is named", base: "http://model.example"},
		{name: "what bflow has deployed", base: "http://llm.team.svc:8000", deployed: true, env: both},
		{name: "a Host that the proxy would go by", base: "http://model.example",
			headers: map[string]string{"host": "other"}, env: both,
			wrong: `Host cannot be set for an http:// address behind the proxy "http://proxy:3128"`},
		{name: "a Host that is that of the address", base: "http://model.example",
			headers: map[string]string{"host": "model.example"}, env: both, want: plain},
		{name: "a Host that only the server sees", base: "https://model.example",
			headers: map[string]string{"Host": "other"}, env: both, want: secure},
		{name: "a Host without a proxy", base: "http://model.example", headers: map[string]string{"Host": "other"}},
	} {
		t.Run(row.name, func(t *testing.T) {
			d := runplan.Deployment{Endpoint: &runplan.Endpoint{BaseURL: row.base}}
			if row.deployed {
				d.Endpoint = nil
			}
			got, err := outbound.Proxy(row.base, &d, runplan.API{Headers: row.headers}, func(name string) string {
				return row.env[name]
			})
			switch {
			case row.wrong != "":
				if err == nil || !strings.Contains(err.Error(), row.wrong) {
					t.Errorf("error %v, want %q", err, row.wrong)
				}
			case err != nil:
				t.Error(err)
			case row.want == "" && got != nil, row.want != "" && (got == nil || got.String() != row.want):
				t.Errorf("through %v, want %q", got, row.want)
			}
		})
	}
}

func TestTheHostThatIsGivenIsTheHostThatIsSent(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Host != "llm.example" || r.Header.Get("X-Team") != "search" {
			t.Errorf("host %q, headers %v", r.Host, r.Header)
		}
	}))
	defer srv.Close()
	req := httptest.NewRequest(http.MethodGet, srv.URL, nil)
	req.RequestURI = ""
	outbound.SetHeaders(req, map[string]string{"host": "llm.example", "x-team": "search"})
	resp, err := outbound.Stay(srv.Client()).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
}
