package trace

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bflow.dev/bflow/runplan"
)

// sum is that of the content below.
const (
	content = `{"timestamp": 5, "input_length": 10}` + "\n" + `{"timestamp": 6, "input_length": 10}` + "\n"
	sum     = "abb522b4bf22d768332e81f7886bf2436d40ba47048d0a60660f79781a4ee9bd"
)

func TestOpen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "trace.jsonl")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("/trace", func(w http.ResponseWriter, _ *http.Request) { w.Write([]byte(content)) })
	server := httptest.NewTLSServer(mux)
	defer server.Close()
	tests := []struct {
		name string
		plan runplan.Trace
		n    int
		want string
	}{
		{name: "a path", plan: runplan.Trace{URL: path}, n: 2},
		{name: "a path with its checksum", plan: runplan.Trace{URL: path, SHA256: sum}, n: 2},
		{name: "the checksum is that of the whole, however much is read",
			plan: runplan.Trace{URL: path, SHA256: strings.ToUpper(sum), Limit: 1}, n: 1},
		{name: "an address", plan: runplan.Trace{URL: server.URL + "/trace?token=secret", SHA256: sum}, n: 2},
		{name: "another file", plan: runplan.Trace{URL: path, SHA256: strings.Repeat("0", 64)}, want: "its sha256 is " + sum},
		{name: "another file that cannot be read: the checksum is what matters", plan: runplan.Trace{URL: path,
			SHA256: strings.Repeat("0", 64), Format: runplan.TraceAzure}, want: "its sha256 is " + sum},
		{name: "a mistake in the file", plan: runplan.Trace{URL: path, SHA256: sum, Format: runplan.TraceAzure},
			want: "line 1: it is JSON: take format mooncake"},
		{name: "no file", plan: runplan.Trace{URL: path + "x"}, want: "opening trace"},
		{name: "no such page", plan: runplan.Trace{URL: server.URL + "/no"}, want: "404"},
		{name: "plain http", plan: runplan.Trace{URL: "http://127.0.0.1/trace"},
			want: "neither a path nor an https:// address"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if tt.plan.Format == "" {
				tt.plan.Format = runplan.TraceJSONL
			}
			x, err := open(context.Background(), server.Client(), tt.plan)
			if tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)) ||
				tt.want == "" && (err != nil || len(x.Requests()) != tt.n) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
		})
	}
}

func TestAnAddressIsShownWithoutItsSecrets(t *testing.T) {
	for in, want := range map[string]string{
		"https://user:key@host/a/b?sig=x": "https://host/a/b", "https://host/a@b": "https://host/a@b",
		"/data/a?b": "/data/a?b",
	} {
		if got := shown(in); got != want {
			t.Errorf("%q is shown as %q, want %q", in, got, want)
		}
	}
}
