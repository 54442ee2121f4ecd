package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"sync"

	"bflow.dev/bflow/platform"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"
)

// This file handles objects of the kinds that platforms make. It knows them by the table of package platform alone.

// kinds are those of the objects of the run, in the order of removal.
func (c *Cluster) kinds() []platform.Kind {
	if c.Kinds != nil {
		return c.Kinds
	}
	return slices.DeleteFunc(platform.Kinds(), func(k platform.Kind) bool { return k.Maker != platform.ByPlatform })
}

// createObject makes an object of a platform.
func (c *Cluster) createObject(ctx context.Context, obj runtime.Object) error {
	kind := obj.GetObjectKind().GroupVersionKind().Kind
	k, ok := platform.FindKind(kind)
	if !ok {
		return fmt.Errorf("creating %q: kind %q is not in the table of kinds of package platform", nameOf(obj), kind)
	}
	body, err := json.Marshal(obj)
	if err != nil {
		return fmt.Errorf("encoding %s %q: %w", kind, nameOf(obj), err)
	}
	return c.createBy(ctx, plural(k.Resource), nameOf(obj), func() *rest.Request {
		return c.ofKind(k, c.core.Post()).SetHeader("Content-Type", runtime.ContentTypeJSON).Body(body)
	})
}

// ofKind makes a request one for objects of a kind in the namespace, whose name is checked: it is a part of the path.
func (c *Cluster) ofKind(k platform.Kind, request *rest.Request) *rest.Request {
	return request.AbsPath(k.APIPath()).Namespace(c.Namespace).Resource(k.Resource)
}

// removeKind deletes all objects of a kind that match selector. served is false where the cluster does not know the
// kind.
func (c *Cluster) removeKind(ctx context.Context, k platform.Kind, selector string) (served bool, err error) {
	found, _, err := c.listKind(ctx, k, selector)
	if apierrors.IsNotFound(err) {
		return false, nil
	}
	for _, obj := range found {
		if obj.GetDeletionTimestamp() == nil {
			err = errors.Join(err, c.removeBy(ctx, plural(k.Resource), obj.GetName(), func() *rest.Request {
				return c.ofKind(k, c.core.Delete()).Name(obj.GetName())
			}))
		}
	}
	return true, err
}

// sourceOf follows the objects of a kind that match selector.
func (c *Cluster) sourceOf(k platform.Kind, selector string) source[*unstructured.Unstructured] {
	return source[*unstructured.Unstructured]{
		list: func(ctx context.Context) ([]*unstructured.Unstructured, string, error) {
			return c.listKind(ctx, k, selector)
		},
		watch: func(ctx context.Context, version string) (watch.Interface, error) {
			return c.watchKind(ctx, k, selector, version)
		},
	}
}

// workloads are all objects of a kind that makes pods, at one time.
type workloads struct {
	kind string
	state[*unstructured.Unstructured]
}

// followKinds is follow for several kinds. It closes the channel when ctx ends.
func (c *Cluster) followKinds(ctx context.Context, kinds []platform.Kind, selector string) <-chan workloads {
	out := make(chan workloads)
	var following sync.WaitGroup
	for _, k := range kinds {
		following.Go(func() {
			for s := range followSource(ctx, c.sourceOf(k, selector), nil) {
				select {
				case out <- workloads{k.Kind, s}:
				case <-ctx.Done():
				}
			}
		})
	}
	go func() {
		defer close(out)
		following.Wait()
		<-ctx.Done()
	}()
	return out
}

// listKind returns the objects of a kind that match selector, and the version at which they were so.
func (c *Cluster) listKind(
	ctx context.Context, k platform.Kind, selector string,
) (found []*unstructured.Unstructured, version string, err error) {
	answer := c.ofKind(k, c.core.Get()).SetHeader("Accept", runtime.ContentTypeJSON).
		Param("labelSelector", selector).Do(ctx)
	err = answer.Error() // which says what the server says; that of Raw does not
	var text []byte
	if err == nil {
		text, err = answer.Raw()
	}
	list := map[string]any{}
	if err == nil {
		err = utiljson.Unmarshal(text, &list)
	}
	if err != nil {
		return nil, "", fmt.Errorf("listing %s of namespace %q: %w", k.Resource, c.Namespace, err)
	}
	items, _ := list["items"].([]any)
	for _, item := range items {
		if fields, ok := item.(map[string]any); ok {
			obj := &unstructured.Unstructured{Object: fields}
			obj.SetGroupVersionKind(k.GroupVersionKind) // a list does not repeat it
			found = append(found, obj)
		}
	}
	version, _, _ = unstructured.NestedString(list, "metadata", "resourceVersion")
	return found, version, nil
}

// watchKind is told of changes since a version.
func (c *Cluster) watchKind(ctx context.Context, k platform.Kind, selector, version string) (watch.Interface, error) {
	stream, err := watched(c.ofKind(k, c.core.Get()), selector, version).
		SetHeader("Accept", runtime.ContentTypeJSON).Stream(ctx)
	if err != nil {
		return nil, fmt.Errorf("watching %s of namespace %q: %w", k.Resource, c.Namespace, err)
	}
	report := apierrors.NewClientErrorReporter(http.StatusInternalServerError, http.MethodGet, "ClientWatchDecoding")
	return watch.NewStreamWatcher(&eventDecoder{stream: stream, json: json.NewDecoder(stream)}, report), nil
}

// eventDecoder reads the events of a watch, of objects of any kind.
type eventDecoder struct {
	stream io.ReadCloser
	json   *json.Decoder
}

// Decode reads the next event.
func (d *eventDecoder) Decode() (watch.EventType, runtime.Object, error) {
	var event struct {
		Type   watch.EventType
		Object json.RawMessage
	}
	if err := d.json.Decode(&event); err != nil {
		return "", nil, err
	}
	fields := map[string]any{}
	if err := utiljson.Unmarshal(event.Object, &fields); err != nil {
		return "", nil, err
	}
	return event.Type, &unstructured.Unstructured{Object: fields}, nil
}

// Close ends the watch.
func (d *eventDecoder) Close() { _ = d.stream.Close() } // nothing more is read
