package fetch

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// client asks for the objects of a run, and starts and ends the pod that serves its results.
type client struct{ http *rest.RESTClient }

// get reads one object, or a list where name is "".
func (c *client) get(ctx context.Context, group, namespace, resource, name, labels string, into any) error {
	r := c.http.Get().AbsPath(group).Namespace(namespace).Resource(resource)
	if name != "" {
		r = r.Name(name)
	}
	if labels != "" {
		r = r.Param("labelSelector", labels)
	}
	return decode(ctx, r, into)
}

func decode(ctx context.Context, r *rest.Request, into any) error {
	body, err := r.Do(ctx).Raw()
	if err != nil {
		return reason(err, body)
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("reading the answer of the API server: %w", err)
	}
	return nil
}

// reason prefers the server's own words: client-go decodes only the Status objects of a scheme.
func reason(err error, body []byte) error {
	var status metav1.Status
	if json.Unmarshal(body, &status) == nil && status.Kind == "Status" && status.Message != "" {
		return &apierrors.StatusError{ErrStatus: status}
	}
	return err
}
