package collect

import (
	"bytes"
	"context"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bflow.dev/bflow/internal/eventually"
	"bflow.dev/bflow/report/assemble"
	"bflow.dev/bflow/report/reporttest"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/tasks/step"
)

// answers is a Prometheus that knows two queries.
func answers(seen *[]*http.Request) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if err := r.ParseForm(); err != nil {
			panic(err)
		}
		*seen = append(*seen, r)
		switch query := r.PostForm.Get("query"); {
		case r.URL.Path != "/api/v1/query_range":
			http.NotFound(w, r)
		case strings.HasPrefix(query, "up{"):
			fmt.Fprint(w, `{"status":"success","data":{"resultType":"matrix","result":[{"metric":{"pod":"a"},`+
				`"values":[[1777888800,"1"],[1777888815,"3"],[1777888830,"NaN"]]}]}}`)
		case query == "broken(":
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"status":"error","errorType":"bad_data","error":"unexpected end of input"}`)
		default:
			fmt.Fprint(w, `{"status":"success","data":{"resultType":"matrix","result":[]}}`)
		}
	}
}

// planned is a run directory whose plan asks the server at url.
func planned(t *testing.T, url string, verify bool) (Options, *runplan.RunPlan) {
	t.Helper()
	dir := reporttest.Write(t, reporttest.Run{Length: 2 * time.Second})
	plan, err := runplan.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	plan.Metrics = &runplan.Metrics{PrometheusURL: url, QueryStep: runplan.Duration(5 * time.Second),
		QueryTimeout: runplan.Duration(eventually.Limit),
		VerifyTLS:    verify,
		Queries:      map[string]string{"up/pods": `up{release="$release"}`, "bad": "broken(", "none": "absent"}}
	if err := runplan.Identify(plan); err != nil {
		t.Fatal(err)
	}
	data, err := runplan.Marshal(plan)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, contract.FilePlan), data, 0o644); err != nil {
		t.Fatal(err)
	}
	return Options{Options: step.Options{PlanDir: dir, RunDir: dir, RunID: "r1"}}, plan
}

func TestPrometheusQueries(t *testing.T) {
	var seen []*http.Request
	srv := httptest.NewServer(answers(&seen))
	defer srv.Close()
	o, plan := planned(t, srv.URL+"/", true)
	var errs bytes.Buffer
	if err := queryPrometheus(context.Background(), step.Streams{Err: &errs, Env: os.Getenv}, o, plan); err != nil {
		t.Fatal(err)
	}
	got, err := assemble.ReadQueries(o.RunDir, plan)
	if err != nil || len(got) != 3 {
		t.Fatalf("%v, %v", got, err)
	}
	bad, none, up := got[0], got[1], got[2]
	if !strings.Contains(bad.Error, "unexpected end of input") || bad.Mean != nil {
		t.Errorf("a failed query: %+v", bad)
	}
	if none.Error == "" || none.Mean != nil {
		t.Errorf("a query without values: %+v", none)
	}
	if up.Error != "" || up.Series != 1 || up.Points != 2 || *up.Mean != 2 || *up.Max != 3 {
		t.Errorf("a query with a value that is no number: %+v", up)
	}
	if want := runplan.Release(plan, "r1"); !strings.Contains(up.Query, want) {
		t.Errorf("query %q does not name the release %q", up.Query, want)
	}
	if step := seen[0].PostForm.Get("step"); step != "5" {
		t.Errorf("step %q", step)
	}
}

func TestPrometheusThatIsDownMarksMetricsAbsent(t *testing.T) {
	srv := httptest.NewServer(http.NotFoundHandler())
	srv.Close()
	o, plan := planned(t, srv.URL, true)
	var errs bytes.Buffer
	if err := queryPrometheus(context.Background(), step.Streams{Err: &errs, Env: os.Getenv}, o, plan); err != nil {
		t.Fatal(err)
	}
	got, err := assemble.ReadQueries(o.RunDir, plan)
	if err != nil || len(got) != 3 || got[0].Error == "" || got[2].Error != got[0].Error {
		t.Errorf("%+v, %v", got, err)
	}
	if n := strings.Count(errs.String(), "\n"); n != 1 {
		t.Errorf("%d lines for one reason:\n%s", n, errs.String())
	}
}

func TestPrometheusThatAnswersHTMLSaysSo(t *testing.T) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "<html>log in</html>")
	}))
	defer srv.Close()
	_, plan := planned(t, srv.URL, true)
	_, err := newPrometheus(plan.Metrics, folders{}, os.Getenv).queryRange(context.Background(), "up",
		time.Unix(0, 0), time.Unix(60, 0))
	if err == nil || !strings.Contains(err.Error(), "is this the URL of a Prometheus server?") {
		t.Error(err)
	}
}

func TestPrometheusThatAnswersTooMuchSaysSo(t *testing.T) {
	srv := httptest.NewServer(endless(`{"status":"success","data":`))
	defer srv.Close()
	_, plan := planned(t, srv.URL, true)
	_, err := newPrometheus(plan.Metrics, folders{}, os.Getenv).queryRange(context.Background(), "up",
		time.Unix(0, 0), time.Unix(60, 0))
	if err == nil || err.Error() != "asking Prometheus: it is longer than 64 MiB" {
		t.Error(err)
	}
}

// endless answers with head, and then without an end.
func endless(head string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		_, err := io.WriteString(w, head)
		for block := make([]byte, 1<<20); err == nil; {
			_, err = w.Write(block)
		}
	}
}

func TestTheTokenGoesToAServerAloneWhoseCertificateIsChecked(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("s3cret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	env := func(name string) string { return map[string]string{EnvPrometheusTokenFile: file}[name] }
	for _, row := range []struct {
		name           string
		secure, verify bool
		sent           bool
	}{
		{"http", false, true, false},
		{"https, unchecked", true, false, false},
		{"https, checked", true, true, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			var seen []*http.Request
			srv := httptest.NewUnstartedServer(answers(&seen))
			if row.secure {
				srv.StartTLS()
			} else {
				srv.Start()
			}
			defer srv.Close()
			_, plan := planned(t, srv.URL, row.verify)
			p := newPrometheus(plan.Metrics, folders{}, env)
			if row.verify {
				p.client = srv.Client() // which knows the certificate of the test
			}
			if _, err := p.queryRange(t.Context(), "up{}", time.Unix(0, 0), time.Unix(60, 0)); err != nil {
				t.Fatal(err)
			}
			if sent := seen[0].Header.Get("Authorization") == "Bearer s3cret"; sent != row.sent {
				t.Errorf("token sent: %t", sent)
			}
		})
	}
}

// TestTheTokenOfTheControllerGoesToItsServerAlone: the controller writes a token for one server, which an administrator
// has listed; the experiment may name another one, and may say that certificates are not to be checked.
func TestTheTokenOfTheControllerGoesToItsServerAlone(t *testing.T) {
	var seen []*http.Request
	srv := httptest.NewTLSServer(answers(&seen))
	defer srv.Close()
	ca := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw}))
	for _, row := range []struct {
		name   string
		url    string // in the Secret
		ca     string
		verify bool // says the plan
		sent   bool
		fails  string
	}{
		{name: "this server", url: srv.URL, ca: ca, verify: true, sent: true},
		{name: "this server, with a slash", url: srv.URL + "/", ca: ca, verify: true, sent: true},
		{name: "this server, unchecked says the plan", url: srv.URL, ca: ca, sent: true},
		{name: "this server, whose authority nobody knows, unchecked says the plan", url: srv.URL,
			fails: "certificate signed by unknown authority"},
		{name: "another server", url: "https://thanos.example", ca: ca},
	} {
		t.Run(row.name, func(t *testing.T) {
			dir := t.TempDir()
			for name, text := range map[string]string{contract.KeyURL: row.url, contract.KeyToken: "s3cret",
				contract.KeyCA: row.ca} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			seen = nil
			_, plan := planned(t, srv.URL, row.verify)
			_, err := newPrometheus(plan.Metrics, folders{metrics: dir},
				func(string) string { return "" }).queryRange(t.Context(), "up{}", time.Unix(0, 0), time.Unix(60, 0))
			if (err == nil) != (row.fails == "") || err != nil && !strings.Contains(err.Error(), row.fails) {
				t.Fatalf("it says %v", err)
			}
			if sent := len(seen) > 0 && seen[0].Header.Get("Authorization") == "Bearer s3cret"; sent != row.sent {
				t.Errorf("token sent: %t", sent)
			}
		})
	}
}

// TestTheTokenOfThePodGoesNowhere: an experiment names the server, and the account of the pod too.
func TestTheTokenOfThePodGoesNowhere(t *testing.T) {
	var seen []*http.Request
	secure, plain := httptest.NewTLSServer(answers(&seen)), httptest.NewServer(answers(&seen))
	defer secure.Close()
	defer plain.Close()
	pod := t.TempDir()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: secure.Certificate().Raw})
	for name, text := range map[string][]byte{contract.KeyToken: []byte("s3cret"), contract.KeyCA: ca} {
		if err := os.WriteFile(filepath.Join(pod, name), text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, row := range []struct {
		name, url string
		verify    bool
	}{
		{"over https, to a server of the cluster's own authority", secure.URL, true},
		{"over https, unchecked", secure.URL, false},
		{"in clear text", plain.URL, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			seen = nil
			_, plan := planned(t, row.url, row.verify)
			p := newPrometheus(plan.Metrics, folders{pod: pod}, func(string) string { return "" })
			if _, err := p.queryRange(t.Context(), "up{}", time.Unix(0, 0), time.Unix(60, 0)); err != nil {
				t.Fatal(err)
			}
			if got := seen[0].Header["Authorization"]; len(got) > 0 {
				t.Errorf("it was told %q", got)
			}
		})
	}
}

func TestAServerThatIsNotListedIsToldWhyItHasNoToken(t *testing.T) {
	srv := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusForbidden)
	}))
	defer srv.Close()
	_, plan := planned(t, srv.URL, false)
	_, err := newPrometheus(plan.Metrics, folders{}, func(string) string { return "" }).queryRange(t.Context(), "up",
		time.Unix(0, 0), time.Unix(60, 0))
	if err == nil || !strings.Contains(err.Error(), "bflow bootstrap --prometheus "+srv.URL) {
		t.Errorf("got %v", err)
	}
}

func TestAServerThatWantsTheTokenUncheckedIsToldWhyItHasNone(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("s3cret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer srv.Close()
	_, plan := planned(t, srv.URL, false)
	p := newPrometheus(plan.Metrics, folders{}, func(name string) string {
		return map[string]string{EnvPrometheusTokenFile: file}[name]
	})
	_, err := p.queryRange(t.Context(), "up", time.Unix(0, 0), time.Unix(60, 0))
	if err == nil || !strings.Contains(err.Error(), "verify_tls: true") {
		t.Errorf("got %v", err)
	}
}

func TestPrometheusLeadsNowhereElse(t *testing.T) {
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("it was followed")
	}))
	defer elsewhere.Close()
	srv := httptest.NewServer(http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect))
	defer srv.Close()
	_, plan := planned(t, srv.URL, false)
	_, err := newPrometheus(plan.Metrics, folders{}, func(string) string { return "" }).queryRange(t.Context(), "up",
		time.Unix(0, 0), time.Unix(60, 0))
	if err == nil || !strings.Contains(err.Error(), elsewhere.URL) {
		t.Errorf("the sentence does not name where it led: %v", err)
	}
}

func TestAnUntrustedCertificateIsRefused(t *testing.T) {
	var seen []*http.Request
	srv := httptest.NewTLSServer(answers(&seen))
	defer srv.Close()
	_, plan := planned(t, srv.URL, true)
	if _, err := newPrometheus(plan.Metrics, folders{}, os.Getenv).queryRange(context.Background(), "up{}",
		time.Unix(0, 0), time.Unix(60, 0)); err == nil {
		t.Error("accepted")
	}
}

func TestWithoutCollectPhaseNothingIsAsked(t *testing.T) {
	var seen []*http.Request
	srv := httptest.NewServer(answers(&seen))
	defer srv.Close()
	o, plan := planned(t, srv.URL, true)
	plan.Execution.Phases.Collect = false
	if err := queryPrometheus(context.Background(), step.Streams{Err: &bytes.Buffer{}, Env: os.Getenv}, o,
		plan); err != nil || len(seen) > 0 {
		t.Errorf("%d requests, %v", len(seen), err)
	}
}
