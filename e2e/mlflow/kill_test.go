//go:build e2e

package mlflow

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"bflow.dev/bflow/internal/eventually"
	"bflow.dev/bflow/tasks/mlflow"
)

// gate is a proxy before the server that lets a test act at the n-th request, before or after it reached the server.
type gate struct {
	*httptest.Server
	mu     sync.Mutex
	count  int
	mutate []bool // whether the n-th request changes something
	at     int    // 0 = never
	after  bool
	act    func()
}

func newGate(t *testing.T, s *server) *gate {
	t.Helper()
	target, err := url.Parse(s.url())
	if err != nil {
		t.Fatal(err)
	}
	g := &gate{}
	proxy := httputil.NewSingleHostReverseProxy(target)
	g.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		g.mu.Lock()
		g.count++
		g.mutate = append(g.mutate, r.Method != http.MethodGet)
		hit := g.count == g.at
		g.mu.Unlock()
		if hit && !g.after {
			g.act()
			panic(http.ErrAbortHandler)
		}
		if hit {
			proxy.ServeHTTP(httptest.NewRecorder(), r)
			g.act()
			panic(http.ErrAbortHandler)
		}
		proxy.ServeHTTP(w, r)
	}))
	quiet := log.New(io.Discard, "", 0) // the errors are the point of these tests
	g.Config.ErrorLog, proxy.ErrorLog = quiet, quiet
	t.Cleanup(g.Close)
	return g
}

// arm sets the request at which act is called and forgets what was counted.
func (g *gate) arm(at int, after bool, act func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.count, g.mutate, g.at = 0, nil, at
	g.after, g.act = after, act
}

// finished is a run directory whose push is still to be done, and how to push it under any run id.
type finished struct {
	t   *testing.T
	dir string
	uri string
}

// command is a push that waits for its server a little longer than the tests do.
func (f finished) command(runID string) *exec.Cmd {
	cmd := exec.Command(bin("mlflow-push"), "push", "--plan-dir="+f.dir, "--run-dir="+f.dir, "--run-id="+runID,
		"--patience="+(eventually.Limit+time.Minute).String())
	cmd.Env = append(os.Environ(), "MLFLOW_TRACKING_URI="+f.uri)
	return cmd
}

func (f finished) push(runID string) {
	f.t.Helper()
	if out, err := f.command(runID).CombinedOutput(); err != nil {
		f.t.Fatalf("pushing %s: %v\n%s", runID, err, out)
	}
}

// killedAt begins a push that is killed at its n-th request.
func (f finished) killedAt(g *gate, runID string, n int, after bool) {
	f.t.Helper()
	cmd := f.command(runID)
	started := make(chan struct{})
	g.arm(n, after, func() {
		<-started // the request may be here before the process has its number
		cmd.Process.Kill()
	})
	if err := cmd.Start(); err != nil {
		f.t.Fatal(err)
	}
	close(started)
	if err := cmd.Wait(); err == nil {
		f.t.Fatalf("the push was not killed at request %d", n)
	}
	g.arm(0, false, nil)
}

// prepare runs one small point without a tracking server.
func prepare(t *testing.T, uri string) finished {
	t.Helper()
	dir := runMatrix(t, "", "--set", "load.stages[0].rate=50")[0]
	// A push is repeated a hundred times here: a file of each kind is enough. The list of them goes with the others.
	for _, extra := range []string{"deployment/truth.jsonl", "measurements/0/scrapes", "measurements/0/histograms.bin",
		"report.html", "summary.csv", "checksums.json"} {
		if err := os.RemoveAll(filepath.Join(dir, extra)); err != nil {
			t.Fatal(err)
		}
	}
	return finished{t: t, dir: dir, uri: uri}
}

// fingerprint is all that the server holds of a run, with the run's own name and key taken out.
func (s *server) fingerprint(t *testing.T, dir, runID string) string {
	t.Helper()
	r := replayOf(t, dir)
	got := s.read(t, r, 10)
	got.compare(t, r)
	got.compareFiles(t, dir, r)
	text := fmt.Sprintf("%s\n%v\n%v\n%v\n%v", got.Status, got.Params, got.Tags, got.History, got.Files)
	release := pairs(r.Tags)["bflow.release"]
	return strings.NewReplacer(r.RunKey, "KEY", runID, "RUN", release, "RELEASE").Replace(text)
}

func TestAPushKilledAtAnyRequestAndRepeatedEndsAsOneThatWasNot(t *testing.T) {
	s := startServer(t)
	g := newGate(t, s)
	f := prepare(t, g.URL)
	f.killedAt(g, "first", 2, true) // the request that makes the experiment; later pushes find it
	f.push("first")
	s.fingerprint(t, f.dir, "first")
	g.arm(0, false, nil)
	f.push("calm-0")
	want := s.fingerprint(t, f.dir, "calm-0")
	g.mu.Lock()
	mutate := append([]bool(nil), g.mutate...)
	g.mu.Unlock()
	if len(mutate) < 15 {
		t.Fatalf("a push of %d requests proves little", len(mutate))
	}
	kills := 0
	for n := 1; n <= len(mutate); n++ {
		for _, after := range []bool{false, true} {
			if after && !mutate[n-1] {
				continue // a read leaves nothing behind
			}
			kills++
			runID := fmt.Sprintf("kill-%d-%v", n, after)
			f.killedAt(g, runID, n, after)
			f.push(runID)
			if got := s.fingerprint(t, f.dir, runID); got != want {
				t.Fatalf("killed at request %d (after it: %v):\ngot  %s\nwant %s", n, after, got, want)
			}
		}
	}
	t.Logf("%d requests, %d kills", len(mutate), kills)
}

func TestAServerKilledInTheMiddleLosesNothing(t *testing.T) {
	s := startServer(t)
	g := newGate(t, s)
	f := prepare(t, g.URL)
	f.push("first") // makes the experiment: later pushes have a request less
	g.arm(0, false, nil)
	f.push("calm-0")
	want := s.fingerprint(t, f.dir, "calm-0")
	total := g.count
	var restarts sync.WaitGroup
	t.Cleanup(restarts.Wait) // of a test that failed too
	for i, n := range []int{1, 3, 5, total / 3, total / 2, total} {
		runID := fmt.Sprintf("outage-%d", i)
		killed := false
		g.arm(n, i%2 == 0, func() {
			killed = true
			s.kill()
			restarts.Go(func() {
				time.Sleep(time.Second) //nolint:forbidigo // the outage itself
				s.start()
			})
		})
		f.push(runID)
		restarts.Wait()
		if !killed {
			t.Errorf("%s ended before request %d of %d", runID, n, total)
		}
		if got := s.fingerprint(t, f.dir, runID); got != want {
			t.Errorf("server killed at request %d of %d:\ngot  %s\nwant %s", n, total, got, want)
		}
	}
}

// TestFinalize: a push that was killed and not repeated leaves a run that finish ends.
func TestARunWhosePushWasCutIsEnded(t *testing.T) {
	s := startServer(t)
	g := newGate(t, s)
	f := prepare(t, g.URL)
	f.killedAt(g, "cut", 8, true)
	end := exec.Command(bin("mlflow-push"), "finalize", "--plan-dir="+f.dir, "--run-dir="+f.dir,
		"--run-id=cut", "--status=Failed")
	end.Env = append(os.Environ(), "MLFLOW_TRACKING_URI="+g.URL)
	if out, err := end.CombinedOutput(); err != nil {
		t.Fatalf("finalize: %v\n%s", err, out)
	}
	r := replayOf(t, f.dir)
	if got := s.read(t, r, 1); got.Status != mlflow.Failed {
		t.Errorf("status %s, want %s", got.Status, mlflow.Failed)
	}
}
