package cluster

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"time"

	"bflow.dev/bflow/internal/kube"
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
func (t *tails) load(ctx context.Context, of kube.Log, as loadWord, tell func(loadWord)) {
	t.running.Go(func() {
		err := t.c.api.ReadLog(ctx, of, func(line string) error {
			if p, ok := report.ParseProgress(line); ok {
				as.at = p
				tell(as)
			}
			return nil
		})
		_ = err // bars are a comfort: the run is followed without them
	})
}

// lastWords completes the messages of failed tasks by what their step said last, which Tekton does not keep. known
// holds what has been looked up before, by TaskRun.
func (d details) lastWords(ctx context.Context, runs []tektonv1.TaskRun, known map[string]string) {
	for i := range d.Tasks {
		t := &d.Tasks[i]
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
				if word, err = d.lastWord(ctx, &tr); err != nil {
					t.Message += fmt.Sprintf("; its log could not be read (%v): see bflow logs %s", err, d.RunID)
					continue
				}
				known[key] = word
			}
			if word != "" {
				t.Message = stepMessage(&tr, word)
			}
		}
	}
	if d.State == local.Failed {
		for _, t := range d.Tasks {
			if t.State == local.Failed || t.State == local.TimedOut {
				d.Message = fmt.Sprintf("task %q: %s", t.Name, t.Message)
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
func (d details) lastWord(ctx context.Context, tr *tektonv1.TaskRun) (string, error) {
	failed := failedStep(tr)
	if failed == nil {
		return "", nil
	}
	ctx, cancel := context.WithTimeout(ctx, wordTime)
	defer cancel()
	of := kube.Log{Namespace: tr.Namespace, Pod: tr.Status.PodName, Container: failed.Container, Last: 5}
	var last string
	isGone := func(err error) bool {
		return apierrors.IsNotFound(err) || apierrors.IsForbidden(err) || apierrors.IsBadRequest(err)
	}
	err := kube.Retry(ctx, kube.Pause, func() error {
		last = ""
		return d.api.ReadLog(ctx, of, func(line string) error {
			if strings.TrimSpace(line) != "" {
				last = line
			}
			return nil
		})
	}, func(err error) bool { return !isGone(err) })
	switch {
	case err == nil:
		const longest = 400
		return strings.ToValidUTF8(strings.TrimSpace(last[:min(len(last), longest)]), ""), nil
	case isGone(err):
		return "", nil
	}
	return "", err
}
