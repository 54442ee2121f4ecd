package transfer_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"bflow.dev/bflow/results"
	"bflow.dev/bflow/results/transfer"

	"github.com/google/go-cmp/cmp"
)

// tree reads all files of a folder.
func tree(t testing.TB, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		rel, _ := filepath.Rel(dir, path)
		data, err := os.ReadFile(path)
		out[filepath.ToSlash(rel)] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// fill makes files of up to size bytes in a new folder and returns it with their paths.
func fill(t testing.TB, rng *rand.Rand, size int) (string, []string) {
	t.Helper()
	dir := t.TempDir()
	var paths []string
	for i, path := range []string{"plan.json", "measurements/0/requests.jsonl.gz", "measurements/0/a b,_%.yaml",
		"deployment/empty"} {
		data := make([]byte, rng.IntN(size)*min(i, 1))
		for j := range data {
			data[j] = byte(rng.Uint32())
		}
		if path == "deployment/empty" {
			data = nil
		}
		full := filepath.Join(dir, filepath.FromSlash(path))
		if err := errors.Join(os.MkdirAll(filepath.Dir(full), 0o755), os.WriteFile(full, data, 0o600)); err != nil {
			t.Fatal(err)
		}
		paths = append(paths, path)
	}
	return dir, paths
}

// faulty answers every now and then with an error, with half an answer, or takes half a body.
type faulty struct {
	mu   sync.Mutex
	rng  *rand.Rand
	next http.Handler
}

func (f *faulty) draw(n int) int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.rng.IntN(n)
}

func (f *faulty) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch f.draw(8) {
	case 0:
		http.Error(w, `{"kind":"Status","message":"the server is starting"}`, http.StatusServiceUnavailable)
	case 1: // the request is not even read
		panic(http.ErrAbortHandler)
	case 2: // the answer is cut
		rec := httptest.NewRecorder()
		f.next.ServeHTTP(rec, r)
		for k, v := range rec.Header() {
			w.Header()[k] = v
		}
		w.Header().Set("Content-Length", fmt.Sprint(rec.Body.Len()+1))
		w.WriteHeader(rec.Code)
		w.Write(rec.Body.Bytes()[:rec.Body.Len()/2])
		panic(http.ErrAbortHandler)
	case 3: // the body is cut
		r.Body = io.NopCloser(io.LimitReader(r.Body, int64(f.draw(2000))))
		f.next.ServeHTTP(w, r)
	default:
		f.next.ServeHTTP(w, r)
	}
}

// serve is the real server on dir behind faults.
func serve(t testing.TB, dir string, rng *rand.Rand) transfer.Server {
	t.Helper()
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { root.Close() })
	s := httptest.NewServer(&faulty{
		rng:  rand.New(rand.NewPCG(rng.Uint64(), 0)),
		next: results.Guarded(root, results.TokenSum("secret"), true, func() {}),
	})
	s.Config.ErrorLog = nil
	t.Cleanup(s.Close)
	return transfer.Server{HTTP: s.Client(), Base: s.URL, Token: "secret"}
}

func none(int) time.Duration { return 0 }

// TestWhatArrivesIsWhatWasSent sends files through a line full of faults, and fetches them back.
func TestWhatArrivesIsWhatWasSent(t *testing.T) {
	for seed := range uint64(40) {
		rng := rand.New(rand.NewPCG(seed, 1))
		dir, paths := fill(t, rng, 20_000)
		there, back := t.TempDir(), t.TempDir()
		server := serve(t, there, rng)
		o := transfer.Options{Piece: 1 + int64(rng.IntN(6000)), AtOnce: 1, Again: transfer.Tries(200, none)}
		if err := transfer.Send(t.Context(), server, dir, paths, o); err != nil {
			t.Fatalf("seed %d: sending: %v", seed, err)
		}
		if diff := cmp.Diff(tree(t, dir), tree(t, there)); diff != "" {
			t.Fatalf("seed %d: what is there (-want +got):\n%s", seed, diff)
		}
		for range 2 { // the second time everything is here
			if err := transfer.Fetch(t.Context(), server, back, o); err != nil {
				t.Fatalf("seed %d: fetching: %v", seed, err)
			}
		}
		if diff := cmp.Diff(tree(t, dir), tree(t, back)); diff != "" {
			t.Fatalf("seed %d: what came back (-want +got):\n%s", seed, diff)
		}
	}
}

// FuzzRanges reads a file by ranges of any size: together they are the file.
func FuzzRanges(f *testing.F) {
	f.Add([]byte("0123456789"), int64(3), int64(4))
	f.Add([]byte{}, int64(1), int64(0))
	f.Add([]byte("x"), int64(1<<40), int64(2))
	f.Fuzz(func(t *testing.T, data []byte, piece, offset int64) {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "f"), data, 0o600); err != nil {
			t.Fatal(err)
		}
		root, err := os.OpenRoot(dir)
		if err != nil {
			t.Fatal(err)
		}
		defer root.Close()
		s := httptest.NewServer(results.Handler(root))
		defer s.Close()
		server := transfer.Server{HTTP: s.Client(), Base: s.URL}
		to := t.TempDir()
		least := int64(len(data)/50 + 1) // of a piece, so that no input takes long
		if err := transfer.Fetch(t.Context(), server, to, transfer.Options{Piece: max(least, piece&0xffff)}); err != nil {
			t.Fatal(err)
		}
		if got := tree(t, to)["f"]; got != string(data) {
			t.Errorf("got %q", got)
		}
		if offset = max(0, offset); offset < 1<<40 {
			rest, err := server.Read(t.Context(), "f", offset)
			if want := data[min(offset, int64(len(data))):]; err != nil || !bytes.Equal(rest, want) {
				t.Errorf("from %d: %q, %v", offset, rest, err)
			}
		}
	})
}

func TestARefusalIsFinal(t *testing.T) {
	var asked atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.WriteHeader(http.StatusNotFound)
		w.Write([]byte(`{"kind":"Status","message":"pods \"x\" not found"}`))
	}))
	defer s.Close()
	err := transfer.Fetch(t.Context(), transfer.Server{HTTP: s.Client(), Base: s.URL}, t.TempDir(), transfer.Options{})
	if err == nil || !strings.Contains(err.Error(), `404 Not Found: pods "x" not found`) || asked.Load() != 1 {
		t.Errorf("asked %d times: %v", asked.Load(), err)
	}
	var status *transfer.StatusError
	if !errors.As(err, &status) || !transfer.Lasting(err) {
		t.Errorf("got %v", err)
	}
}

func TestAListWithoutAnEndIsNotKept(t *testing.T) {
	var asked atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		_, err := w.Write([]byte(`{"files":[`))
		for block := bytes.Repeat([]byte(" "), 1<<20); err == nil; {
			_, err = w.Write(block)
		}
	}))
	defer s.Close()
	err := transfer.Fetch(t.Context(), transfer.Server{HTTP: s.Client(), Base: s.URL}, t.TempDir(), transfer.Options{})
	if err == nil || !strings.Contains(err.Error(), "it is longer than 64 MiB") || asked.Load() != 1 {
		t.Errorf("asked %d times: %v", asked.Load(), err)
	}
}

// TestAFullDiskStopsATransfer stands in for a disk that is full: whatever is written into the folder fails.
func TestAFullDiskStopsATransfer(t *testing.T) {
	for _, err := range []error{fmt.Errorf("writing: %w", syscall.ENOSPC), &os.PathError{Err: syscall.EDQUOT}} {
		if !transfer.NoRoom(err) {
			t.Errorf("%v is not seen", err)
		}
	}
	if transfer.NoRoom(context.Canceled) || transfer.NoRoom(nil) {
		t.Error("something else is taken for it")
	}
}
