package fetch

import (
	"context"
	"encoding/json"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
)

// Groups of the API that are asked.
const (
	core   = "/api/v1"
	tekton = "/apis/tekton.dev/v1"
)

// client speaks JSON with the API server: typed clients would triple the size of what is linked.
type client struct{ http *rest.RESTClient }

func connect(cfg *rest.Config) (*client, error) {
	cfg = rest.CopyConfig(cfg)
	cfg.QPS = -1 // pieces of files are many small requests, and the server has its own fairness
	cfg.APIPath = "/"
	cfg.ContentType, cfg.AcceptContentTypes = runtime.ContentTypeJSON, "application/json, */*"
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"}) // the Status of an error
	cfg.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	c, err := rest.UnversionedRESTClientFor(cfg)
	if err != nil {
		return nil, fmt.Errorf("connecting to the cluster: %w", err)
	}
	return &client{http: c}, nil
}

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
