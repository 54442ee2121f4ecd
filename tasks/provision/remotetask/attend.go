package remotetask

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"bflow.dev/bflow/results/transfer"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/tasks/provision/cluster"
	"bflow.dev/bflow/tasks/step"

	corev1 "k8s.io/api/core/v1"
)

// attendance is what goes on around a Job that was launched: its state is followed, it gets the files that it needs,
// its log and its small files are repeated here.
type attendance struct {
	l     *launcher
	ctx   context.Context
	doing sync.WaitGroup // all that goes on until ctx ends

	mu      sync.Mutex
	state   sight
	known   bool          // a state has come
	seen    string        // name of the pod, also when it is gone
	changed chan struct{} // closed with the next state

	sending context.CancelFunc // nil until files are sent
	sent    chan error
	logged  chan struct{} // closed when the log was repeated to its end; nil until it is followed
	looking context.CancelFunc
	looked  chan struct{}
	said    string

	outOfMemory bool // how the task was killed, where it was
}

// oomKilled is the reason of a container that has used more memory than it may.
const oomKilled = "OOMKilled"

// sight is one look at the Job.
type sight struct {
	cluster.JobState
	gone bool // it has no pod, and had one at an earlier look
}

// attend begins to follow the Job, until ctx ends; wait then returns.
func (l *launcher) attend(ctx context.Context) *attendance {
	a := &attendance{l: l, ctx: ctx, changed: make(chan struct{}), sent: make(chan error, 1)}
	l.attended = a
	states := l.c.FollowJob(a.ctx, l.work.Name, l.hear)
	a.doing.Go(func() {
		for s := range states {
			a.take(s)
		}
	})
	return a
}

// take makes s the latest state.
func (a *attendance) take(s cluster.JobState) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if s.Pod != nil {
		a.seen = s.Pod.Name
	}
	a.state, a.known = sight{s, s.Pod == nil && a.seen != ""}, true
	close(a.changed)
	a.changed = make(chan struct{})
}

// wait returns when nothing goes on any more, which is soon after the end of its context.
func (a *attendance) wait() { a.doing.Wait() }

// now is the latest state, and what is closed when there is a newer one.
func (a *attendance) now() (s sight, known bool, changed <-chan struct{}) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.state, a.known, a.changed
}

func (a *attendance) podName() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.seen
}

// untilEnd returns the exit code of the task once it has ended, an error where it cannot begin, and a lostError where
// nobody will learn how it ended.
func (a *attendance) untilEnd(ctx context.Context) (int, error) {
	start, trouble := time.Now(), &cluster.Trouble{}
	for {
		s, known, changed := a.now()
		wake := time.After(time.Minute)
		if known {
			a.advance(s.JobState)
			if end := ended(s.Pod, a.l.Task); end != nil {
				a.outOfMemory = end.Reason == oomKilled
				return int(end.ExitCode), nil
			}
			if lost := a.lost(s); lost != nil {
				return a.rescue(s.JobState, lost)
			}
			at, err := a.hopeless(s.JobState, trouble, start)
			if err != nil {
				return 0, err
			}
			if !at.IsZero() {
				wake = time.After(time.Until(at))
			}
		}
		if gone := a.l.overdue(); gone > 0 {
			return 0, &lostError{why: fmt.Sprintf("target %q has not answered for %s", a.l.target(), gone.Round(time.Second)),
				taken: true}
		}
		select {
		case <-changed:
		case <-wake:
		case err := <-a.sent:
			if err != nil {
				return 0, err
			}
		case <-ctx.Done():
			return 0, ctx.Err()
		}
	}
}

// lost says why the task will not come to an end whose results can be fetched, nil while it may.
func (a *attendance) lost(s sight) *lostError {
	if why := s.Lost(); why != "" {
		return &lostError{why: why, taken: !s.OutOfTime()}
	}
	if s.Pod == nil {
		if s.gone {
			return &lostError{why: "its pod is gone", taken: true}
		}
		return nil
	}
	if lost := death(s.JobState, a.l.Task); lost != nil {
		return lost
	}
	for _, name := range []string{cluster.ContainerReceive, cluster.ContainerFiles} {
		end := ended(s.Pod, name)
		if end != nil && (end.ExitCode != 0 || name == cluster.ContainerFiles) {
			return &lostError{why: fmt.Sprintf("its container %s ended with exit code %d %s", name, end.ExitCode, end.Reason)}
		}
	}
	return nil
}

// advance does what the state of the pod allows for the first time.
func (a *attendance) advance(s cluster.JobState) {
	if !begun(s.Pod, a.l.Task) {
		text := "no pod yet"
		if s.Pod != nil {
			text = "pod " + s.Pod.Name + ": " + cluster.Phase(s.Pod)
		}
		if text != a.said {
			a.said = text
			a.l.tell("%s", text)
		}
	}
	if begun(s.Pod, cluster.ContainerReceive) && a.sending == nil && !begun(s.Pod, a.l.Task) {
		ctx, cancel := context.WithCancel(a.ctx)
		a.sending = cancel
		a.doing.Go(func() { a.sent <- a.l.sendAll(ctx, s.Pod.Name) })
	}
	if !begun(s.Pod, a.l.Task) {
		return
	}
	if a.sending != nil {
		a.sending() // the task would not run without its files: the answer to the last request was lost
	}
	if a.logged == nil {
		a.follow(s.Pod)
	}
}

// follow begins to repeat the log and the small files.
func (a *attendance) follow(pod *corev1.Pod) {
	l := a.l
	a.logged, a.looked = make(chan struct{}), make(chan struct{})
	log := &tail{hear: l.hear, pause: l.wait, line: func(text string) { fmt.Fprintln(l.Err, text) },
		open: func(ctx context.Context, since time.Time) (io.ReadCloser, error) {
			return l.c.FollowLog(ctx, pod.Name, l.Task, since)
		}}
	a.doing.Go(func() {
		defer close(a.logged)
		log.run(a.ctx)
	})
	f := &live{from: l.c.FilesOf(pod.Name, l.token), runDir: l.RunDir, events: &l.news}
	if l.Task == contract.LoadGen {
		f.small = followed(l.measurement())
		noteNode(l.RunDir, pod.Spec.NodeName)
	}
	ctx, cancel := context.WithCancel(a.ctx)
	a.looking = cancel
	a.doing.Go(func() {
		defer close(a.looked)
		f.follow(ctx, l.every)
	})
}

// stopLooking ends the following of small files: what is fetched next is final.
func (a *attendance) stopLooking() {
	if a.looking != nil {
		a.looking()
		<-a.looked
	}
}

// awaitLog waits until the log was repeated to its end, for at most so long.
func (a *attendance) awaitLog(limit time.Duration) {
	if a.logged == nil {
		return
	}
	select {
	case <-a.logged:
	case <-time.After(limit):
	}
}

// hopeless returns an error where the task has not begun and waiting longer makes no sense, else when to look again.
func (a *attendance) hopeless(s cluster.JobState, trouble *cluster.Trouble, start time.Time) (time.Time, error) {
	if begun(s.Pod, a.l.Task) {
		return time.Time{}, nil
	}
	now, end := time.Now(), start.Add(startTime)
	if s.Pod != nil {
		why, at := trouble.Look(now, s.Pod)
		if why != "" {
			return time.Time{}, fmt.Errorf("starting %s on target %q: %s", a.l.Task, a.l.target(), why)
		}
		if !at.IsZero() && at.Before(end) {
			end = at
		}
	}
	if now.Before(start.Add(startTime)) {
		return end, nil
	}
	if a.l.out() || a.sending != nil {
		return now.Add(time.Minute), nil
	}
	why := "no pod was created"
	if s.Pod != nil {
		why = "pod " + s.Pod.Name + ": " + cluster.Phase(s.Pod)
	} else if text := a.l.c.WhyNoPod(a.ctx, a.l.work.Name); text != "" {
		why = text
	}
	return time.Time{}, fmt.Errorf("starting %s on target %q: not running after %s: %s", a.l.Task, a.l.target(), startTime,
		why)
}

// rescue takes what a pod that is being deleted has still to give: its task was told to end, and its results server
// waits a little.
func (a *attendance) rescue(s cluster.JobState, lost *lostError) (int, error) {
	if s.Pod == nil || s.Pod.DeletionTimestamp == nil || !begun(s.Pod, a.l.Task) {
		return 0, lost
	}
	a.awaitLog(lastWords)
	a.stopLooking()
	ctx, cancel := context.WithTimeout(a.ctx, rescue)
	defer cancel()
	if err := a.l.fetch(ctx, transfer.Tries(20, a.l.wait)); err != nil {
		a.l.tell("%v", err)
		return 0, lost
	}
	if a.l.Task == contract.LoadGen && complete(a.l.RunDir, &a.l.Options) {
		a.l.tell("%s, but its results are complete", lost.why)
		return 0, errComplete
	}
	return 0, lost
}

// errComplete means that everything is here already.
var errComplete = errors.New("the results are complete")

// whenLost calls tell once the pod can serve no more files; the function that it returns ends the watch.
func (a *attendance) whenLost(tell func(*lostError)) (stop func()) {
	ctx, cancel := context.WithCancel(a.ctx)
	var watching sync.WaitGroup
	watching.Go(func() {
		for {
			s, _, changed := a.now()
			if lost := a.lost(s); lost != nil && (s.Pod == nil || s.Pod.DeletionTimestamp == nil) {
				tell(&lostError{why: lost.why + " before its results were fetched", taken: lost.taken})
				return
			}
			select {
			case <-changed:
			case <-ctx.Done():
				return
			}
		}
	})
	return func() {
		cancel()
		watching.Wait()
	}
}

// sendAll gives the task the files that it needs, and says that they are all.
func (l *launcher) sendAll(ctx context.Context, pod string) error {
	to := l.c.FilesOf(pod, l.token)
	err := l.again(ctx, func() error {
		asking, cancel := context.WithTimeout(ctx, 10*time.Second)
		defer cancel()
		if err := to.Healthy(asking); err != nil { // also "address not allowed", of a pod that has none yet
			return errors.New(err.Error())
		}
		return nil
	})
	if err == nil {
		err = transfer.Send(ctx, to, l.RunDir, l.send, transfer.Options{Again: l.again})
	}
	if err == nil {
		err = l.again(ctx, func() error {
			asking, cancel := context.WithTimeout(ctx, 10*time.Second)
			defer cancel()
			return to.End(asking)
		})
	}
	if err != nil && ctx.Err() == nil {
		return fmt.Errorf("sending the inputs of %s to target %q: %w", l.Task, l.target(), err)
	}
	return nil
}

// errMoved means that the step goes on in another pod.
var errMoved = errors.New("interrupted")

// interrupted is what follows a signal. A step that is only moved leaves its Job to the next launcher. Else the task is
// told to end, what it has made until then is fetched, and nothing of it is left. a is nil where nothing was launched
// for sure.
func (l *launcher) interrupted(parent context.Context, a *attendance) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(parent), cancelled)
	defer cancel()
	asking, enough := context.WithTimeout(ctx, 5*time.Second)
	goesOn, err := l.goOn(asking)
	enough()
	if err == nil && goesOn {
		return step.Exit(contract.ExitInterrupted, fmt.Errorf("%w; job %s continues and waits for its next launcher",
			errMoved, l.work.Name))
	}
	if err := l.again(ctx, func() error { return l.c.Delete(ctx, l.work.Name) }); err != nil {
		return step.Exit(contract.ExitInterrupted, fmt.Errorf("interrupted; the end of the run removes job %s: %w",
			l.work.Name, err))
	}
	if a != nil && a.logged != nil {
		a.awaitLog(lastWords)
		a.stopLooking()
		fetching, done := context.WithTimeout(ctx, cancelled-lastWords-5*time.Second)
		if err := l.fetch(fetching, transfer.Tries(10, l.wait)); err != nil {
			l.tell("%v", err)
			if l.Task == contract.LoadGen {
				err = markLost(l.RunDir, &l.Options, l.endpoint(),
					&lostError{why: "it was interrupted, and its measurements are lost"}, time.Now())
			}
			if err != nil {
				l.tell("%v", err)
			}
		}
		done()
	}
	l.end(ctx)
	if err := l.drop(ctx); err != nil {
		l.tell("%v; the end of the run removes it", err)
	}
	return step.Exit(contract.ExitInterrupted, errors.New("interrupted; what was measured until then is written"))
}
