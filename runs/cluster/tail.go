package cluster

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"bflow.dev/bflow/internal/bounded"
	"bflow.dev/bflow/pipelines/local"
	"bflow.dev/bflow/report"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// tails read the logs of steps while they run, each once.
type tails struct {
	c       *Cluster
	read    map[string]bool // TaskRun and container
	running sync.WaitGroup
}

func newTails(c *Cluster) *tails { return &tails{c: c, read: map[string]bool{}} }

func (t *tails) wait() { t.running.Wait() }

// first reports whether a step is met for the first time.
func (t *tails) first(tr *tektonv1.TaskRun, container string) bool {
	key := tr.Namespace + "/" + tr.Name + "/" + container
	if t.read[key] {
		return false
	}
	t.read[key] = true
	return true
}

// load tells what a load-gen says of its progress until its log ends.
func (t *tails) load(ctx context.Context, of LogOf, as loadWord, tell func(loadWord)) {
	t.running.Go(func() {
		err := t.c.Log(ctx, of, func(line string) error {
			if p, ok := report.ParseProgress(line); ok {
				as.at = p
				tell(as)
			}
			return nil
		})
		_ = err // bars are a comfort: the run is followed without them
	})
}

// LogOf names the log of one container.
type LogOf struct {
	Namespace, Pod, Container string
	Follow                    bool
	Last                      int // lines from its end; 0 = all of it
}

// Log tells each line of a log. A followed log goes on over interruptions of the API server; it ends with its
// container.
func (c *Cluster) Log(ctx context.Context, of LogOf, line func(string) error) error {
	params := url.Values{"container": {of.Container}, "timestamps": {"true"}}
	if of.Follow {
		params.Set("follow", "true")
	}
	if of.Last > 0 {
		params.Set("tailLines", strconv.Itoa(of.Last))
	}
	at := pods(of.Namespace, of.Pod)
	at.sub = "log"
	last := ""
	for {
		body, err := c.stream(ctx, at, params)
		if err == nil {
			last, err = lines(body, last, line)
			body.Close()
		}
		var unreached *Unreachable
		if !of.Follow || !errors.As(err, &unreached) && !errors.Is(err, io.ErrUnexpectedEOF) {
			return err
		}
		if last != "" {
			params.Del("tailLines")
			params.Set("sinceTime", strings.SplitN(last, " ", 2)[0])
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
}

// longLine is the longest line of a log that is told whole.
const longLine = 1 << 20

// lines tells what comes after the line last, without the time before each, and returns the last line with its time.
func lines(body io.Reader, last string, line func(string) error) (string, error) {
	in := bufio.NewReaderSize(body, 64<<10)
	for {
		text, err := bounded.ReadLine(in, longLine)
		if text = strings.TrimRight(text, "\r\n"); text != "" && later(text, last) {
			last = text
			_, words, _ := strings.Cut(text, " ")
			if err := line(words); err != nil {
				return last, err
			}
		}
		if errors.Is(err, io.EOF) {
			return last, nil
		}
		if err != nil {
			return last, err
		}
	}
}

// later compares the times before two lines; the server writes them in equal length but for trailing zeros.
func later(text, last string) bool {
	if last == "" {
		return true
	}
	a, errA := time.Parse(time.RFC3339Nano, strings.SplitN(text, " ", 2)[0])
	b, errB := time.Parse(time.RFC3339Nano, strings.SplitN(last, " ", 2)[0])
	return errA != nil || errB != nil || a.After(b)
}

// lastWords completes the messages of failed tasks by what their step said last, which Tekton does not keep. known
// holds what has been looked up before, by TaskRun.
func (c *Cluster) lastWords(ctx context.Context, s *Status, runs []tektonv1.TaskRun, known map[string]string) {
	for i := range s.Tasks {
		t := &s.Tasks[i]
		if t.State != local.Failed || t.ExitCode == 0 || len(t.Runs) == 0 || !strings.HasSuffix(t.Message, vague) {
			continue
		}
		for _, tr := range runs {
			if tr.Name != t.Runs[0].Name {
				continue
			}
			key := tr.Namespace + "/" + tr.Name
			word, ok := known[key]
			if !ok {
				var err error
				if word, err = c.lastWord(ctx, &tr); err != nil {
					t.Message += fmt.Sprintf("; its log could not be read (%v): see bflow logs %s", err, s.RunID)
					continue
				}
				known[key] = word
			}
			if word != "" {
				t.Message = stepMessage(&tr, word)
			}
		}
	}
	if s.State == local.Failed {
		for _, t := range s.Tasks {
			if t.State == local.Failed || t.State == local.TimedOut {
				s.Message = fmt.Sprintf("task %q: %s", t.Name, t.Message)
				return
			}
		}
	}
}

// vague is all that Tekton says of a step that ended with an exit code.
const vague = ": Error"

// wordTime is how long the last line of a step is asked for: the node of a busy cluster answers late, or only the next
// time.
const wordTime = 20 * time.Second

// lastWord is the last line of the first step that failed, "" where it is gone or not for whoever asks.
func (c *Cluster) lastWord(ctx context.Context, tr *tektonv1.TaskRun) (string, error) {
	failed := failedStep(tr)
	if failed == nil {
		return "", nil
	}
	ctx, cancel := context.WithTimeout(ctx, wordTime)
	defer cancel()
	of := LogOf{Namespace: tr.Namespace, Pod: tr.Status.PodName, Container: failed.Container, Last: 5}
	for {
		var last string
		err := c.Log(ctx, of, func(line string) error {
			if strings.TrimSpace(line) != "" {
				last = line
			}
			return nil
		})
		switch {
		case err == nil:
			const longest = 400
			return strings.ToValidUTF8(strings.TrimSpace(last[:min(len(last), longest)]), ""), nil
		case apierrors.IsNotFound(err), apierrors.IsForbidden(err), apierrors.IsBadRequest(err):
			return "", nil
		}
		select {
		case <-ctx.Done():
			return "", err
		case <-time.After(pause):
		}
	}
}
