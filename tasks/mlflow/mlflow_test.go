package mlflow

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"bflow.dev/bflow/internal/durable"
	"bflow.dev/bflow/report"
	"bflow.dev/bflow/results/checksums"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/tasks/step"

	"github.com/google/go-cmp/cmp"
)

// runDir is a run with one measured stage and the given verdict.
func runDir(t *testing.T, v report.Verdict) string {
	t.Helper()
	dir := t.TempDir()
	plan := &runplan.RunPlan{APIVersion: runplan.APIVersion, Kind: runplan.Kind, Name: "p", Experiment: "p", Index: 1,
		Sinks: runplan.Sinks{MLflow: runplan.MLflow{Experiment: "exp"}}, Measurements: []runplan.Measurement{{Name: "load"}}}
	if err := runplan.Identify(plan); err != nil {
		t.Fatal(err)
	}
	data, err := runplan.Marshal(plan)
	if err != nil {
		t.Fatal(err)
	}
	if err := durable.WriteFile(filepath.Join(dir, contract.FilePlan), data); err != nil {
		t.Fatal(err)
	}
	v.Schema = report.VerdictSchema
	if err := durable.WriteJSON(filepath.Join(dir, contract.FileVerdict), v); err != nil {
		t.Fatal(err)
	}
	stages := filepath.Join(dir, contract.DirMeasurement, "0", contract.FileStages)
	if err := os.MkdirAll(filepath.Dir(stages), 0o755); err != nil {
		t.Fatal(err)
	}
	stage := &report.StageResult{Planned: runplan.Stage{Measure: true, Rate: 10}, StartNS: 1e18, EndNS: 1e18 + 1e9,
		Counts: report.Counts{Total: 10, ByStatus: map[string]int{report.StatusOK: 10}},
		Metrics: map[string]report.Metric{
			"ttft": {Mean: 5, Quantiles: map[string]float64{"p50": 4, "p95": 9, "p99": math.Pi}}}}
	if err := report.AppendStage(stages, stage); err != nil {
		t.Fatal(err)
	}
	return dir
}

func pushTo(t *testing.T, dir, uri string, args ...string) (int, string) {
	t.Helper()
	var out bytes.Buffer
	s := step.Streams{Out: &out, Err: &out, Env: func(k string) string {
		return map[string]string{"MLFLOW_TRACKING_URI": uri, "MLFLOW_TRACKING_TOKEN": "s3cret"}[k]
	}}
	if args == nil {
		args = []string{"push", "--patience=0s"}
	}
	args = append(args, "--plan-dir="+dir, "--run-dir="+dir, "--run-id=p-1")
	return step.Run(context.Background(), "mlflow-push", Run, s, args), out.String()
}

func TestPushAloneFailsNoRunAndTheVerdictDoes(t *testing.T) {
	for _, row := range []struct {
		name string
		v    report.Verdict
	}{
		{"pass", report.Verdict{Verdict: "pass"}},
		{"an SLO breach", report.Verdict{Verdict: "fail", ExitCode: contract.ExitBreach}},
		{"an invalid measurement", report.Verdict{Verdict: "invalid", ExitCode: contract.ExitInvalid}},
	} {
		t.Run(row.name, func(t *testing.T) {
			dir := runDir(t, row.v)
			result := filepath.Join(dir, "verdict")
			code, out := pushTo(t, dir, "", "push", "--verdict-result="+result)
			if code != contract.ExitPass || !strings.Contains(out, "no tracking server is set") {
				t.Errorf("push: exit %d: %s", code, out)
			}
			if code, out := pushTo(t, dir, "::no server::", "verdict"); code != row.v.ExitCode ||
				strings.Contains(out, "the verdict is "+row.v.Verdict) != (code != 0) {
				t.Errorf("verdict: exit %d: %s", code, out)
			}
			if word, _ := os.ReadFile(result); string(word) != row.v.Verdict {
				t.Errorf("the result is %q", word)
			}
		})
	}
}

func TestAServerThatIsNoMLflowIsNamedInOneSentence(t *testing.T) {
	answer := func(code int, body string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code); fmt.Fprint(w, body) }
	}
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		t.Error("a redirect was followed")
	}))
	defer elsewhere.Close()
	for _, row := range []struct {
		name    string
		handler http.HandlerFunc
		want    string
	}{
		{"a page with 200", answer(200, "<html>welcome</html>"), "not JSON, so no MLflow server: <html>welcome</html>"},
		{"another JSON API", answer(200, `{"ok":true}`), "so it is not an MLflow server"},
		{"a login page", answer(401, "<html>who are you</html>"), "401 Unauthorized: <html>who"},
		{"a host check", answer(403, "Invalid Host header - possible DNS rebinding attack detected"), "--allowed-hosts"},
		{"a broken server that echoes the token",
			answer(400, `{"error_code":"BAD_REQUEST","message":"token s3cret"}`), "[secret]"},
		{"a server that leads elsewhere", http.RedirectHandler(elsewhere.URL, http.StatusTemporaryRedirect).ServeHTTP,
			`it redirects to "` + elsewhere.URL},
		{"an answer without an end", func(w http.ResponseWriter, _ *http.Request) {
			_, err := fmt.Fprint(w, `{"experiment":"`)
			for block := bytes.Repeat([]byte("x"), 1<<20); err == nil; {
				_, err = w.Write(block)
			}
		}, "reading the answer: it is longer than 64 MiB"},
		{"an answer that is cut", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Length", "100")
			fmt.Fprint(w, "{")
		}, "unexpected EOF"},
	} {
		t.Run(row.name, func(t *testing.T) {
			srv := httptest.NewServer(row.handler)
			defer srv.Close()
			dir := runDir(t, report.Verdict{Verdict: "pass"})
			code, out := pushTo(t, dir, srv.URL)
			if code != contract.ExitFail || !strings.Contains(out, row.want) || strings.Contains(out, "s3cret") {
				t.Errorf("exit %d, said %q, want %q in it", code, out, row.want)
			}
			if !strings.Contains(out, dir) || strings.Count(out, "\n") != 1 {
				t.Errorf("want one sentence that says where the results are, got %q", out)
			}
		})
	}
	t.Run("nobody listens", func(t *testing.T) {
		srv := httptest.NewServer(nil)
		srv.Close()
		code, out := pushTo(t, runDir(t, report.Verdict{Verdict: "pass"}), srv.URL)
		if code != contract.ExitFail || !strings.Contains(out, "connection refused") {
			t.Errorf("exit %d: %s", code, out)
		}
	})
	t.Run("finalize never fails the Pipeline", func(t *testing.T) {
		srv := httptest.NewServer(answer(500, "boom"))
		defer srv.Close()
		if code, out := pushTo(t, runDir(t, report.Verdict{Verdict: "pass"}), srv.URL, "finalize",
			"--patience=0s"); code != 0 {
			t.Errorf("exit %d: %s", code, out)
		}
	})
}

func TestPassingErrorsAreRepeated(t *testing.T) {
	for _, row := range []struct {
		name  string
		code  int
		body  string
		tries int
		want  bool
	}{
		{"the database is away", 503, `{"error_code":"TEMPORARILY_UNAVAILABLE"}`, 9, true},
		{"a proxy without a backend", 502, "", 9, true},
		{"a crash, twice", 500, "", 2, true},
		{"a crash, three times", 500, "", 3, false},
		{"our mistake", 400, `{"error_code":"INVALID_PARAMETER_VALUE"}`, 1, false},
		{"the artifact proxy is off", 503, `{"error_code":"NOT_IMPLEMENTED"}`, 1, false},
	} {
		var answer *APIError
		if !errors.As(readError(row.code, []byte(row.body)), &answer) || answer.passing(row.tries) != row.want {
			t.Errorf("%s: want repeated %v", row.name, row.want)
		}
	}
}

func TestBatchesStayWithinTheServersLimits(t *testing.T) {
	r := &Replay{}
	for i := range 2500 {
		r.Points = append(r.Points, Point{
			Key: strings.Repeat("k", 250), Value: math.MaxFloat64, Timestamp: math.MaxInt64,
			Step: math.MinInt64 + int64(i),
		})
	}
	for i := range 250 {
		r.Params = append(r.Params, Pair{fmt.Sprint(i), strings.Repeat("\x01é", 3000)})
		r.Tags = append(r.Tags, Pair{fmt.Sprint(i), "v"})
	}
	points, params, tags := 0, 0, 0
	for _, b := range batches("id", r) {
		data, err := json.Marshal(b)
		if err != nil {
			t.Fatal(err)
		}
		if len(b.Metrics) > maxPoints || len(b.Params) > maxParams || len(b.Tags) > maxTags || len(data) > 1_000_000 {
			t.Errorf("%d metrics, %d params, %d tags, %d bytes", len(b.Metrics), len(b.Params), len(b.Tags), len(data))
		}
		points, params, tags = points+len(b.Metrics), params+len(b.Params), tags+len(b.Tags)
	}
	if points != 2500 || params != 250 || tags != 250 {
		t.Errorf("%d points, %d params, %d tags were kept", points, params, tags)
	}
}

func FuzzKeyIsTakenByEveryServer(f *testing.F) {
	for _, seed := range []string{"ttft_ms@c16", "/a//b/../c/", "..", "", "spec.load[0]", strings.Repeat("é", 300)} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		k := key(s)
		if k == "" || len(k) > 250 || k != filepath.Clean(k) || strings.Trim(k, "/") != k ||
			strings.Trim(k, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_./-") != "" || k == "." ||
			strings.HasPrefix(k, "..") && (k == ".." || strings.HasPrefix(k, "../")) {
			t.Errorf("key(%q) = %q", s, k)
		}
	})
}

func TestTheSameFilesGiveTheSameReplay(t *testing.T) {
	dir := runDir(t, report.Verdict{Verdict: "pass"})
	plan, err := runplan.Read(dir)
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Options: step.Options{RunDir: dir, RunID: "p-1", Attempt: 1}, Patience: time.Second}
	var texts [2]string
	for i := range texts {
		r, err := Build(o, plan, &report.Verdict{Verdict: "pass"})
		if err != nil {
			t.Fatal(err)
		}
		data, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		texts[i] = string(data)
	}
	if texts[0] != texts[1] {
		t.Errorf("two replays of one run:\n%s\n%s", texts[0], texts[1])
	}
	for _, want := range []string{`"ttft/ttft_p99_ms","value":3.14159`, `"load/rate_rps","value":10`,
		`"bflow.verdict","value":"pass"`} {
		if !strings.Contains(texts[0], want) {
			t.Errorf("%s is missing in %s", want, texts[0])
		}
	}
}

func TestTheListOfChecksumsIsNoArtifact(t *testing.T) {
	dir := runDir(t, report.Verdict{Verdict: "pass"})
	before, err := artifacts(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := checksums.Write(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	after, err := artifacts(dir)
	if diff := cmp.Diff(before, after); diff != "" || err != nil || len(after) == 0 {
		t.Errorf("%v (-before +after):\n%s", err, diff)
	}
}

func TestADamagedFileIsNotPushed(t *testing.T) {
	for _, row := range []struct {
		name, want string
		harm       func(text []byte) []byte
	}{
		{"it is cut", "has 10 bytes and not the", func(text []byte) []byte { return text[:10] }},
		{"one byte is another", "does not hold what it held when the run ended",
			func(text []byte) []byte { text[10] ^= 1; return text }},
	} {
		t.Run(row.name, func(t *testing.T) {
			dir := runDir(t, report.Verdict{Verdict: "pass"})
			if err := checksums.Write(t.Context(), dir); err != nil {
				t.Fatal(err)
			}
			stages := filepath.Join(dir, contract.DirMeasurement, "0", contract.FileStages)
			text, err := os.ReadFile(stages)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(stages, row.harm(text), 0o644); err != nil {
				t.Fatal(err)
			}
			var asked atomic.Int64
			s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
			defer s.Close()
			code, said := pushTo(t, dir, s.URL)
			if code != contract.ExitUsage || !strings.Contains(said, `"measurements/0/stages.jsonl" `+row.want) ||
				strings.Contains(said, "are safe") {
				t.Errorf("exit code %d: %s", code, said)
			}
			if n := asked.Load(); n > 0 {
				t.Errorf("the server was asked %d times", n)
			}
			if _, err := os.Stat(filepath.Join(dir, ReplayFile)); err == nil {
				t.Error("a replay was made of it")
			}
		})
	}
}

func TestCredentialsOfTheAddressAreSentAndNotShown(t *testing.T) {
	for _, row := range []struct{ name, answer string }{
		{"plain", "refused me:s3cret"},
		{"in base64", "refused Basic bWU6czNjcmV0"},
		{"where others cut", strings.Repeat("x", 197) + "s3cret"},
	} {
		t.Run(row.name, func(t *testing.T) {
			srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if user, password, _ := r.BasicAuth(); user != "me" || password != "s3cret" {
					t.Errorf("asked as %q with %q", user, password)
				}
				w.WriteHeader(http.StatusForbidden)
				fmt.Fprint(w, row.answer)
			}))
			defer srv.Close()
			c, err := NewClient(func(name string) string {
				return map[string]string{contract.EnvMLflowURI: strings.Replace(srv.URL, "://", "://me:s3cret@", 1)}[name]
			}, 0)
			if err != nil || c.Base != srv.URL {
				t.Fatalf("base %q, %v", c.Base, err)
			}
			if _, err = c.Experiment(t.Context(), "e"); err == nil || strings.Contains(err.Error(), "s3c") ||
				strings.Contains(err.Error(), "bWU6") {
				t.Errorf("said %v", err)
			}
		})
	}
}
