package remotetask

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bflow.dev/bflow/results/transfer"
	"bflow.dev/bflow/tasks/provision/cluster"

	"github.com/google/go-cmp/cmp"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// container is a log that is there as a whole; a stream of it may be cut anywhere.
type container struct {
	rng   *rand.Rand
	lines []string // with their times
	opens int
}

func (c *container) open(_ context.Context, since time.Time) (io.ReadCloser, error) {
	c.opens++
	var text strings.Builder
	for _, line := range c.lines {
		if at, _, _ := stamp(line); !at.Before(since.Truncate(time.Second)) {
			text.WriteString(line + "\n")
		}
	}
	switch whole := text.String(); {
	case c.opens > 200: // nobody is unlucky for ever
		return io.NopCloser(strings.NewReader(whole)), nil
	case c.rng.IntN(3) == 0:
		return nil, errors.New("connection refused")
	default:
		cut := c.rng.IntN(len(whole) + 1)
		return io.NopCloser(io.MultiReader(strings.NewReader(whole[:cut]), broken{})), nil
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error) { return 0, errors.New("connection reset") }

// TestEveryLineComesOnce, in its order, wherever the streams are cut: lines that say the same, and times that are not
// in order, as two streams of a container are not, included.
func TestEveryLineComesOnce(t *testing.T) {
	for seed := range uint64(200) {
		rng := rand.New(rand.NewPCG(seed, 3))
		at := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
		c := &container{rng: rng}
		var want []string
		for i := range 1 + rng.IntN(60) {
			at = at.Add(time.Duration(rng.Int64N(int64(1500 * time.Millisecond))))
			early := at.Add(-time.Duration(rng.Int64N(int64(100 * time.Millisecond))))
			text := fmt.Sprintf("line %d", i%7)
			if rng.IntN(10) == 0 {
				text = ""
			}
			c.lines, want = append(c.lines, early.Format(time.RFC3339Nano)+" "+text), append(want, text)
		}
		var got []string
		log := &tail{open: c.open, line: func(text string) { got = append(got, text) }, hear: func(error) {},
			pause: func(int) time.Duration { return 0 }}
		log.run(t.Context())
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("seed %d (-want +got):\n%s", seed, diff)
		}
	}
}

func TestAStreamThatSaysNothingIsOpenedAnew(t *testing.T) {
	opens := 0
	log := &tail{quiet: 20 * time.Millisecond, line: func(string) {}, hear: func(error) {},
		pause: func(int) time.Duration { return 0 },
		open: func(ctx context.Context, _ time.Time) (io.ReadCloser, error) {
			if opens++; opens > 2 {
				return nil, &transfer.StatusError{Code: http.StatusNotFound}
			}
			r, w := io.Pipe()
			context.AfterFunc(ctx, func() { w.CloseWithError(ctx.Err()) })
			return r, nil
		}}
	log.run(t.Context())
	if opens != 2+missed {
		t.Errorf("opened %d times", opens)
	}
}

func TestEventsAreAddedOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "events.jsonl")
	if err := os.WriteFile(path, []byte("{1}\n{2}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	e := events{path: path}
	for _, lines := range []string{"{2}\n{3}\n", "{3}\n", "", "{4}\n"} {
		if err := e.add([]byte(lines)); err != nil {
			t.Fatal(err)
		}
	}
	if data, _ := os.ReadFile(path); string(data) != "{1}\n{2}\n{3}\n{4}\n" {
		t.Errorf("got %q", data)
	}
}

func TestAnOutageIsToldOnceAMinute(t *testing.T) {
	var said bytes.Buffer
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	p := &patience{target: "lab", limit: 15 * time.Minute, now: func() time.Time { return now },
		pause: func(int) time.Duration { return 0 },
		say:   func(format string, args ...any) { fmt.Fprintf(&said, format+"\n", args...) }}
	away := errors.New("connection refused")
	err := p.again(t.Context(), func() error {
		if now = now.Add(10 * time.Second); now.Minute() >= 10 {
			return nil
		}
		return away
	})
	lines := strings.Split(strings.TrimSpace(said.String()), "\n")
	if err != nil || len(lines) != 10 ||
		lines[0] != `target "lab" has not answered for 1m0s: connection refused; retrying` ||
		lines[9] != `target "lab" answers again, after 9m50s` {
		t.Errorf("%v: %d lines: %s", err, len(lines), said.String())
	}
	err = p.again(t.Context(), func() error { now = now.Add(time.Minute); return away })
	if !errors.Is(err, away) || !strings.Contains(err.Error(), "has not answered for 16m0s") {
		t.Errorf("got %v", err)
	}
}

func TestWhatMayPass(t *testing.T) {
	gr := schema.GroupResource{Resource: "jobs"}
	for _, row := range []struct {
		name string
		err  error
		want bool
	}{
		{"no answer", io.ErrUnexpectedEOF, true},
		{"a server that starts", &transfer.StatusError{Code: 503}, true},
		{"a proxy that finds nobody", &transfer.StatusError{Code: 502}, true},
		{"a token that is about to be replaced", apierrors.NewUnauthorized("expired"), true},
		{"too many requests", apierrors.NewTooManyRequests("later", 1), true},
		{"a Job that goes", fmt.Errorf("x: %w", cluster.ErrEnding), true},
		{"no right", apierrors.NewForbidden(gr, "x", errors.New("no")), false},
		{"a pod that is gone", &transfer.StatusError{Code: 404}, false},
		{"no room there", &transfer.StatusError{Code: http.StatusInsufficientStorage}, false},
		{"no room here", fmt.Errorf("x: %w", noRoom()), false},
	} {
		if got := passing(row.err); got != row.want {
			t.Errorf("%s: %v", row.name, got)
		}
	}
}

func noRoom() error {
	f, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	_, err = f.Write([]byte("x"))
	return err
}

func TestJobsAreNamedByWhatTheyRun(t *testing.T) {
	o := func(run string, attempt int, task string, args ...string) *Options {
		o := &Options{Task: task, Args: args}
		o.RunID, o.Attempt = run, attempt
		return o
	}
	names := map[string]bool{}
	for _, name := range []string{
		o("r", 1, "load-gen", "--measurement=0").jobName("h", "n"),
		o("r", 1, "load-gen", "--measurement=1").jobName("h", "n"),
		o("r", 2, "load-gen", "--measurement=0").jobName("h", "n"),
		o("q", 1, "load-gen", "--measurement=0").jobName("h", "n"),
		o("r", 1, "collect").jobName("h", "n"), o("r", 1, "collect").jobName("i", "n"),
		o("r", 1, "collect").jobName("h", "m"),
	} {
		names[name] = true
		if len(name) > 52 { // a pod's name has eleven characters more
			t.Errorf("%q is too long", name)
		}
	}
	if again := o("r", 1, "collect").jobName("h", "n"); len(names) != 7 || !names[again] {
		t.Errorf("%v, and %s", names, again)
	}
}

func TestWhatWasMeasuredBeforeIsKept(t *testing.T) {
	dir := t.TempDir()
	for i, text := range []string{"first", "second"} {
		put(dir, "measurements/1/loadgen.json", text)
		if err := setAside(dir, 1, 2); err != nil {
			t.Fatal(err)
		}
		name := []string{"attempt-1", "attempt-1.2"}[i]
		if data, err := os.ReadFile(filepath.Join(dir, "measurements/1", name, "loadgen.json")); err != nil ||
			string(data) != text {
			t.Errorf("%s: %q, %v", name, data, err)
		}
	}
	if err := setAside(dir, 7, 1); err != nil {
		t.Errorf("nothing to keep: %v", err)
	}
}

// TestAPodThatComesWhileItsAbsenceIsJudgedIsNotGone: what is judged is one look, whatever a later one has seen.
func TestAPodThatComesWhileItsAbsenceIsJudgedIsNotGone(t *testing.T) {
	job, pod := &batchv1.Job{}, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "p"}}
	a := &attendance{l: &launcher{}, changed: make(chan struct{})}
	a.take(cluster.JobState{Job: job})
	before, _, _ := a.now()
	a.take(cluster.JobState{Job: job, Pod: pod})
	with, _, _ := a.now()
	a.take(cluster.JobState{Job: job})
	after, _, _ := a.now()
	for _, row := range []struct {
		name string
		look sight
		want string
	}{{"before it has come", before, ""}, {"while it is there", with, ""},
		{"after it has gone", after, "its pod is gone"}} {
		got := ""
		if lost := a.lost(row.look); lost != nil {
			got = lost.why
		}
		if got != row.want {
			t.Errorf("%s: %q, want %q", row.name, got, row.want)
		}
	}
}
