package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
)

// Get reads one object.
func Get[T any](ctx context.Context, c *Client, at At) (*T, error) {
	var obj T
	if err := c.do(ctx, at, metadataOnly[T](at.on(c.rest.Get()), ""), &obj); err != nil {
		return nil, err
	}
	return &obj, nil
}

// List reads every object that sel selects.
func List[T any](ctx context.Context, c *Client, at At, sel Selector) ([]T, error) {
	all, _, err := listAll[T](ctx, c, at, sel)
	return all, err
}

// pageSize keeps a list of thousands of runs, each with its whole Pipeline in its status, in answers of some megabytes.
const pageSize = 200

// listAll also returns the version at which the objects were so. A list that the server forgets between two of its
// pages is read anew, at once.
func listAll[T any](ctx context.Context, c *Client, at At, sel Selector) ([]T, string, error) {
	var all []T
	limit, next := pageSize, ""
	for {
		r := metadataOnly[T](sel.on(at.on(c.rest.Get())), "List")
		if limit > 0 {
			r = r.Param("limit", strconv.Itoa(limit))
		}
		if next != "" {
			r = r.Param("continue", next)
		}
		var answer page[T]
		err := c.do(ctx, at, r, &answer)
		if apierrors.IsResourceExpired(err) && next != "" {
			all, limit, next = nil, 0, ""
			continue
		}
		if err != nil {
			return nil, "", err
		}
		all = append(all, answer.Items...)
		if next = answer.Metadata.Continue; next == "" {
			return all, answer.Metadata.ResourceVersion, nil
		}
	}
}

// page is a part of a list.
type page[T any] struct {
	Metadata metav1.ListMeta
	Items    []T
}

// UnmarshalJSON also reads objects of no Go type, whose kind a server leaves out where the list says it.
func (p *page[T]) UnmarshalJSON(text []byte) error {
	if items, ok := any(&p.Items).(*[]unstructured.Unstructured); ok {
		var list unstructured.UnstructuredList
		err := list.UnmarshalJSON(text)
		*items = list.Items
		p.Metadata = metav1.ListMeta{ResourceVersion: list.GetResourceVersion(), Continue: list.GetContinue()}
		return err
	}
	type plain page[T]
	return json.Unmarshal(text, (*plain)(p))
}

// metadataOnly asks for no more than the metadata of objects where T is that, and the server knows how.
func metadataOnly[T any](r *rest.Request, kind string) *rest.Request {
	if _, ok := any(new(T)).(*metav1.PartialObjectMetadata); !ok {
		return r
	}
	const accept = "application/json;as=PartialObjectMetadata%s;g=meta.k8s.io;v=v1, application/json"
	return r.SetHeader("Accept", fmt.Sprintf(accept, kind))
}
