package results

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bflow.dev/bflow/internal/eventually"
	"bflow.dev/bflow/tasks/step"
)

const abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad" // of "abc"

// start runs the server with a token and returns its address, and what it came to once it has ended.
func start(t *testing.T, dir string, args ...string) (string, func() (string, error), context.CancelFunc) {
	t.Helper()
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	from, to := io.Pipe()
	done := make(chan error, 1)
	go func() {
		s := step.Streams{Out: io.Discard, Err: to, Env: func(string) string { return "" }}
		done <- Run(ctx, s, append([]string{"--run-dir", dir, "--listen", "127.0.0.1:0", "--token-file", token}, args...))
		to.Close()
	}()
	said := bufio.NewReader(from)
	first, _ := said.ReadString('\n')
	_, rest, _ := strings.Cut(first, " on ")
	address, _, ok := strings.Cut(rest, " until ")
	if !ok {
		t.Fatalf("it does not say where it listens: %q, %v", first, <-done)
	}
	log := make(chan string, 1)
	go func() {
		rest, _ := io.ReadAll(said)
		log <- first + string(rest)
	}()
	end := func() (string, error) {
		text := eventually.Receive(t, "the end of the server", log)
		return text, <-done
	}
	return "http://" + address, end, cancel
}

func ask(t *testing.T, method, url, token, body string) (int, string) {
	t.Helper()
	req, err := http.NewRequest(method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set(HeaderToken, token)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	text, _ := io.ReadAll(res.Body)
	return res.StatusCode, strings.TrimSpace(string(text))
}

func TestFilesAreTakenInPieceByPiece(t *testing.T) {
	dir := t.TempDir()
	url, end, _ := start(t, dir, "--receive")
	at := url + PathUploads + "measurements/0/rows?size=3&sha256=" + abc
	for _, row := range []struct {
		name, method, url, token, body string
		code                           int
		want                           string
	}{
		{"nobody without the token", "GET", at, "guess", "", 403, "the token is missing or wrong"},
		{"at first nothing is there", "GET", at, "secret", "", 200, `{"have":0,"whole":false}`},
		{"a piece that does not follow", "PUT", at + "&offset=1", "secret", "bc", 409,
			"0 bytes are here: the piece is to begin there"},
		{"the first piece", "PUT", at + "&offset=0", "secret", "a", 200, `{"have":1,"whole":false}`},
		{"the same piece again", "PUT", at + "&offset=0", "secret", "a", 409,
			"1 bytes are here: the piece is to begin there"},
		{"the last one", "PUT", at + "&offset=1", "secret", "bc and more", 200, `{"have":3,"whole":true}`},
		{"all of it again", "PUT", at + "&offset=0", "secret", "abc", 200, `{"have":3,"whole":true}`},
		{"another content", "PUT", url + PathUploads + "x?size=3&offset=0&sha256=" + abc, "secret", "abd", 422,
			"the file that arrived has another checksum and was removed; send it again"},
		{"a way out", "PUT", url + PathUploads + "..%2fx?size=3&offset=0&sha256=" + abc, "secret", "abc", 400,
			"the path leads out of the folder"},
		{"no checksum", "PUT", url + PathUploads + "x?size=3&offset=0&sha256=00", "secret", "abc", 400,
			"sha256 must be a checksum in hex"},
		{"no size", "PUT", url + PathUploads + "x?size=-3&offset=0&sha256=" + abc, "secret", "abc", 400,
			"size must be a number of bytes"},
	} {
		if code, text := ask(t, row.method, row.url, row.token, row.body); code != row.code || text != row.want {
			t.Errorf("%s: %d %s", row.name, code, text)
		}
	}
	if data, err := os.ReadFile(filepath.Join(dir, "measurements/0/rows")); err != nil || string(data) != "abc" {
		t.Errorf("%q, %v", data, err)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 1 {
		t.Errorf("left over: %v", entries)
	}
	if code, _ := ask(t, "POST", url+PathEnd, "secret", ""); code != 200 {
		t.Errorf("told to end: %d", code)
	}
	if log, err := end(); err != nil {
		t.Errorf("%v: %s", err, log)
	}
}

func TestNoTaskBeginsWithoutItsFiles(t *testing.T) {
	_, end, cancel := start(t, t.TempDir(), "--receive")
	cancel()
	if _, err := end(); step.Code(err) != 1 || !strings.Contains(err.Error(), "before all had arrived") {
		t.Errorf("got %v", err)
	}
	if err := Run(t.Context(), step.Streams{Err: io.Discard},
		[]string{"--run-dir=" + t.TempDir(), "--receive"}); step.Code(err) != 2 {
		t.Errorf("without a token: %v", err)
	}
}

func TestResultsCanBeFetchedAfterASignal(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "a"), []byte("abc"), 0o600); err != nil {
		t.Fatal(err)
	}
	url, end, cancel := start(t, dir, "--linger=1h")
	cancel()
	if code, text := ask(t, "GET", url+PathFiles+"a", "secret", ""); code != 200 || text != "abc" {
		t.Errorf("%d %s", code, text)
	}
	if code, _ := ask(t, "PUT", url+PathUploads+"b?size=3&offset=0&sha256="+abc, "secret",
		"abc"); code != 405 && code != 404 {
		t.Errorf("it takes files in: %d", code)
	}
	ask(t, "POST", url+PathEnd, "secret", "")
	if log, err := end(); err != nil || !strings.Contains(log, whyTold) {
		t.Errorf("%v: %s", err, log)
	}
}
