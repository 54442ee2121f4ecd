package cluster

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// change is news of a watch. All is set when it begins and after every interruption: what is not in it is gone.
type change[T any] struct {
	All     []T
	Reset   bool
	Object  T
	Deleted bool
}

// pause is between two tries to reach a server that does not answer.
const pause = time.Second

// keep tells news of what sel selects until ctx ends, across restarts of the API server: only a refusal ends it.
// trouble hears of every interruption, and nil when it is over.
func keep[T any](ctx context.Context, c *Cluster, p path, sel selector, news func(change[T]), trouble func(error)) error {
	broken := false
	for {
		err := once(ctx, c, p, sel, func(n change[T]) {
			if broken {
				broken = false
				trouble(nil)
			}
			news(n)
		})
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err == nil: // servers end a watch every few minutes
			continue
		case final(err):
			return err
		case !broken:
			broken = true
			trouble(err)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(pause):
		}
	}
}

// final reports whether it is of no use to try again.
func final(err error) bool {
	var missing *MissingError
	return errors.As(err, &missing) || apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) || apierrors.IsBadRequest(err)
}

// once lists, then watches until the server closes the answer.
func once[T any](ctx context.Context, c *Cluster, p path, sel selector, news func(change[T])) error {
	all, version, err := list[T](ctx, c, p, sel)
	if err != nil {
		return err
	}
	news(change[T]{All: all, Reset: true})
	params := url.Values{"watch": {"true"}, "resourceVersion": {version}}
	if sel.labels != "" {
		params.Set("labelSelector", sel.labels)
	}
	if sel.fields != "" {
		params.Set("fieldSelector", sel.fields)
	}
	body, err := c.stream(ctx, p, params)
	if err != nil {
		return err
	}
	defer body.Close()
	return events(body, p, news)
}

func events[T any](body io.Reader, p path, news func(change[T])) error {
	dec := json.NewDecoder(body)
	for {
		var e struct {
			Type   string          `json:"type"`
			Object json.RawMessage `json:"object"`
		}
		if err := dec.Decode(&e); errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("watching %s: %w", p.resource, err)
		}
		if e.Type == "ERROR" {
			var status metav1.Status
			if err := json.Unmarshal(e.Object, &status); err != nil {
				return fmt.Errorf("watching %s: %w", p.resource, err)
			}
			if status.Reason == metav1.StatusReasonExpired || status.Reason == metav1.StatusReasonGone {
				return nil // list again
			}
			return &apierrors.StatusError{ErrStatus: status}
		}
		n := change[T]{Deleted: e.Type == "DELETED"}
		if err := json.Unmarshal(e.Object, &n.Object); err != nil {
			return fmt.Errorf("watching %s: %w", p.resource, err)
		}
		news(n)
	}
}
