package results_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bflow.dev/bflow/internal/eventually"
	"bflow.dev/bflow/results"
	"bflow.dev/bflow/results/checksums"
	"bflow.dev/bflow/tasks/step"

	"github.com/google/go-cmp/cmp"
)

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

const sumOfSecret = "--token-sha256=2bb80d537b1da3e38bd30361aa855686bde0eacd7162fef6a25fe97bf527a25b"

func runDir(t *testing.T) string {
	t.Helper()
	base := t.TempDir()
	write(t, filepath.Join(base, "secret"), "not of the run")
	dir := filepath.Join(base, "run")
	write(t, filepath.Join(dir, "report.json"), `{"a":1}`)
	write(t, filepath.Join(dir, "measurements/0/requests.jsonl.gz"), "0123456789")
	write(t, filepath.Join(dir, ".report.json.tmp"), "half")
	for name, to := range map[string]string{"out": "../secret", "abs": filepath.Join(base, "secret"),
		"inside": "report.json"} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func server(t *testing.T, dir string) string {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	s := httptest.NewServer(results.Handler(root))
	t.Cleanup(s.Close)
	return s.URL
}

func sum(text string) string {
	s := sha256.Sum256([]byte(text))
	return hex.EncodeToString(s[:])
}

func TestManifest(t *testing.T) {
	url := server(t, runDir(t))
	for query, want := range map[string][]checksums.File{
		"": {{Path: "measurements/0/requests.jsonl.gz", Size: 10, SHA256: sum("0123456789")},
			{Path: "report.json", Size: 7, SHA256: sum(`{"a":1}`)}},
		"?sums=false": {{Path: "measurements/0/requests.jsonl.gz", Size: 10}, {Path: "report.json", Size: 7}},
	} {
		res, err := http.Get(url + results.PathManifest + query)
		if err != nil {
			t.Fatal(err)
		}
		var got results.Manifest
		if err := json.NewDecoder(res.Body).Decode(&got); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got.Files); diff != "" {
			t.Errorf("manifest%s: no half-written file and no link (-want +got):\n%s", query, diff)
		}
	}
}

func TestFiles(t *testing.T) {
	url := server(t, runDir(t))
	rows := []struct {
		name, path, rang string
		status           int
		body             string
	}{
		{"a file", "/files/report.json", "", 200, `{"a":1}`},
		{"a part of a file", "/files/measurements/0/requests.jsonl.gz", "bytes=3-5", 206, "345"},
		{"the rest of a file", "/files/measurements/0/requests.jsonl.gz", "bytes=8-", 206, "89"},
		{"a part behind the end", "/files/report.json", "bytes=100-", 416, ""},
		{"a checksum", "/sums/report.json", "", 200, sum(`{"a":1}`)},
		{"the checksum of a beginning", "/sums/measurements/0/requests.jsonl.gz?size=4", "", 200, sum("0123")},
		{"the checksum of more than there is", "/sums/report.json?size=8", "", 400, ""},
		{"a file that is not there", "/files/nothing", "", 404, ""},
		{"a folder", "/files/measurements", "", 404, ""},
		{"a step up", "/files/..%2fsecret", "", 404, ""},
		{"a step up behind a folder", "/files/measurements/..%2f..%2fsecret", "", 404, ""},
		{"an absolute path", "/files/%2fetc%2fpasswd", "", 404, ""},
		{"a link out of the directory", "/files/out", "", 404, ""},
		{"an absolute link", "/files/abs", "", 404, ""},
		{"the checksum of a link out of the directory", "/sums/out", "", 404, ""},
		{"health", "/healthz", "", 200, ""},
	}
	for _, row := range rows {
		t.Run(row.name, func(t *testing.T) {
			req, err := http.NewRequest(http.MethodGet, url+row.path, nil)
			if err != nil {
				t.Fatal(err)
			}
			if row.rang != "" {
				req.Header.Set("Range", row.rang)
			}
			res, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			defer res.Body.Close()
			body, _ := io.ReadAll(res.Body)
			if res.StatusCode != row.status || row.status < 300 && strings.TrimSpace(string(body)) != row.body {
				t.Errorf("got %d %q, want %d %q", res.StatusCode, body, row.status, row.body)
			}
			if strings.Contains(string(body), "not of the run") {
				t.Error("a file outside of the run was served")
			}
		})
	}
}

func TestNothingIsWritten(t *testing.T) {
	url := server(t, runDir(t))
	for _, method := range []string{http.MethodPut, http.MethodPost, http.MethodDelete} {
		req, _ := http.NewRequest(method, url+"/files/report.json", strings.NewReader("x"))
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		if res.StatusCode != http.StatusMethodNotAllowed {
			t.Errorf("%s: got %d", method, res.StatusCode)
		}
	}
}

func TestServeEndsByItself(t *testing.T) {
	var log bytes.Buffer
	s := step.Streams{Out: io.Discard, Err: &log, Env: func(string) string { return "" }}
	begin := time.Now()
	if err := results.Run(eventually.Context(t), s,
		[]string{"--run-dir", runDir(t), "--listen", "127.0.0.1:0", "--idle", "20ms", sumOfSecret}); err != nil {
		t.Fatal(err)
	}
	if took := time.Since(begin); took < 20*time.Millisecond { //nolint:forbidigo // a busy host makes it no shorter
		t.Errorf("it ended after %s", took)
	}
	if !strings.Contains(log.String(), "no request arrived for 20ms") {
		t.Errorf("it does not say why: %s", log.String())
	}
}

func TestServeEndsWhenItIsTold(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var log bytes.Buffer
	s := step.Streams{Out: io.Discard, Err: &log, Env: func(string) string { return "" }}
	if err := results.Run(ctx,
		s, []string{"--run-dir", runDir(t), "--listen", "127.0.0.1:0", sumOfSecret}); err != nil ||
		!strings.Contains(log.String(), "asked to end") {
		t.Errorf("got %v: %s", err, log.String())
	}
}

func TestServeRefuses(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "token")
	write(t, empty, "\n")
	for _, row := range []struct {
		name string
		args []string
		code int
		want string
	}{
		{"nothing to serve", []string{sumOfSecret}, 2, "run-dir"},
		{"a directory that is not there", []string{"--run-dir", "/nowhere/at/all", sumOfSecret}, 1, "no such file"},
		{"to serve everybody", []string{"--run-dir", t.TempDir()}, 2, "one of --token-file and --token-sha256 is needed"},
		{"two tokens", []string{"--run-dir", t.TempDir(), sumOfSecret, "--token-file", empty}, 2,
			"one of --token-file and --token-sha256 is needed"},
		{"a token in place of its sum", []string{"--run-dir", t.TempDir(), "--token-sha256", "secret"}, 2, "is no SHA-256"},
		{"an empty token", []string{"--run-dir", t.TempDir(), "--token-file", empty}, 1, "is empty"},
	} {
		t.Run(row.name, func(t *testing.T) {
			s := step.Streams{Out: io.Discard, Err: io.Discard, Env: func(string) string { return "" }}
			err := results.Run(t.Context(), s, row.args)
			if code := step.Code(err); code != row.code || !strings.Contains(err.Error(), row.want) {
				t.Errorf("exit code %d: %v; want %d: %s", code, err, row.code, row.want)
			}
		})
	}
}
