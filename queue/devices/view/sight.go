package view

import (
	"context"
	"fmt"
	"reflect"
	"time"

	"bflow.dev/bflow/queue/devices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// discoveryTimeout is how long a question what the cluster serves may take.
const discoveryTimeout = 15 * time.Second

// sight is what is watched of a cluster that was reachable once.
type sight struct {
	cache   cache.Cache
	beside  cache.Cache // of what is no device: who may not see that still sees devices
	dynamic bool        // it serves dynamic resource allocation
	ready   chan struct{}
}

// openSight asks the cluster of cfg what it serves and says what to watch; nothing is watched until the cache starts.
func openSight(cfg *rest.Config, tell func(), nodes labels.Selector, also []watched) (*sight, error) {
	asks := rest.CopyConfig(cfg)
	asks.Timeout = discoveryTimeout
	asked, err := rest.HTTPClientFor(asks)
	if err != nil {
		return nil, err
	}
	mapper, err := apiutil.NewDynamicRESTMapper(asks, asked)
	if err != nil {
		return nil, err
	}
	s := &sight{ready: make(chan struct{})}
	if s.dynamic, err = serves(mapper, schema.GroupKind{Group: resourcev1.GroupName, Kind: "ResourceSlice"},
		"v1"); err != nil {
		return nil, fmt.Errorf("asking what it serves: %w", err)
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{corev1.AddToScheme, resourcev1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	options := cache.Options{
		Mapper: mapper, Scheme: scheme, DefaultTransform: cache.TransformStripManagedFields(),
		ReaderFailOnMissingInformer: true,
		ByObject: map[client.Object]cache.ByObject{
			&corev1.Node{}: {Transform: stripNode, Label: nodes},
			&corev1.Pod{}: {Transform: stripPod, Field: fields.ParseSelectorOrDie(
				"status.phase!=Succeeded,status.phase!=Failed")},
		},
	}
	if s.cache, err = cache.New(cfg, options); err != nil {
		return nil, err
	}
	options.ByObject = map[client.Object]cache.ByObject{}
	for _, w := range also {
		options.ByObject[w.kind] = w.by
	}
	if s.beside, err = cache.New(cfg, options); err != nil {
		return nil, err
	}
	for _, w := range also {
		if err := addHandler(s.beside, w.kind, w.handler); err != nil {
			return nil, err
		}
	}
	return s, s.addHandlers(tell)
}

func serves(mapper meta.RESTMapper, kind schema.GroupKind, version string) (bool, error) {
	_, err := mapper.RESTMapping(kind, version)
	if meta.IsNoMatchError(err) {
		return false, nil
	}
	return err == nil, err
}

func (s *sight) kinds() []client.Object {
	objects := []client.Object{&corev1.Node{}, &corev1.Pod{}}
	if s.dynamic {
		objects = append(objects, &resourcev1.ResourceSlice{}, &resourcev1.ResourceClaim{})
	}
	return objects
}

func (s *sight) addHandlers(tell func()) error {
	tellIf := func(yes bool) {
		if yes {
			tell()
		}
	}
	handler := toolscache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { tellIf(counts(obj)) },
		DeleteFunc: func(obj any) { tellIf(counts(obj)) },
		UpdateFunc: func(before, after any) { tellIf(changed(before, after)) },
	}
	for _, obj := range s.kinds() {
		if err := addHandler(s.cache, obj, handler); err != nil {
			return err
		}
	}
	return nil
}

func addHandler(in cache.Cache, obj client.Object, handler toolscache.ResourceEventHandler) error {
	informer, err := in.GetInformer(context.Background(), obj, cache.BlockUntilSynced(false))
	if err != nil {
		return fmt.Errorf("watching %T: %w", obj, err)
	}
	if _, err := informer.AddEventHandler(handler); err != nil {
		return fmt.Errorf("watching %T: %w", obj, err)
	}
	return nil
}

// changed says whether an update is more than a new version number.
func changed(before, after any) bool {
	switch a := after.(type) {
	case *corev1.Node:
		b, ok := before.(*corev1.Node)
		return !ok || !reflect.DeepEqual(a.Labels, b.Labels) || !equality.Semantic.DeepEqual(a.Spec, b.Spec) ||
			!equality.Semantic.DeepEqual(a.Status, b.Status)
	case *corev1.Pod:
		b, ok := before.(*corev1.Pod)
		return !ok || !equality.Semantic.DeepEqual(a.Spec, b.Spec) || !equality.Semantic.DeepEqual(a.Status, b.Status)
	default:
		return true
	}
}

// complete says whether everything was read once. A nil sight is not.
func (s *sight) complete() bool {
	if s == nil {
		return false
	}
	select {
	case <-s.ready:
		return true
	default:
		return false
	}
}

func (s *sight) inventory(ctx context.Context, owner devices.Owner) (*devices.Inventory, error) {
	var nodes corev1.NodeList
	var pods corev1.PodList
	var slices resourcev1.ResourceSliceList
	var claims resourcev1.ResourceClaimList
	lists := []client.ObjectList{&nodes, &pods}
	if s.dynamic {
		lists = append(lists, &slices, &claims)
	}
	for _, list := range lists {
		if err := s.cache.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
			return nil, err
		}
	}
	inv := devices.Of(nodes.Items, slices.Items)
	inv.Hold(pods.Items, claims.Items, owner)
	return inv, nil
}
