package kube

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
)

// Manager is how servers know what this program has written.
const Manager = "bflow"

// Write says how something is written.
type Write struct {
	Manager string // of the fields that are written; "" = Manager
	DryRun  bool   // the server checks and answers, and stores nothing
	Force   bool   // Apply takes fields that somebody else owns
}

// Create makes an object in a collection. The answer goes into into, which may be nil.
func (c *Client) Create(ctx context.Context, at At, obj, into any, w Write) error {
	return c.write(ctx, at, c.rest.Post().SetHeader("Content-Type", runtime.ContentTypeJSON), obj, into, w)
}

// Apply makes an object have the fields of obj, on the server's side: of those that it applied before, it gives up the
// others.
func (c *Client) Apply(ctx context.Context, at At, obj, into any, w Write) error {
	r := c.rest.Patch(types.ApplyPatchType)
	if w.Force {
		r = r.Param("force", "true")
	}
	return c.write(ctx, at, r, obj, into, w)
}

// Merge changes an object by a JSON merge patch.
func (c *Client) Merge(ctx context.Context, at At, change any, w Write) error {
	return c.write(ctx, at, c.rest.Patch(types.MergePatchType), change, nil, w)
}

func (c *Client) write(ctx context.Context, at At, r *rest.Request, obj, into any, w Write) error {
	text, err := json.Marshal(obj)
	if err != nil {
		return fmt.Errorf("encoding %s: %w", at.Resource, err)
	}
	if w.Manager == "" {
		w.Manager = Manager
	}
	if w.DryRun {
		r = r.Param("dryRun", metav1.DryRunAll)
	}
	return c.do(ctx, at, at.on(r).Param("fieldManager", w.Manager).Body(text), into)
}

// Deletion says what is deleted, and how.
type Deletion struct {
	UID   types.UID // of the object; "" = whichever has the name
	Force bool      // a pod ends at once
}

// Delete deletes an object, and then what it owns. It does not wait until the object is gone; was is false where there
// was none.
func (c *Client) Delete(ctx context.Context, at At, d Deletion) (was bool, err error) {
	background := metav1.DeletePropagationBackground
	o := metav1.DeleteOptions{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "DeleteOptions"},
		PropagationPolicy: &background}
	if d.UID != "" {
		o.Preconditions = metav1.NewUIDPreconditions(string(d.UID))
	}
	if d.Force {
		o.GracePeriodSeconds = new(int64)
	}
	text, err := json.Marshal(o)
	if err != nil {
		return false, fmt.Errorf("encoding the deletion of %s: %w", at.Resource, err)
	}
	err = c.do(ctx, at, at.on(c.rest.Delete()).SetHeader("Content-Type", runtime.ContentTypeJSON).Body(text), nil)
	if apierrors.IsNotFound(err) || d.UID != "" && apierrors.IsConflict(err) {
		return false, nil
	}
	return err == nil, err
}
