package cluster

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"bflow.dev/bflow/internal/kube"
	"bflow.dev/bflow/pipelines/local"
	"bflow.dev/bflow/report"

	"github.com/tektoncd/pipeline/pkg/apis/pipeline"
	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// Status asks for everything a person may want to know about a run.
func (c *Cluster) Status(ctx context.Context, run *Run) (Status, error) {
	tasks, err := c.taskRuns(ctx, run)
	if err != nil {
		return Status{}, err
	}
	s := StatusOf(run, tasks)
	s.Cluster = c.Name
	more := details{&s, c.api}
	more.whyWaiting(ctx, run.Last())
	more.neighbours(ctx)
	more.tasks(ctx, tasks, map[string]string{})
	if s.Alive {
		s.Engine, _ = c.Engine(ctx, run) // who may not see pods still learns the rest
	}
	return s, nil
}

func (c *Cluster) taskRuns(ctx context.Context, run *Run) ([]tektonv1.TaskRun, error) {
	all, err := kube.List[tektonv1.TaskRun](ctx, c.api, taskRuns(run.Namespace, ""),
		kube.Labels(pipeline.PipelineRunLabelKey+"="+run.Last().Name))
	return all, wrap("listing the tasks of run "+run.ID, err)
}

// Line takes a line of the log of source: a task, or a pod of the server under test.
type Line func(source, text string) error

// Logs tells what the steps of the tasks of a run have written, in the order of the tasks; of one task where only names
// it. gone hears of tasks whose log is there no more.
func (c *Cluster) Logs(ctx context.Context, run *Run, only string, line Line, gone func(task string)) error {
	tasks, err := c.taskRuns(ctx, run)
	if err != nil {
		return err
	}
	s := StatusOf(run, tasks)
	if err := knows(&s, only); err != nil {
		return err
	}
	byName := map[string]*tektonv1.TaskRun{}
	for i := range tasks {
		byName[tasks[i].Name] = &tasks[i]
	}
	for _, t := range s.Tasks {
		if only != "" && t.Name != only || len(t.Runs) == 0 {
			continue
		}
		if err := c.taskLog(ctx, byName[t.Runs[0].Name],
			func(text string) error { return line(t.Name, text) }); apierrors.IsNotFound(err) {
			gone(t.Name)
		} else if err != nil {
			return fmt.Errorf("reading the log of task %s: %w", t.Name, err)
		}
	}
	return nil
}

// NoTaskError is a task that a run does not have.
type NoTaskError struct {
	Run, Task string
	Has       []string
}

func (e *NoTaskError) Error() string {
	if len(e.Has) == 0 {
		return fmt.Sprintf("reading logs of %s: it has not started", e.Run)
	}
	return fmt.Sprintf("reading logs of %s: no task %q; it has %s", e.Run, e.Task, strings.Join(e.Has, ", "))
}

// knows refuses a task that the run does not have.
func knows(s *Status, task string) error {
	var has []string
	for _, t := range s.Tasks {
		if t.Name == task {
			return nil
		}
		has = append(has, t.Name)
	}
	if task == "" {
		return nil
	}
	return &NoTaskError{Run: s.RunID, Task: task, Has: has}
}

func (c *Cluster) taskLog(ctx context.Context, tr *tektonv1.TaskRun, line func(string) error) error {
	for _, st := range tr.Status.Steps {
		if st.Running == nil && st.Terminated == nil {
			continue
		}
		of := kube.Log{Namespace: tr.Namespace, Pod: tr.Status.PodName, Container: st.Container}
		if err := c.api.ReadLog(ctx, of, line); err != nil {
			return err
		}
	}
	return nil
}

// EngineLogs tells what the pods of the server under test write; with follow until they are gone.
func (c *Cluster) EngineLogs(ctx context.Context, run *Run, follow bool, line Line) error {
	engine, err := c.enginePods(ctx, run)
	if err != nil {
		return err
	}
	if len(engine) == 0 {
		return fmt.Errorf("reading logs of the server under test of %s: %w", run.ID, ErrNoEngine)
	}
	var mu sync.Mutex
	var all sync.WaitGroup
	errs := make(chan error, 100)
	for _, pod := range engine {
		for _, container := range pod.containers {
			source := pod.Name
			if len(pod.containers) > 1 {
				source += "/" + container
			}
			read := func() error {
				of := kube.Log{Namespace: run.Namespace, Pod: pod.Name, Container: container, Follow: follow}
				return c.api.ReadLog(ctx, of, func(text string) error {
					mu.Lock()
					defer mu.Unlock()
					return line(source, text)
				})
			}
			if !follow {
				if err := read(); err != nil {
					return fmt.Errorf("reading the log of %s: %w", source, err)
				}
				continue
			}
			all.Go(func() {
				if err := read(); err != nil {
					select {
					case errs <- fmt.Errorf("reading the log of %s: %w", source, err):
					default:
					}
				}
			})
		}
	}
	all.Wait()
	close(errs)
	return <-errs
}

// ErrNoEngine is a run without pods of the server under test.
var ErrNoEngine = errors.New("it has no pods")

// FollowLogs tells what the tasks of a run write until it ends, and returns how it ended.
func (c *Cluster) FollowLogs(ctx context.Context, run *Run, only string, line Line,
	trouble func(error)) (Status, error) {
	r := &logReader{c: c, ctx: ctx, namespace: run.Namespace, only: only, line: line, trouble: trouble}
	all, err := c.Follow(ctx, []*Run{run}, r)
	r.running.Wait()
	return all[run.ID], errors.Join(err, r.err)
}

// logReader reads every step as it starts.
type logReader struct {
	c         *Cluster
	ctx       context.Context
	namespace string
	only      string
	line      Line
	trouble   func(error)

	running sync.WaitGroup
	mu      sync.Mutex
	err     error
	said    string
}

var _ Observer = (*logReader)(nil)

// Changed says why nothing is written yet.
func (r *logReader) Changed(s Status) {
	if s.State != local.Pending && s.State != local.Running || s.Message == r.said || s.Message == "" {
		return
	}
	r.said = s.Message
	r.tell(s.RunID, s.Message)
}

// Progress is written in the log itself.
func (r *logReader) Progress(string, string, report.Progress) {}

// Trouble hands the news on.
func (r *logReader) Trouble(err error) { r.trouble(err) }

// StepStarted reads the log of a step to its end.
func (r *logReader) StepStarted(_, task, _, pod, container string) {
	if r.only != "" && task != r.only {
		return
	}
	r.running.Go(func() {
		of := kube.Log{Namespace: r.namespace, Pod: pod, Container: container, Follow: true}
		err := r.c.api.ReadLog(r.ctx, of, func(text string) error {
			r.tell(task, text)
			return nil
		})
		if err != nil && !apierrors.IsNotFound(err) && !errors.Is(err, context.Canceled) {
			r.tell(task, "its log cannot be read: "+err.Error())
		}
	})
}

func (r *logReader) tell(source, text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.line(source, text); err != nil && r.err == nil {
		r.err = err
	}
}
