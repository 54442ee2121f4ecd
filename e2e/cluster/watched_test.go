//go:build e2e

package cluster

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/dynamic/dynamicinformer"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
)

// site is a cluster that tests look at. What they wait for is watched, once for all of them.
type site struct {
	name       string // for E2E_FAULT_CMD
	kubeconfig string
	audit      string // path of its audit log, or ""
	api        dynamic.Interface
	watches    dynamicinformer.DynamicSharedInformerFactory

	mu     sync.Mutex
	begun  map[schema.GroupVersionResource]bool // watches
	change chan struct{}                        // closed at the next change of anything that is watched

	adding sync.Mutex // a target to this hub
}

// sites are the clusters of this process, by kubeconfig.
var sites = struct {
	sync.Mutex
	all map[string]*site
}{all: map[string]*site{}}

// siteOf is the cluster of a kubeconfig, for as long as the process lives.
func siteOf(t *testing.T, name, kubeconfig, audit string) *site {
	t.Helper()
	sites.Lock()
	defer sites.Unlock()
	if s := sites.all[kubeconfig]; s != nil {
		return s
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config.QPS, config.Burst = 200, 400
	api, err := dynamic.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	s := &site{name: name, kubeconfig: kubeconfig, audit: audit, api: api,
		watches: dynamicinformer.NewDynamicSharedInformerFactory(api, 0),
		begun:   map[schema.GroupVersionResource]bool{}, change: make(chan struct{})}
	sites.all[kubeconfig] = s
	return s
}

// quiet keeps what client-go says of watches that break out of the log: tests kill API servers.
func quiet() {
	flags := flag.NewFlagSet("klog", flag.PanicOnError)
	klog.InitFlags(flags)
	for name, value := range map[string]string{"logtostderr": "false", "stderrthreshold": "FATAL"} {
		if err := flags.Set(name, value); err != nil {
			fmt.Fprintln(os.Stderr, err)
		}
	}
	klog.SetOutput(io.Discard)
}

// watch is that of a kind, which begins when somebody first asks for it.
func (s *site) watch(kind schema.GroupVersionResource) cache.SharedIndexInformer {
	s.mu.Lock()
	defer s.mu.Unlock()
	informer := s.watches.ForResource(kind).Informer()
	if s.begun[kind] {
		return informer
	}
	s.begun[kind] = true
	changed := func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		close(s.change)
		s.change = make(chan struct{})
	}
	_ = informer.SetTransform(func(object any) (any, error) {
		if u, ok := object.(*unstructured.Unstructured); ok {
			u.SetManagedFields(nil)
		}
		return object, nil
	})
	_, _ = informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { changed() }, UpdateFunc: func(any, any) { changed() }, DeleteFunc: func(any) { changed() },
	})
	s.watches.Start(nil) // it ends with the process
	return informer
}

// changed is closed at the next change of anything that is watched.
func (s *site) changed() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.change
}

// cached lists what the watch of a kind knows; false while it has no answer yet.
func (s *site) cached(
	kind schema.GroupVersionResource, namespace, selector string,
) (found []unstructured.Unstructured, ok bool) {
	informer := s.watch(kind)
	chosen, err := labels.Parse(selector)
	if err != nil || !informer.HasSynced() {
		return nil, false
	}
	err = cache.ListAllByNamespace(informer.GetIndexer(), namespace, chosen, func(object any) {
		if u, is := object.(*unstructured.Unstructured); is {
			found = append(found, *u)
		}
	})
	return found, err == nil
}

// seenOne is an object that the watch of its kind knows, or nil.
func (s *site) seenOne(kind schema.GroupVersionResource, namespace, name string) *unstructured.Unstructured {
	informer := s.watch(kind)
	key := name
	if namespace != "" {
		key = namespace + "/" + name
	}
	object, ok, err := informer.GetIndexer().GetByKey(key)
	if err != nil || !ok || !informer.HasSynced() {
		return nil
	}
	u, _ := object.(*unstructured.Unstructured)
	return u
}

const (
	breath = 200 * time.Millisecond // between two looks, where changes come thick and fast
	doubt  = 5 * time.Second        // after which a look does without the watches, which may be broken
)

// await looks whenever something on the cluster has changed, until said is empty; what it said last fails the test
// after limit. A look reads what the watches know. The last one asks the API server itself: no watch may end a wait too
// early.
func (l *lab) await(limit time.Duration, what string, look func() (said string)) {
	l.t.Helper()
	l.awaitEvery(breath, limit, what, look)
}

// awaitAnswer is await for a look that runs a program or asks somebody outside of the cluster, of which no watch tells.
func (l *lab) awaitAnswer(limit time.Duration, what string, look func() (said string)) {
	l.t.Helper()
	l.awaitEvery(time.Second, limit, what, look)
}

func (l *lab) awaitEvery(pause, limit time.Duration, what string, look func() (said string)) {
	l.t.Helper()
	end, began := time.After(limit), time.Now()
	asked := time.Time{}
	for {
		changed := l.changed()
		said := ""
		if time.Since(asked) < doubt {
			said = l.fromWatches(look)
		}
		if said == "" {
			asked = time.Now()
			if said = look(); said == "" {
				if took := time.Since(began); took > doubt {
					l.t.Logf("waited %s for %s", took.Round(time.Second), what)
				}
				return
			}
		}
		again := time.After(doubt)
		if pause > breath {
			again = time.After(pause)
		}
		select {
		case <-end:
			l.t.Fatalf("waited %s for %s: %s", limit, what, said)
		case <-again:
		case <-changed:
			<-time.After(pause)
		}
	}
}

// fromWatches lets a look read what the watches know.
func (l *lab) fromWatches(look func() string) string {
	l.watched = true
	defer func() { l.watched = false }()
	return look()
}

// list returns the objects of a kind in the namespace of runs that carry the labels of selector.
func (l *lab) list(kind schema.GroupVersionResource, selector string) []unstructured.Unstructured {
	l.t.Helper()
	found, err := l.listIn(kind, namespace, selector)
	if err != nil {
		l.t.Fatal(err)
	}
	return found
}

// listIn is list in another namespace.
func (l *lab) listIn(
	kind schema.GroupVersionResource, namespace, selector string,
) ([]unstructured.Unstructured, error) {
	if l.watched {
		if found, ok := l.cached(kind, namespace, selector); ok {
			return found, nil
		}
	}
	found, err := l.api.Resource(kind).Namespace(namespace).List(context.WithoutCancel(l.t.Context()),
		metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return nil, err
	}
	return found.Items, nil
}

// get returns an object of a kind in the namespace of runs. What no watch knows is asked for.
func (l *lab) get(kind schema.GroupVersionResource, name string) (*unstructured.Unstructured, error) {
	return l.getIn(kind, namespace, name)
}

// getIn is get in a namespace; "" is none.
func (l *lab) getIn(kind schema.GroupVersionResource, namespace, name string) (*unstructured.Unstructured, error) {
	if l.watched {
		if u := l.seenOne(kind, namespace, name); u != nil {
			return u, nil
		}
	}
	return l.api.Resource(kind).Namespace(namespace).Get(context.WithoutCancel(l.t.Context()), name, metav1.GetOptions{})
}

// run returns a PipelineRun.
func (l *lab) run(name string) *unstructured.Unstructured {
	l.t.Helper()
	pr, err := l.get(pipelineRuns, name)
	if err != nil {
		l.t.Fatal(err)
	}
	return pr
}

// sampleGPUs follows all pods that have not ended until the returned function is called, which tells the most GPUs that
// they asked for at once, Pending ones included.
func (q quota) sampleGPUs() (most func() int64) {
	q.l.t.Helper()
	informer := q.l.watch(pods)
	if !cache.WaitForCacheSync(q.l.t.Context().Done(), informer.HasSynced) {
		q.l.t.Fatal("the watch of pods does not begin")
	}
	var mu sync.Mutex
	var sum, highest int64
	asked := map[any]int64{}
	note := func(object any, there bool) {
		if gone, ok := object.(cache.DeletedFinalStateUnknown); ok {
			object = gone.Obj
		}
		u, ok := object.(*unstructured.Unstructured)
		if !ok {
			return
		}
		n := int64(0)
		if there {
			n = gpusOf(u)
		}
		mu.Lock()
		defer mu.Unlock()
		sum += n - asked[u.GetUID()]
		asked[u.GetUID()] = n
		highest = max(highest, sum)
	}
	handle, err := informer.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(o any) { note(o, true) }, UpdateFunc: func(_, o any) { note(o, true) },
		DeleteFunc: func(o any) { note(o, false) },
	})
	if err != nil {
		q.l.t.Fatal(err)
	}
	end := sync.OnceFunc(func() { _ = informer.RemoveEventHandler(handle) })
	q.l.t.Cleanup(end)
	return func() int64 {
		end()
		mu.Lock()
		defer mu.Unlock()
		return highest
	}
}

// gpusOf is what a pod asks for, unless it has ended.
func gpusOf(u *unstructured.Unstructured) (sum int64) {
	p, err := pod(u)
	if err != nil || p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
		return 0
	}
	for _, c := range p.Spec.Containers {
		sum += c.Resources.Requests.Name(gpu, "").Value()
	}
	return sum
}
