package kube

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// accessTime bounds the first question to an API server, answerTime every other whose answer is no stream.
const (
	accessTime = 10 * time.Second
	answerTime = time.Minute
)

// Client speaks with one API server, in JSON. Answers are decoded into whatever type a caller names, so that no scheme
// has to know it. Its errors are explained: see Explain.
type Client struct {
	Config *Config
	Name   string // what a person calls the cluster: its context or its address
	Advice Advice

	// WebhookGrace is how long a request is repeated while a webhook of the cluster cannot be reached. 0 = not at all.
	WebhookGrace time.Duration

	rest *rest.RESTClient
}

// New returns a client of the cluster that cfg leads to; name "" stands for its address. It opens no connection yet. It
// spaces no requests, because the server has its own fairness.
func New(cfg *Config, name string) (*Client, error) {
	cfg = rest.CopyConfig(cfg)
	cfg.QPS = -1
	cfg.WarningHandler = rest.NoWarnings{}
	cfg.ContentType, cfg.AcceptContentTypes = runtime.ContentTypeJSON, runtime.ContentTypeJSON
	c := &Client{Config: cfg, Name: name}
	if name == "" {
		c.Name = cfg.Host
	}
	own := rest.CopyConfig(cfg)
	own.APIPath = "/"
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, schema.GroupVersion{Version: "v1"}) // the Status of an error
	own.NegotiatedSerializer = serializer.NewCodecFactory(scheme).WithoutConversion()
	var err error
	if c.rest, err = rest.UnversionedRESTClientFor(own); err != nil {
		return nil, fmt.Errorf("connecting to cluster %s: %w", c.Name, err)
	}
	return c, nil
}

// Reach asks the API server for its version, so that one that is away is found out within seconds.
func (c *Client) Reach(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, accessTime)
	defer cancel()
	if err := c.rest.Get().AbsPath("/version").MaxRetries(0).Do(ctx).Error(); err != nil {
		return c.explainSilence(ctx, err)
	}
	return nil
}

// Version is that of the API server.
func (c *Client) Version(ctx context.Context) (version.Info, error) {
	var v version.Info
	err := c.do(ctx, At{}, c.rest.Get().AbsPath("/version"), &v)
	return v, err
}

// Discovery asks which kinds there are. Its questions take no context, so the client bounds them.
func (c *Client) Discovery() (discovery.DiscoveryInterface, error) {
	bounded := *c.rest.Client
	if bounded.Timeout == 0 {
		bounded.Timeout = answerTime
	}
	asked, err := discovery.NewDiscoveryClientForConfigAndClient(c.Config, &bounded)
	if err != nil {
		return nil, fmt.Errorf("connecting to cluster %s: %w", c.Name, err)
	}
	return asked, nil
}

// ByKind returns a client as controllers have one, which finds objects by their Go types: those that add adds.
func (c *Client) ByKind(add ...func(*runtime.Scheme) error) (client.Client, error) {
	scheme := runtime.NewScheme()
	for _, add := range add {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	return client.New(c.Config, client.Options{Scheme: scheme, HTTPClient: c.rest.Client})
}

// HTTP is the client for what is behind the API server, with the credentials of the cluster.
func (c *Client) HTTP() *http.Client { return c.rest.Client }

// URL is the address of an object, or of its subresource.
func (c *Client) URL(at At) *url.URL { return at.on(c.rest.Get()).URL() }

// do carries a request out and decodes the answer into into, which may be nil.
func (c *Client) do(ctx context.Context, at At, r *rest.Request, into any) error {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	var answer rest.Result
	begin := time.Now()
	err := Retry(ctx, Pause, func() error {
		answer = r.Do(ctx)
		return answer.Error() // which says what the server says; that of Raw does not
	}, func(err error) bool { return IsWebhookAway(err) && time.Since(begin) < c.WebhookGrace })
	if err != nil {
		return c.explain(at, err)
	}
	body, err := answer.Raw()
	if err != nil || into == nil {
		return err
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("reading the answer of cluster %s: %w", c.Name, err)
	}
	return nil
}

// Stream opens an answer that goes on until ctx ends or the server closes it.
func (c *Client) Stream(ctx context.Context, at At, params url.Values) (io.ReadCloser, error) {
	r := at.on(c.rest.Get())
	for name, values := range params {
		for _, v := range values {
			r = r.Param(name, v)
		}
	}
	return c.stream(ctx, at, r)
}

func (c *Client) stream(ctx context.Context, at At, r *rest.Request) (io.ReadCloser, error) {
	body, err := r.MaxRetries(0).Stream(ctx)
	if err != nil {
		return nil, c.explain(at, err)
	}
	return body, nil
}
