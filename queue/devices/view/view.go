package view

import (
	"context"
	"fmt"
	"reflect"
	"sync"
	"time"

	"bflow.dev/bflow/queue/devices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// Target is a cluster whose devices are in sight. It is a Runnable of the manager.
type Target struct {
	Name string

	cache   cache.Cache
	probe   *probe
	dynamic bool // it serves dynamic resource allocation

	mu    sync.Mutex
	told  []chan event.GenericEvent
	ready chan struct{}
}

var (
	_ manager.Runnable               = (*Target)(nil)
	_ manager.LeaderElectionRunnable = (*Target)(nil)
)

// New returns a view of the cluster of cfg, which is asked once what it serves. Nothing is watched until Start.
func New(cfg *rest.Config, name string) (*Target, error) {
	t := &Target{Name: name, ready: make(chan struct{})}
	var err error
	if t.probe, err = newProbe(cfg, time.Now, t.tell); err != nil {
		return nil, fmt.Errorf("opening a view of target %q: %w", name, err)
	}
	http, err := rest.HTTPClientFor(cfg)
	if err != nil {
		return nil, fmt.Errorf("opening a view of target %q: %w", name, err)
	}
	mapper, err := apiutil.NewDynamicRESTMapper(cfg, http)
	if err != nil {
		return nil, fmt.Errorf("opening a view of target %q: %w", name, err)
	}
	if t.dynamic, err = serves(mapper, schema.GroupKind{Group: resourcev1.GroupName, Kind: "ResourceSlice"}, "v1"); err != nil {
		return nil, fmt.Errorf("asking target %q what it serves: %w", name, err)
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, resourcev1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	t.cache, err = cache.New(cfg, cache.Options{
		HTTPClient: http, Mapper: mapper, Scheme: scheme, DefaultTransform: cache.TransformStripManagedFields(), ReaderFailOnMissingInformer: true,
		ByObject: map[client.Object]cache.ByObject{
			&corev1.Node{}: {Transform: stripNode},
			&corev1.Pod{}:  {Transform: stripPod, Field: fields.ParseSelectorOrDie("status.phase!=Succeeded,status.phase!=Failed")},
		},
	})
	if err != nil {
		return nil, fmt.Errorf("opening a view of target %q: %w", name, err)
	}
	return t, t.watch()
}

func serves(mapper meta.RESTMapper, kind schema.GroupKind, version string) (bool, error) {
	_, err := mapper.RESTMapping(kind, version)
	if meta.IsNoMatchError(err) {
		return false, nil
	}
	return err == nil, err
}

func (t *Target) watched() []client.Object {
	objects := []client.Object{&corev1.Node{}, &corev1.Pod{}}
	if t.dynamic {
		objects = append(objects, &resourcev1.ResourceSlice{}, &resourcev1.ResourceClaim{})
	}
	return objects
}

func (t *Target) watch() error {
	handler := toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { t.tellIf(counts(obj)) },
		DeleteFunc: func(obj any) { t.tellIf(counts(obj)) },
		UpdateFunc: func(before, after any) { t.tellIf(changed(before, after)) },
	}
	for _, obj := range t.watched() {
		informer, err := t.cache.GetInformer(context.Background(), obj, cache.BlockUntilSynced(false))
		if err != nil {
			return fmt.Errorf("watching %T of target %q: %w", obj, t.Name, err)
		}
		if _, err := informer.AddEventHandler(handler); err != nil {
			return fmt.Errorf("watching %T of target %q: %w", obj, t.Name, err)
		}
	}
	return nil
}

// changed says whether an update is more than a new version number.
func changed(before, after any) bool {
	switch a := after.(type) {
	case *corev1.Node:
		b, ok := before.(*corev1.Node)
		return !ok || !reflect.DeepEqual(a.Labels, b.Labels) || !equality.Semantic.DeepEqual(a.Spec, b.Spec) || !equality.Semantic.DeepEqual(a.Status, b.Status)
	case *corev1.Pod:
		b, ok := before.(*corev1.Pod)
		return !ok || !equality.Semantic.DeepEqual(a.Spec, b.Spec) || !equality.Semantic.DeepEqual(a.Status, b.Status)
	default:
		return true
	}
}

// Start keeps the view up to date until ctx ends.
func (t *Target) Start(ctx context.Context) error {
	go t.probe.run(ctx)
	go func() {
		if t.cache.WaitForCacheSync(ctx) {
			close(t.ready)
			t.tell()
		}
	}()
	return t.cache.Start(ctx)
}

// NeedLeaderElection is false: who takes over sees at once.
func (t *Target) NeedLeaderElection() bool { return false }

// Changes returns a channel that gets an event after something that is counted has changed, or the API server went or
// came back. Events that nobody took yet are one.
func (t *Target) Changes() <-chan event.GenericEvent {
	t.mu.Lock()
	defer t.mu.Unlock()
	ch := make(chan event.GenericEvent, 1)
	t.told = append(t.told, ch)
	return ch
}

func (t *Target) tellIf(yes bool) {
	if yes {
		t.tell()
	}
}

func (t *Target) tell() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, ch := range t.told {
		select {
		case ch <- event.GenericEvent{Object: &corev1.Node{}}:
		default:
		}
	}
}

// Ready says whether the view was ever complete. Until then Inventory must not be believed.
func (t *Target) Ready() bool {
	select {
	case <-t.ready:
		return true
	default:
		return false
	}
}

// Reach says whether the API server of the target answers.
func (t *Target) Reach() Reach { return t.probe.now() }

// Inventory counts what the target has, and who holds it. A view that is not ready is an error.
func (t *Target) Inventory(ctx context.Context, owner devices.Owner) (*devices.Inventory, error) {
	if !t.Ready() {
		return nil, fmt.Errorf("counting the devices of target %q: its nodes and pods are not all known yet", t.Name)
	}
	var nodes corev1.NodeList
	var pods corev1.PodList
	var slices resourcev1.ResourceSliceList
	var claims resourcev1.ResourceClaimList
	lists := []client.ObjectList{&nodes, &pods}
	if t.dynamic {
		lists = append(lists, &slices, &claims)
	}
	for _, list := range lists {
		if err := t.cache.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
			return nil, fmt.Errorf("counting the devices of target %q: %w", t.Name, err)
		}
	}
	inv := devices.Of(nodes.Items, slices.Items)
	inv.Hold(pods.Items, claims.Items, owner)
	return inv, nil
}
