package clusterrun

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"bflow.dev/bflow/pipelines/local"
	queuerun "bflow.dev/bflow/queue/run"
	"bflow.dev/bflow/tasks/contract"
	"bflow.dev/bflow/tasks/report"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
)

// Observer hears of runs that are followed. Its methods are called one at a time.
type Observer interface {
	Changed(s Status)                                  // something about a run is new
	Progress(run, task string, p report.Progress)      // a load-gen has said how far it is
	Trouble(err error)                                 // the cluster does not answer; nil: it does again
	Started(run, task, taskRun, pod, container string) // a step runs: its log can be read
}

// ErrDeleted is a run that was deleted while it was followed.
var ErrDeleted = errors.New("the run was deleted")

// Follow tells o of runs of one namespace until all of them have ended, and returns how, by run. When ctx ends before,
// it returns what is known so far: the runs go on.
func (c *Cluster) Follow(ctx context.Context, runs []*Run, o Observer) (map[string]Status, error) {
	ctx, cancel := context.WithCancel(ctx)
	f := newFollower(c, runs, o)
	var watching sync.WaitGroup
	defer f.wait()
	defer watching.Wait()
	defer cancel() // before the waits
	failed := make(chan error, 2)
	watching.Go(func() {
		failed <- keep(ctx, c, pipelineRuns(f.namespace, ""), f.selected(), send(ctx, f.runNews), send(ctx, f.trouble))
	})
	watching.Go(func() {
		failed <- keep(ctx, c, taskRuns(f.namespace, ""), f.selected(), send(ctx, f.taskNews), func(error) {})
	})
	look := time.NewTicker(lookAgain)
	defer look.Stop()
	for {
		select {
		case n := <-f.runNews:
			f.runs(n)
		case n := <-f.taskNews:
			f.tasks(n)
		case p := <-f.progress:
			o.Progress(p.run, p.task, p.at)
		case err := <-f.trouble:
			o.Trouble(err)
		case <-look.C:
			if !c.Modest {
				f.waiting(ctx)
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

// follower is what is known of runs that are followed.
type follower struct {
	c         *Cluster
	o         Observer
	namespace string
	ids       []string
	plans     []string // label values of their plans, each once
	listed    struct{ runs, tasks bool }

	attempts map[string]tektonv1.PipelineRun // by name
	taskRuns map[string]tektonv1.TaskRun     // by name
	latest   map[string]Status               // by run
	queues   map[string]Queue                // what Kueue said of runs that wait
	words    map[string]string               // last words of failed TaskRuns
	ended    map[string]time.Time            // when an attempt was first seen to have ended
	tails    *tails

	runNews  chan change[tektonv1.PipelineRun]
	taskNews chan change[tektonv1.TaskRun]
	trouble  chan error
	progress chan told
}

// told is a word of a load-gen about how far it is.
type told struct {
	run, task string
	at        report.Progress
}

func newFollower(c *Cluster, runs []*Run, o Observer) *follower {
	f := &follower{c: c, o: o, namespace: runs[0].Namespace,
		attempts: map[string]tektonv1.PipelineRun{}, taskRuns: map[string]tektonv1.TaskRun{}, latest: map[string]Status{},
		queues: map[string]Queue{}, words: map[string]string{}, ended: map[string]time.Time{},
		runNews: make(chan change[tektonv1.PipelineRun]), taskNews: make(chan change[tektonv1.TaskRun]),
		trouble: make(chan error), progress: make(chan told)}
	for _, r := range runs {
		f.ids = append(f.ids, r.ID)
		if plan := r.Last().Labels[contract.LabelPlanHash]; !slices.Contains(f.plans, plan) {
			f.plans = append(f.plans, plan)
		}
	}
	f.tails = newTails(c, f.namespace)
	return f
}

func (f *follower) wait() { f.tails.wait() }

// manyPlans is how many fit into the address of a watch; beyond it everything of bflow's is watched.
const manyPlans = 40

// selected selects the PipelineRuns, and the TaskRuns, which inherit the labels of theirs. All attempts of a run have its
// plan from the moment that they are made; the name of the run they get later, from the controller.
func (f *follower) selected() selector {
	if len(f.plans) > manyPlans {
		return selector{labels: ours}
	}
	return selector{labels: contract.LabelPlanHash + " in (" + strings.Join(f.plans, ",") + ")"}
}

func (f *follower) runs(n change[tektonv1.PipelineRun]) {
	if n.Reset {
		clear(f.attempts)
		f.listed.runs = true
	}
	for _, pr := range append(n.All, n.Object) {
		if pr.Name != "" && slices.Contains(f.ids, queuerun.ID(&pr)) {
			f.attempts[pr.Name] = pr
		}
	}
	if n.Deleted {
		delete(f.attempts, n.Object.Name)
	}
}

func (f *follower) tasks(n change[tektonv1.TaskRun]) {
	if n.Reset {
		clear(f.taskRuns)
		f.listed.tasks = true
	}
	for _, tr := range append(n.All, n.Object) {
		if tr.Name != "" {
			f.taskRuns[tr.Name] = tr
		}
	}
	if n.Deleted {
		delete(f.taskRuns, n.Object.Name)
	}
}

// update works out every run anew and tells what has changed. It reports whether all have ended.
func (f *follower) update(ctx context.Context) (over bool, err error) {
	if !f.listed.runs || !f.listed.tasks {
		return false, nil
	}
	over = true
	tasks := slices.Collect(maps.Values(f.taskRuns))
	current := map[string]*Run{}
	for _, r := range group(slices.Collect(maps.Values(f.attempts))) {
		current[r.ID] = &r
	}
	for _, id := range f.ids {
		run := current[id]
		if run == nil {
			if f.latest[id].Alive || f.latest[id].RunID == "" {
				err = errors.Join(err, fmt.Errorf("following %s: %w", id, ErrDeleted))
			}
			continue
		}
		if f.unsettled(run) {
			over = false
			continue
		}
		s := f.status(ctx, run, tasks)
		f.follow(ctx, &s)
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

// unsettled reports whether a run has ended and a task of it has not, as far as is known: its news is on its way, unless
// somebody has deleted it.
func (f *follower) unsettled(run *Run) bool {
	pr := run.Last()
	if !pr.IsDone() {
		return false
	}
	if _, known := f.ended[pr.Name]; !known {
		f.ended[pr.Name] = time.Now()
	}
	missing := slices.ContainsFunc(pr.Status.ChildReferences, func(child tektonv1.ChildStatusReference) bool {
		tr, ok := f.taskRuns[child.Name]
		return !ok || !tr.IsDone()
	})
	return missing && time.Since(f.ended[pr.Name]) < settleTime
}

// status completes what the objects say by last words and by what Kueue said.
func (f *follower) status(ctx context.Context, run *Run, tasks []tektonv1.TaskRun) Status {
	s := StatusOf(run, tasks)
	s.Cluster = f.c.Name
	if q, ok := f.queues[run.ID]; ok && s.State == local.Pending && s.Queue != nil && !s.Queue.Told {
		s.Queue.Position, s.Queue.Reason = q.Position, q.Reason
		s.Message = s.Queue.Sentence()
	}
	f.c.lastWords(ctx, &s, tasks, f.words)
	f.c.noNodes(ctx, &s, tasks)
	return s
}

// waiting asks Kueue about runs that wait.
func (f *follower) waiting(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for _, pr := range f.attempts {
		id := queuerun.ID(&pr)
		s, ok := f.latest[id]
		if !ok || s.State != local.Pending || s.Queue == nil {
			continue
		}
		q := *s.Queue
		s.Queue = &q
		f.c.WhyWaiting(ctx, &s, &pr)
		f.queues[id] = q
		if old := f.latest[id]; !same(&old, &s) {
			f.latest[id] = s
			f.o.Changed(s)
		}
	}
}

// same reports whether a person would see no difference.
func same(a, b *Status) bool {
	if a.State != b.State || a.Message != b.Message || a.Attempt != b.Attempt || len(a.Tasks) != len(b.Tasks) || a.Phase != b.Phase {
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
func (f *follower) follow(ctx context.Context, s *Status) {
	for _, t := range s.Tasks {
		if len(t.Runs) == 0 {
			continue
		}
		tr, ok := f.taskRuns[t.Runs[0].Name]
		if !ok || tr.Status.PodName == "" {
			continue
		}
		for _, st := range tr.Status.Steps {
			if st.Running == nil && st.Terminated == nil || !f.tails.first(tr.Name, st.Container) {
				continue
			}
			f.o.Started(s.RunID, t.Name, tr.Name, tr.Status.PodName, st.Container)
			if strings.HasPrefix(t.Name, contract.LoadGen+"-") && st.Running != nil {
				f.tails.load(ctx, tr.Status.PodName, st.Container, send(ctx, f.progress), told{run: s.RunID, task: t.Name})
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
