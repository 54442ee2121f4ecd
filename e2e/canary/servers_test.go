package canary

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
)

// server is a real server that keeps every request as it came.
type server struct {
	*httptest.Server
	name string

	mu       sync.Mutex
	requests []string
}

func serve(t *testing.T, name string, handler http.HandlerFunc) *server {
	t.Helper()
	s := &server{name: name}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		raw, err := httputil.DumpRequest(r, true)
		if err != nil {
			raw = fmt.Appendf(nil, "%s %s: %v", r.Method, r.URL, err)
		}
		s.mu.Lock()
		s.requests = append(s.requests, string(raw))
		s.mu.Unlock()
		handler(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func (s *server) heard() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// at is the address of the server with a user and a password, which may be empty, and a query.
func (s *server) at(user, password, query string) string {
	u, err := url.Parse(s.URL)
	if err != nil {
		panic(err)
	}
	if user != "" {
		u.User = url.UserPassword(user, password)
	}
	u.RawQuery = query
	return u.String()
}

// echo is everything that a request says of who sends it.
func echo(r *http.Request) string {
	var said []string
	for name, values := range r.Header {
		said = append(said, name+"="+strings.Join(values, ","))
	}
	slices.Sort(said)
	return strings.Join(append(said, r.URL.String()), "; ")
}

// chatty is a model server that says back what it is told: in headers, answers, metrics and its version.
func chatty(w http.ResponseWriter, r *http.Request) {
	said := echo(r)
	w.Header().Set("Server", said)
	w.Header().Set("X-Echo", said)
	switch r.URL.Path {
	case "/v1/models":
		fmt.Fprint(w, models("acme/tiny", "tuned-"+r.Header.Get("Authorization")))
	case "/metrics":
		fmt.Fprintf(w, "# HELP vllm:echo said %s\n# TYPE vllm:echo gauge\nvllm:echo{said=%q} "+
			"1\nvllm:prompt_tokens_total 5\n", said, said)
	case "/version":
		answer(w, map[string]string{"version": "1.0 " + said})
	case "/v1/chat/completions", "/v1/completions":
		if r.Header.Get("Authorization") == "" {
			refuse(w, http.StatusUnauthorized, said)
			return
		}
		stream(w, r, said)
	case "/health":
		fmt.Fprint(w, said)
	default:
		refuse(w, http.StatusNotFound, said)
	}
}

func models(ids ...string) string {
	var list []string
	for _, id := range ids {
		list = append(list, fmt.Sprintf(`{"id":%q,"object":"model"}`, id))
	}
	return `{"object":"list","data":[` + strings.Join(list, ",") + `]}`
}

func answer(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // a client that has gone needs no answer
}

// refuse answers as servers do, at a length at which the secret lies across the place where others cut.
func refuse(w http.ResponseWriter, code int, said string) {
	w.WriteHeader(code)
	message := said
	for _, length := range []int{140, 160, 180, 200, 255, 280, 300, 500, 512, 1000, 1024} {
		message += strings.Repeat(".", max(0, length-len(message)%length)) + said
	}
	answer(w, map[string]any{"error": map[string]any{"message": said + "; " + message, "code": said}})
}

// stream answers a chat with what was said, a word at a time.
func stream(w http.ResponseWriter, r *http.Request, said string) {
	var ask struct {
		Stream bool `json:"stream"`
		Tokens int  `json:"max_tokens"`
		Final  int  `json:"max_completion_tokens"`
	}
	_ = json.NewDecoder(r.Body).Decode(&ask) // what is no JSON asks for one token
	n := max(1, ask.Tokens, ask.Final)
	usage := map[string]int{"prompt_tokens": 16, "completion_tokens": n, "total_tokens": 16 + n}
	if !ask.Stream {
		answer(w, map[string]any{"model": said, "usage": usage,
			"choices": []any{map[string]any{"index": 0, "finish_reason": "length", "text": said,
				"message": map[string]string{"role": "assistant", "content": said}}}})
		return
	}
	w.Header().Set("Content-Type", "text/event-stream")
	event := func(v any) {
		data, _ := json.Marshal(v) // maps of texts and numbers can be written
		fmt.Fprintf(w, "data: %s\n\n", data)
	}
	for i := range n {
		part := said
		if i > 0 { // later tokens hold a piece each
			part = said[len(said)*i/(n+1) : len(said)*(i+1)/(n+1)]
		}
		choice := map[string]any{"index": 0, "text": part, "delta": map[string]string{"content": part}}
		if i == n-1 {
			choice["finish_reason"] = "length"
		}
		event(map[string]any{"id": said, "model": said, "choices": []any{choice}})
	}
	event(map[string]any{"choices": []any{}, "usage": usage})
	fmt.Fprint(w, "data: [DONE]\n\n")
}

// failing serves what a readiness check asks for and refuses everything else, in a stream where one is asked for.
func failing(w http.ResponseWriter, r *http.Request) {
	said := echo(r)
	if r.URL.Path == "/v1/models" || r.URL.Path == "/health" {
		fmt.Fprint(w, models("acme/tiny"))
		return
	}
	refuse(w, http.StatusInternalServerError, said)
}

// refusing refuses everything.
func refusing(w http.ResponseWriter, r *http.Request) { refuse(w, http.StatusForbidden, echo(r)) }

// tracking is a small MLflow server: one experiment, and runs as they are sent.
type tracking struct {
	mu    sync.Mutex
	runs  int
	info  map[string]string
	pairs map[string][]any
	files map[string]int
}

func newTracking() *tracking {
	return &tracking{info: map[string]string{}, pairs: map[string][]any{}, files: map[string]int{}}
}

func (m *tracking) serve(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	w.Header().Set("X-Echo", echo(r))
	const artifacts = "/api/2.0/mlflow-artifacts/artifacts/"
	if name, ok := strings.CutPrefix(r.URL.Path, artifacts); ok && r.Method == http.MethodPut {
		n, _ := io.Copy(io.Discard, r.Body) // what does not come is not held
		m.files[name] = int(n)
		fmt.Fprint(w, "{}")
		return
	}
	var in map[string]any
	_ = json.NewDecoder(r.Body).Decode(&in) // a GET has none
	switch strings.TrimPrefix(r.URL.Path, "/api/2.0/mlflow/") {
	case "experiments/get-by-name":
		answer(w, map[string]any{"experiment": map[string]string{"experiment_id": "7", "lifecycle_stage": "active"}})
	case "runs/create":
		m.runs++
		id := fmt.Sprintf("run%d", m.runs)
		m.info = map[string]string{
			"run_id": id, "experiment_id": "7", "status": "RUNNING", "artifact_uri": "mlflow-artifacts:/7/" + id,
		}
		tags, _ := in["tags"].([]any)
		m.pairs = map[string][]any{"tags": tags}
		answer(w, map[string]any{"run": map[string]any{"info": m.info}})
	case "runs/log-batch":
		for _, kind := range []string{"params", "tags", "metrics"} {
			more, _ := in[kind].([]any)
			m.pairs[kind] = append(m.pairs[kind], more...)
		}
		fmt.Fprint(w, "{}")
	case "runs/update":
		if status, ok := in["status"].(string); ok {
			m.info["status"] = status
		}
		fmt.Fprint(w, "{}")
	case "runs/get":
		answer(w, map[string]any{"run": map[string]any{"info": m.info, "data": m.pairs}})
	case "metrics/get-history":
		answer(w, map[string]any{"metrics": m.pairs["metrics"]})
	case "artifacts/list":
		answer(w, map[string]any{"files": m.list(r.URL.Query().Get("path"))})
	default:
		fmt.Fprint(w, "{}")
	}
}

func (m *tracking) list(folder string) []any {
	files := []any{}
	for name, size := range m.files {
		below := strings.TrimPrefix(name, "7/"+m.info["run_id"]+"/")
		if dir := path.Dir(below); dir == folder || dir == "." && folder == "" {
			files = append(files, map[string]any{"path": below, "is_dir": false, "file_size": size})
		}
	}
	return files
}
