package kube

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
)

// Groups of the API that runs consist of.
const (
	CoreAPI   = "/api/v1"
	TektonAPI = "/apis/tekton.dev/v1"
)

// NewClient returns a client that speaks plain JSON with the API server: generated clients would triple the size of
// what is linked. It spaces no requests, because the server has its own fairness, and knows the Status of an error.
func NewClient(cfg *Config) (*rest.RESTClient, error) {
	cfg = rest.CopyConfig(cfg)
	cfg.QPS = -1
	cfg.APIPath = "/"
	cfg.ContentType, cfg.AcceptContentTypes = runtime.ContentTypeJSON, runtime.ContentTypeJSON
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"})
	cfg.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	client, err := rest.UnversionedRESTClientFor(cfg)
	if err != nil {
		return nil, fmt.Errorf("making a client for the API server: %w", err)
	}
	return client, nil
}
