package loadgen

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"bflow.dev/bflow/internal/eventually"
	"bflow.dev/bflow/report"
)

// mostMemory is what a step of load-gen asks for on a cluster.
const mostMemory = 512 << 20

// writeMuch writes block until so many bytes were written; false once the client is gone.
func writeMuch(w io.Writer, block string, n int) bool {
	for ; n > 0; n -= len(block) {
		if _, err := io.WriteString(w, block[:min(len(block), n)]); err != nil {
			return false
		}
	}
	return true
}

// endless is more than anybody reads.
const endless = 1 << 40

// TestMemoryIsBoundedWhateverServersAnswer measures the program as it is shipped, in a process of its own: in this one
// the server and the race detector have memory too.
func TestMemoryIsBoundedWhateverServersAnswer(t *testing.T) {
	binary := buildLoadGen(t)
	block := strings.Repeat("x", 1<<20)
	event := `data: {"choices":[{"token_ids":[1,2],"delta":{"content":"a"}}]}` + "\n\n"
	for _, tt := range []struct {
		name    string
		streams int
		stream  bool
		http2   bool
		turns   int
		all     bool // also requests outside the load
		answer  func(w io.Writer)
		text    string // in every error
	}{
		{name: "four answers of 200 MB", streams: 4, text: "MiB", answer: func(w io.Writer) {
			_ = writeMuch(w, `{"choices":[{"message":{"content":"`, 35) && writeMuch(w, block, 200<<20) &&
				writeMuch(w, `"}}]}`, 5)
		}},
		{name: "also before and after the load", streams: 1, all: true, text: "MiB", answer: func(w io.Writer) {
			_ = writeMuch(w, `{"choices":[{"message":{"content":"`, 35) && writeMuch(w, block, endless)
		}},
		{name: "eight lines without end", streams: 8, stream: true, text: "MiB", answer: func(w io.Writer) {
			_ = writeMuch(w, "data: ", 6) && writeMuch(w, block, endless)
		}},
		{name: "a hundred lines without end on one connection", streams: 100, stream: true, http2: true, text: "MiB",
			answer: func(w io.Writer) {
				_ = writeMuch(w, "data: ", 6) && writeMuch(w, block[:32<<10], endless)
			}},
		{name: "two hundred lines without end", streams: 200, stream: true, text: "MiB", answer: func(w io.Writer) {
			_ = writeMuch(w, "data: ", 6) && writeMuch(w, block[:32<<10], endless)
		}},
		{name: "events without end", streams: 2, stream: true, text: "96 MiB together", answer: func(w io.Writer) {
			writeMuch(w, strings.Repeat(event, 1<<14), endless)
		}},
		{name: "texts without end that the next turn is to hold", streams: 8, stream: true, turns: 2, text: "MiB",
			answer: func(w io.Writer) {
				writeMuch(w, `data: {"choices":[{"delta":{"content":"`+block+`"}}]}`+"\n\n", endless)
			}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			srv := httptest.NewUnstartedServer(answers(tt.stream, tt.all, tt.answer))
			if srv.EnableHTTP2 = tt.http2; tt.http2 {
				srv.StartTLS()
			} else {
				srv.Start()
			}
			defer srv.Close()
			b := newBench(t.TempDir(), closedLoop(tt.streams, tt.streams))
			b.endpoint = srv.URL
			b.plan.Measurements[0].API.Stream, b.plan.Measurements[0].API.HTTP2 = tt.stream, tt.http2
			b.plan.Measurements[0].Data.Turns = max(1, tt.turns)
			if err := b.write(); err != nil {
				t.Fatal(err)
			}
			peak := b.executeAlone(eventually.Context(t), t, binary)
			if t.Logf("its peak was %d MiB", peak>>20); peak > mostMemory {
				t.Errorf("load-gen took %d MiB, want at most %d", peak>>20, mostMemory>>20)
			}
			r := b.results(t)
			for _, row := range r.rows {
				if row.Status != report.StatusFailed || row.ErrorClass != report.ErrTooLarge ||
					!strings.Contains(row.Error, tt.text) {
					t.Errorf("row %q is %s, %q: %s", row.ID, row.Status, row.ErrorClass, row.Error)
				}
			}
			if len(r.rows) != tt.streams {
				t.Errorf("%d rows, want %d", len(r.rows), tt.streams)
			}
		})
	}
}

// answers answers the requests of the load, and all others where they are meant too.
func answers(stream, all bool, answer func(io.Writer)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		id := r.Header.Get("X-Request-Id")
		if !all && (id == "" || strings.Contains(id, "-probe")) {
			http.Error(w, "the load only", http.StatusServiceUnavailable)
			return
		}
		if w.Header().Set("Content-Type", "application/json"); stream {
			w.Header().Set("Content-Type", "text/event-stream")
		}
		answer(w)
	}
}

func buildLoadGen(t *testing.T) string {
	t.Helper()
	if _, err := os.Stat("/proc/self/status"); err != nil {
		t.Skip("it reads the peak of a process from /proc")
	}
	binary := filepath.Join(t.TempDir(), "load-gen")
	if out, err := exec.Command("go", "build", "-o", binary, "bflow.dev/bflow/cmd/load-gen").CombinedOutput(); err != nil {
		t.Fatalf("building load-gen: %v\n%s", err, out)
	}
	return binary
}

// executeAlone carries the measurement out in a process of its own and returns the most memory that it ever had.
func (b *bench) executeAlone(ctx context.Context, t *testing.T, binary string) int64 {
	t.Helper()
	cmd := exec.CommandContext(ctx, binary, append([]string{"--plan-dir", b.planDir(), "--run-dir", b.runDir, "--run-id",
		"r", "--endpoint", b.endpoint}, b.args...)...)
	cmd.Env = []string{}
	cmd.Stdout, cmd.Stderr = &b.stderr, &b.stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	over := make(chan error, 1)
	go func() { over <- cmd.Wait() }()
	peak := int64(0)
	eventually.True(t, "the end of load-gen", func() bool {
		if n, err := peakOf(cmd.Process.Pid); err == nil { // else it has ended
			peak = n
		}
		return len(over) > 0
	})
	err := <-over
	if t.Logf("%s", b.stderr.String()); err != nil {
		t.Fatal(err)
	}
	return peak
}

// peakOf returns the most memory that a process has had since its exec. What wait4 says of a child is no less than what
// its parent had at the fork.
func peakOf(pid int) (int64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	_, rest, found := bytes.Cut(text, []byte("VmHWM:"))
	if !found {
		return 0, errors.New("it has no memory any more")
	}
	kb, err := strconv.ParseInt(string(bytes.Fields(rest)[0]), 10, 64)
	return kb << 10, err
}
