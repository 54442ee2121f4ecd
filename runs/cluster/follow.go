package cluster

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"bflow.dev/bflow/internal/kube"
	"bflow.dev/bflow/pipelines/local"
	queuerun "bflow.dev/bflow/queue/run"
	"bflow.dev/bflow/report"
	"bflow.dev/bflow/runplan/contract"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
)

// Observer hears of runs that are followed. Its methods are called one at a time.
type Observer interface {
	Changed(s Status)                                      // something about a run is new
	Progress(run, task string, p report.Progress)          // a load-gen has said how far it is
	Trouble(err error)                                     // the cluster does not answer; nil: it does again
	StepStarted(run, task, taskRun, pod, container string) // a step runs: its log can be read
}

// ErrDeleted is a run that was deleted while it was followed.
var ErrDeleted = errors.New("the run was deleted")

// Follow tells o of runs until all of them have ended, and returns how, by run; they may lie in several namespaces.
// When ctx ends before, it returns what is known so far: the runs go on.
func (c *Cluster) Follow(ctx context.Context, runs []*Run, o Observer) (map[string]Status, error) {
	ctx, cancel := context.WithCancel(ctx)
	f := newFollower(c, runs, o)
	var watching sync.WaitGroup
	defer f.wait()
	defer watching.Wait()
	defer cancel() // before the waits
	failed := make(chan error, 2*len(f.views))
	for _, v := range f.views {
		watching.Go(func() { failed <- f.watchRuns(ctx, v) })
		watching.Go(func() { failed <- f.watchTasks(ctx, v) })
	}
	look := time.NewTicker(lookAgain)
	defer look.Stop()
	for {
		select {
		case tell := <-f.news:
			tell()
		case <-look.C:
			if !c.Modest {
				f.askKueue(ctx)
			}
		case err := <-failed:
			return f.latest, f.why(ctx, err)
		}
		if over, err := f.update(ctx); over || err != nil {
			return f.latest, err
		}
	}
}

// lookAgain is how often Kueue is asked for the place of a run that waits.
const lookAgain = 5 * time.Second

// send returns a function that hands over to c unless ctx ends.
func send[T any](ctx context.Context, c chan<- T) func(T) {
	return func(v T) {
		select {
		case c <- v:
		case <-ctx.Done():
		}
	}
}

// follower is what is known of runs that are followed. Only the loop of Follow touches it.
type follower struct {
	c     *Cluster
	o     Observer
	views []*view

	latest map[string]Status    // by run
	queues map[string]Queue     // what Kueue said of runs that wait
	words  map[string]string    // last words of failed TaskRuns
	ended  map[string]time.Time // when an attempt was first seen to have ended, by run and attempt
	silent map[string]bool      // the namespaces whose watch is interrupted
	tails  *tails

	news chan func() // what watches and logs tell, for the loop to carry out
}

// loadWord is a word of a load-gen about how far it is.
type loadWord struct {
	run, task string
	at        report.Progress
}

func newFollower(c *Cluster, runs []*Run, o Observer) *follower {
	return &follower{c: c, o: o, views: viewsOf(runs), latest: map[string]Status{}, queues: map[string]Queue{},
		words: map[string]string{}, ended: map[string]time.Time{}, silent: map[string]bool{}, tails: newTails(c),
		news: make(chan func())}
}

func (f *follower) wait() { f.tails.wait() }

func (f *follower) watchRuns(ctx context.Context, v *view) error {
	tell := send(ctx, f.news)
	return kube.Follow(ctx, f.c.api, pipelineRuns(v.namespace, ""), v.selected(),
		func(all []*tektonv1.PipelineRun) { tell(func() { v.runs(all) }) },
		func(err error) { tell(func() { f.trouble(v, err) }) })
}

func (f *follower) watchTasks(ctx context.Context, v *view) error {
	tell := send(ctx, f.news)
	return kube.Follow(ctx, f.c.api, taskRuns(v.namespace, ""), v.selected(),
		func(all []*tektonv1.TaskRun) { tell(func() { v.tasks(all) }) }, nil)
}

// trouble tells of an interruption once, however many namespaces are watched, and of its end when all answer again.
func (f *follower) trouble(v *view, err error) {
	before := len(f.silent)
	if err != nil {
		f.silent[v.namespace] = true
	} else {
		delete(f.silent, v.namespace)
	}
	if (before == 0) != (len(f.silent) == 0) {
		f.o.Trouble(err)
	}
}

// update works out every run anew and tells what has changed. It reports whether all have ended.
func (f *follower) update(ctx context.Context) (over bool, err error) {
	over = true
	for _, v := range f.views {
		viewOver, viewErr := f.updateView(ctx, v)
		over, err = over && viewOver, errors.Join(err, viewErr)
	}
	return over, err
}

func (f *follower) updateView(ctx context.Context, v *view) (over bool, err error) {
	if !v.listed.runs || !v.listed.tasks {
		return false, nil
	}
	over = true
	tasks := slices.Collect(maps.Values(v.taskRuns))
	current := map[string]*Run{}
	for _, r := range group(slices.Collect(maps.Values(v.attempts))) {
		current[r.ID] = &r
	}
	for _, id := range v.ids {
		run := current[id]
		if run == nil {
			if f.latest[id].Alive || f.latest[id].RunID == "" {
				err = errors.Join(err, fmt.Errorf("following %s: %w", id, ErrDeleted))
			}
			continue
		}
		if f.unsettled(v, run) {
			over = false
			continue
		}
		s := f.status(ctx, run, tasks)
		f.follow(ctx, v, &s)
		if old, known := f.latest[id]; !known || !same(&old, &s) {
			f.latest[id] = s
			f.o.Changed(s)
		}
		over = over && !s.Alive && !continues(run.Last())
	}
	return over, err
}

// nextTime is how long the next attempt of a run may take after its release.
const nextTime = time.Minute

// continues reports whether another attempt follows one that has ended.
func continues(pr *tektonv1.PipelineRun) bool {
	released := stamp(pr, contract.AnnotationReleased)
	return pr.IsDone() && queuerun.Again(pr) && (released.IsZero() || time.Since(released) < nextTime)
}

// settleTime is how long the last word of a task may come after that of its run: the two arrive on different ways.
const settleTime = 5 * time.Second

// unsettled reports whether a run has ended and a task of it has not, as far as is known: its news is on its way,
// unless somebody has deleted it.
func (f *follower) unsettled(v *view, run *Run) bool {
	pr := run.Last()
	if !pr.IsDone() {
		return false
	}
	attempt := run.ID + "/" + pr.Name
	if _, known := f.ended[attempt]; !known {
		f.ended[attempt] = time.Now()
	}
	missing := slices.ContainsFunc(pr.Status.ChildReferences, func(child tektonv1.ChildStatusReference) bool {
		tr, ok := v.taskRuns[child.Name]
		return !ok || !tr.IsDone()
	})
	return missing && time.Since(f.ended[attempt]) < settleTime
}

// status completes what the objects say by last words and by what Kueue said.
func (f *follower) status(ctx context.Context, run *Run, tasks []tektonv1.TaskRun) Status {
	s := StatusOf(run, tasks)
	s.Cluster = f.c.Name
	if q, ok := f.queues[run.ID]; ok && s.State == local.Pending && s.Queue != nil && !s.Queue.ByController {
		s.Queue.Position, s.Queue.Reason = q.Position, q.Reason
		s.Message = s.Queue.Sentence()
	}
	details{&s, f.c.api}.tasks(ctx, tasks, f.words)
	return s
}

// askKueue asks Kueue about runs that wait.
func (f *follower) askKueue(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	for _, v := range f.views {
		for _, pr := range v.attempts {
			f.whyWaiting(ctx, &pr)
		}
	}
}

func (f *follower) whyWaiting(ctx context.Context, pr *tektonv1.PipelineRun) {
	id := queuerun.ID(pr)
	s, ok := f.latest[id]
	if !ok || s.State != local.Pending || s.Queue == nil {
		return
	}
	q := *s.Queue
	s.Queue = &q
	details{&s, f.c.api}.whyWaiting(ctx, pr)
	f.queues[id] = q
	if old := f.latest[id]; !same(&old, &s) {
		f.latest[id] = s
		f.o.Changed(s)
	}
}

// same reports whether a person would see no difference.
func same(a, b *Status) bool {
	if a.State != b.State || a.Message != b.Message || a.Attempt != b.Attempt || len(a.Tasks) != len(b.Tasks) ||
		a.Phase != b.Phase {
		return false
	}
	for i := range a.Tasks {
		if a.Tasks[i].State != b.Tasks[i].State || a.Tasks[i].Message != b.Tasks[i].Message {
			return false
		}
	}
	return true
}

// follow reads the logs of steps that run.
func (f *follower) follow(ctx context.Context, v *view, s *Status) {
	tell := send(ctx, f.news)
	for _, t := range s.Tasks {
		if len(t.Runs) == 0 {
			continue
		}
		tr, ok := v.taskRuns[t.Runs[0].Name]
		if !ok || tr.Status.PodName == "" {
			continue
		}
		for _, st := range tr.Status.Steps {
			if st.Running == nil && st.Terminated == nil || !f.tails.first(&tr, st.Container) {
				continue
			}
			f.o.StepStarted(s.RunID, t.Name, tr.Name, tr.Status.PodName, st.Container)
			if strings.HasPrefix(t.Name, contract.LoadGen+"-") && st.Running != nil {
				of := kube.Log{Namespace: v.namespace, Pod: tr.Status.PodName, Container: st.Container,
					Follow: true, Last: 20}
				f.tails.load(ctx, of, loadWord{run: s.RunID, task: t.Name}, func(word loadWord) {
					tell(func() { f.o.Progress(word.run, word.task, word.at) })
				})
			}
		}
	}
}

// why prefers the reason of an interruption over the error that it caused.
func (f *follower) why(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}
