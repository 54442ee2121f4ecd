package remotetask

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"time"

	"bflow.dev/bflow/internal/bounded"
)

// longLine is the longest line of a log that is repeated whole, in bytes.
const longLine = 1 << 20

const (
	overlap = 2 * time.Second // the API takes whole seconds, and two streams of a container are stamped side by side
	window  = 5 * time.Second // of lines that are remembered; more than what the overlap can bring again
	silence = time.Minute     // after which a stream is opened anew: one that is dead says nothing either
	settled = time.Second     // an end of file that comes so soon after the opening is the end of the container
	missed  = 5               // a log that is not there so often in a row will not be there again
)

// opener opens a followed log from a time on, zero for its beginning.
type opener func(ctx context.Context, since time.Time) (io.ReadCloser, error)

// tail repeats the log of a container line by line, through lost connections, each line once.
type tail struct {
	open  opener
	line  func(text string)
	hear  func(error)                     // how the opening of streams goes
	pause func(attempt int) time.Duration // between them
	quiet time.Duration                   // 0 = silence

	last  time.Time      // of the newest line
	seen  map[string]int // lines of the last seconds, with their times
	fails int            // in a row
	gone  int            // of them, how often nobody had the log
}

// run returns once the container has ended and all that it said was repeated, when nobody has its log any more, or with
// ctx.
func (t *tail) run(ctx context.Context) {
	t.seen = map[string]int{}
	for ctx.Err() == nil {
		opened := time.Now()
		news, clean, err := t.once(ctx)
		if code(err) != http.StatusNotFound {
			t.gone = 0
		} else if t.gone++; t.gone >= missed {
			return
		}
		switch {
		case clean && !news && time.Since(opened) < settled:
			return
		case err != nil:
			t.fails++
		default:
			t.fails = 0
		}
		if clean {
			continue
		}
		select {
		case <-time.After(t.pause(t.fails)):
		case <-ctx.Done():
		}
	}
}

// once repeats what one stream brings that is new. clean says that it ended by itself.
func (t *tail) once(parent context.Context) (news, clean bool, err error) {
	ctx, cancel := context.WithCancel(parent)
	defer cancel()
	since := t.last
	if !since.IsZero() {
		since = since.Add(-overlap)
	}
	stream, err := t.open(ctx, since)
	if parent.Err() == nil {
		t.hear(err)
	}
	if err != nil {
		return false, false, err
	}
	defer stream.Close()
	quiet := t.quiet
	if quiet == 0 {
		quiet = silence
	}
	watchdog := time.AfterFunc(quiet, cancel)
	defer watchdog.Stop()
	known := t.remembered()
	in := bufio.NewReader(stream)
	for {
		text, err := bounded.ReadLine(in, longLine)
		watchdog.Reset(quiet)
		whole := err == nil || errors.Is(err, io.EOF) && text != ""
		if whole && t.take(strings.TrimRight(text, "\r\n"), since, known) {
			news = true
		}
		if err != nil {
			return news, errors.Is(err, io.EOF), nil
		}
	}
}

// remembered forgets what no stream can bring again, and returns how often each other line was seen.
func (t *tail) remembered() map[string]int {
	known := map[string]int{}
	for line, n := range t.seen {
		if at, _, ok := stamp(line); ok && at.Before(t.last.Add(-window)) {
			delete(t.seen, line)
			continue
		}
		known[line] = n
	}
	return known
}

// take repeats a line unless it was seen; known are those that an earlier stream brought.
func (t *tail) take(line string, since time.Time, known map[string]int) bool {
	at, text, ok := stamp(line)
	switch {
	case ok && at.Before(since):
		return false
	case known[line] > 0:
		known[line]--
		return false
	}
	t.seen[line]++
	if at.After(t.last) {
		t.last = at
	}
	t.line(text)
	return true
}

// stamp splits a line of a log into its time and its text.
func stamp(line string) (time.Time, string, bool) {
	head, text, ok := strings.Cut(line, " ")
	at, err := time.Parse(time.RFC3339Nano, head)
	if !ok || err != nil {
		return time.Time{}, line, false
	}
	return at, text, true
}
