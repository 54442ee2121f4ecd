//go:build e2e

package cluster

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"

	"bflow.dev/bflow/e2e/cluster/soak"
	"bflow.dev/bflow/runplan/contract"
)

var flavors = schema.GroupVersionResource{Group: "kueue.x-k8s.io", Version: "v1beta2", Resource: "resourceflavors"}

// recorder tells a judge what the watches of two clusters tell, and keeps it in a file. Informers would not do: after a
// watch that broke they tell of what has come before what has gone.
type recorder struct {
	wrong   chan struct{} // closed when something must not be
	streams []*recorded
	w       *lab
	stop    context.CancelFunc
	going   sync.WaitGroup

	mu    sync.Mutex
	judge *soak.Judge
	file  *os.File
	log   *bufio.Writer
	ended bool
}

// record begins to watch.
func record(l, w *lab, seed uint64) *recorder {
	l.t.Helper()
	file, err := os.CreateTemp("", fmt.Sprintf("bflow-soak-%d-*.jsonl", seed))
	if err != nil {
		l.t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(l.t.Context()))
	r := &recorder{
		wrong: make(chan struct{}), w: w, stop: stop, judge: soak.New(map[string]int64{soak.Hub: 8, workerTarget: 8}),
		file: file, log: bufio.NewWriter(file),
	}
	for kind, gvr := range map[string]schema.GroupVersionResource{
		soak.PipelineRun: pipelineRuns, soak.TaskRun: taskRuns, soak.Workload: workloads, soak.Flavor: flavors,
		soak.Pod: pods, soak.Deployment: deployments,
	} {
		r.streams = append(r.streams, &recorded{
			lab: l, recorder: r, cluster: soak.Hub, kind: kind, gvr: gvr, known: map[string]soak.Event{},
		})
	}
	for kind, gvr := range map[string]schema.GroupVersionResource{soak.Pod: pods,
		soak.Deployment: deployments, soak.Job: jobs} {
		r.streams = append(r.streams, &recorded{
			lab: w, recorder: r, cluster: workerTarget, kind: kind, gvr: gvr, known: map[string]soak.Event{},
		})
	}
	for _, s := range r.streams {
		r.going.Go(func() { s.follow(ctx) })
	}
	return r
}

// tell hands events to the judge that were told at once.
func (r *recorder) tell(events ...soak.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := soak.Write(r.log, events...); err != nil {
		fmt.Fprintln(os.Stderr, "soak:", err)
	}
	r.judge.See(events...)
	if !r.ended && len(r.judge.Wrong()) > 0 {
		r.ended = true
		close(r.wrong)
		fmt.Fprintln(os.Stderr, "soak: WRONG:", strings.Join(r.judge.Wrong(), "\n"))
	}
	for _, o := range r.judge.Asks() {
		r.going.Go(func() { r.mark(o) })
	}
}

// mark tells of which revision of the worker something is known to be after the release of a run.
func (r *recorder) mark(o soak.Object) {
	for !r.isWrong() {
		list, err := r.w.api.Resource(pods).Namespace(contract.NamespaceSystem).
			List(context.WithoutCancel(r.w.t.Context()), metav1.ListOptions{Limit: 1})
		if err == nil {
			r.tell(soak.Event{
				At: time.Now(), Cluster: workerTarget, Verb: soak.Mark,
				Revision: soak.Revision(list.GetResourceVersion()), Object: soak.Object{UID: o.UID},
			})
			return
		}
		<-time.After(time.Second)
	}
}

func (r *recorder) isWrong() bool {
	select {
	case <-r.wrong:
		return true
	default:
		return false
	}
}

func (r *recorder) open() []soak.Object {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.judge.Open()
}

func (r *recorder) sentences() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.judge.Wrong()
}

func (r *recorder) print(w io.Writer, done map[soak.Act]int) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.judge.Print(w, done)
}

// end stops the watches, asks for all that there is once more, and has the judge answer what is open.
func (r *recorder) end(t *testing.T) {
	t.Helper()
	r.stop()
	r.going.Wait()
	ctx, cancel := afterwards()
	defer cancel()
	for _, s := range r.streams {
		for s.list(ctx) == "" {
			if ctx.Err() != nil {
				t.Errorf("%s of %s cannot be listed in the end", s.gvr.Resource, s.cluster)
				break
			}
			<-time.After(time.Second)
		}
	}
	r.going.Wait() // for the marks that the lists have asked for
	r.mu.Lock()
	defer r.mu.Unlock()
	r.judge.End()
}

// close keeps the log of a test that has failed, and says where it is.
func (r *recorder) close(t *testing.T) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.log.Flush(); err != nil {
		t.Error(err)
	}
	if err := r.file.Close(); err != nil {
		t.Error(err)
	}
	if t.Failed() {
		t.Logf("the events are in %s", r.file.Name())
		return
	}
	if err := os.Remove(r.file.Name()); err != nil {
		t.Error(err)
	}
}

// recorded is the watch of a kind.
type recorded struct {
	*lab
	recorder      *recorder
	cluster, kind string
	gvr           schema.GroupVersionResource
	known         map[string]soak.Event // by UID: what was told last
}

// follow tells of the kind until ctx is over.
func (s *recorded) follow(ctx context.Context) {
	for version := ""; ctx.Err() == nil; {
		if version == "" {
			version = s.list(ctx)
		} else {
			version = s.watchFrom(ctx, version)
		}
		select {
		case <-ctx.Done():
		case <-time.After(time.Second):
		}
	}
}

// list tells how what is there differs from what is known, and returns the version of that; "" where nobody answers.
// What went meanwhile may have gone at once after it was last told of.
func (s *recorded) list(ctx context.Context) (version string) {
	all, err := s.api.Resource(s.gvr).List(ctx, metav1.ListOptions{})
	if err != nil {
		return ""
	}
	now, gone := time.Now(), s.known
	s.known = map[string]soak.Event{}
	var told []soak.Event
	for _, u := range all.Items {
		if !s.ours(&u) {
			continue
		}
		e := soak.EventOf(now, s.cluster, soak.Seen, &u)
		if was, ok := gone[e.UID]; !ok || was.Revision != e.Revision {
			told = append(told, e)
		}
		s.known[e.UID] = e
		delete(gone, e.UID)
	}
	for _, e := range gone {
		e.At, e.Verb, e.Revision = now, soak.Gone, e.Revision+1
		told = append(told, e)
	}
	s.recorder.tell(append(told, s.upto(now, all.GetResourceVersion()))...)
	return all.GetResourceVersion()
}

func (s *recorded) upto(at time.Time, version string) soak.Event {
	return soak.Event{
		At: at, Cluster: s.cluster, Verb: soak.Upto, Revision: soak.Revision(version),
		Object: soak.Object{Kind: s.kind},
	}
}

// watchFrom tells what changes after a version, until the watch ends, and returns the last version; "" where the server
// does not know it any more.
func (s *recorded) watchFrom(ctx context.Context, version string) string {
	changes, err := s.api.Resource(s.gvr).Watch(ctx, metav1.ListOptions{
		ResourceVersion: version, AllowWatchBookmarks: true,
	})
	if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
		return ""
	}
	if err != nil {
		return version
	}
	defer changes.Stop()
	for change := range changes.ResultChan() {
		u, ok := change.Object.(*unstructured.Unstructured)
		if change.Type == watch.Error || !ok {
			return ""
		}
		version = u.GetResourceVersion()
		if change.Type == watch.Bookmark || !s.ours(u) {
			s.recorder.tell(s.upto(time.Now(), version))
			continue
		}
		verb := soak.Seen
		if change.Type == watch.Deleted {
			verb = soak.Gone
		}
		e := soak.EventOf(time.Now(), s.cluster, verb, u)
		s.known[e.UID] = e
		if verb == soak.Gone {
			delete(s.known, e.UID)
		}
		s.recorder.tell(e)
	}
	return version
}

// ours says whether an object is judged: what is in the namespaces of the soak or in none, and pods that ask for GPUs.
func (s *recorded) ours(u *unstructured.Unstructured) bool {
	in := u.GetNamespace()
	return in == "" || strings.HasPrefix(in, soakPrefix) || s.kind == soak.Pod && gpusOf(u) > 0
}
