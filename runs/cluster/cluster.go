package cluster

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/url"
	"time"

	"bflow.dev/bflow/runs/kube"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
)

// patience bounds the first question to an API server, answerTime every other that is not a stream.
const (
	patience   = 10 * time.Second
	answerTime = time.Minute
	// webhookTime is how long one that does not answer is waited for: a Pod starts in less.
	webhookTime = 30 * time.Second
)

// Cluster is a connection to the API server of a hub.
type Cluster struct {
	Config *rest.Config
	Name   string // what a person calls it: its context or its address
	Modest bool   // ask for runs, tasks and logs only, and not Kueue: what an account that submits may read
	http   rest.Interface
}

// Connect opens a connection and asks the API server for its version, so that a server that is away is found out within
// five seconds.
func Connect(ctx context.Context, cfg *rest.Config, name string) (*Cluster, error) {
	cfg = rest.CopyConfig(cfg)
	cfg.QPS = -1 // the server has its own fairness
	cfg.WarningHandler = rest.NoWarnings{}
	client, err := kube.NewClient(cfg)
	if err != nil {
		return nil, fmt.Errorf("connecting to cluster %s: %w", name, err)
	}
	c := &Cluster{Config: cfg, Name: name, http: client}
	if c.Name == "" {
		c.Name = cfg.Host
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if err := c.http.Get().AbsPath("/version").MaxRetries(0).Do(ctx).Error(); err != nil {
		return nil, c.explainSilence(ctx, err)
	}
	return c, nil
}

// path is an address of the API server, below a namespace where that is not empty.
type path struct {
	prefix, namespace, resource, name, sub string

	meta bool // of lists and watches: the metadata of the objects alone
}

// onlyMeta asks for the metadata of objects alone, where the server knows how.
const onlyMeta = "application/json;as=PartialObjectMetadata%s;g=meta.k8s.io;v=v1, application/json"

const (
	coreAPI   = kube.CoreAPI
	tektonAPI = kube.TektonAPI
	kueueAPI  = "/apis/kueue.x-k8s.io/v1beta2"
)

func pipelineRuns(namespace, name string) path {
	return path{prefix: tektonAPI, namespace: namespace, resource: "pipelineruns", name: name}
}

func taskRuns(namespace, name string) path {
	return path{prefix: tektonAPI, namespace: namespace, resource: "taskruns", name: name}
}

func pods(namespace, name string) path {
	return path{prefix: coreAPI, namespace: namespace, resource: "pods", name: name}
}

func configMaps(namespace, name string) path {
	return path{prefix: coreAPI, namespace: namespace, resource: "configmaps", name: name}
}

func (p path) on(r *rest.Request) *rest.Request {
	r = r.AbsPath(p.prefix).Resource(p.resource)
	if p.namespace != "" {
		r = r.Namespace(p.namespace)
	}
	if p.name != "" {
		r = r.Name(p.name)
	}
	if p.sub != "" {
		r = r.SubResource(p.sub)
	}
	return r
}

// selector narrows a list or a watch.
type selector struct{ labels, fields string }

func (s selector) on(r *rest.Request) *rest.Request {
	if s.labels != "" {
		r = r.Param("labelSelector", s.labels)
	}
	if s.fields != "" {
		r = r.Param("fieldSelector", s.fields)
	}
	return r
}

// do carries a request out and decodes the answer into into, which may be nil. What was not done because a webhook did
// not answer is asked for again for webhookTime: Tekton's is one Pod, which may be busy or about to move.
func (c *Cluster) do(ctx context.Context, r *rest.Request, into any) error {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	begin, res := time.Now(), r.Do(ctx)
	for webhookAway(res.Error()) && time.Since(begin) < webhookTime {
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
		if ctx.Err() != nil {
			break
		}
		res = r.Do(ctx)
	}
	if err := res.Error(); err != nil {
		return c.explain(err)
	}
	body, err := res.Raw()
	if err != nil || into == nil {
		return err
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("reading the answer of cluster %s: %w", c.Name, err)
	}
	return nil
}

// get reads one object.
func get[T any](ctx context.Context, c *Cluster, p path) (*T, error) {
	var obj T
	if err := c.do(ctx, p.on(c.http.Get()), &obj); err != nil {
		return nil, err
	}
	return &obj, nil
}

// pageSize keeps a list of thousands of runs, each with its whole Pipeline in its status, in answers of some megabytes.
const pageSize = "200"

// list reads every object that sel selects, and the version from which a watch goes on.
func list[T any](ctx context.Context, c *Cluster, p path, sel selector) ([]T, string, error) {
	var all []T
	next := ""
	for {
		var page struct {
			Metadata metav1.ListMeta `json:"metadata"`
			Items    []T             `json:"items"`
		}
		r := sel.on(p.on(c.http.Get())).Param("limit", pageSize)
		if p.meta {
			r = r.SetHeader("Accept", fmt.Sprintf(onlyMeta, "List"))
		}
		if next != "" {
			r = r.Param("continue", next)
		}
		if err := c.do(ctx, r, &page); err != nil {
			return nil, "", err
		}
		all = append(all, page.Items...)
		if next = page.Metadata.Continue; next == "" {
			return all, page.Metadata.ResourceVersion, nil
		}
	}
}

// create makes obj; with dry the server only checks it.
func (c *Cluster) create(ctx context.Context, p path, obj any, dry bool, into any) error {
	text, err := json.Marshal(obj)
	if err != nil {
		return fmt.Errorf("encoding %s: %w", p.resource, err)
	}
	r := p.on(c.http.Post()).Param("fieldManager", fieldManager).Body(text)
	if dry {
		r = r.Param("dryRun", metav1.DryRunAll)
	}
	return c.do(ctx, r, into)
}

// fieldManager is how the server knows what this program has written.
const fieldManager = "bflow"

// merge changes an object by a JSON merge patch.
func (c *Cluster) merge(ctx context.Context, p path, change any) error {
	text, err := json.Marshal(change)
	if err != nil {
		return fmt.Errorf("encoding a change of %s: %w", p.resource, err)
	}
	return c.do(ctx, p.on(c.http.Patch(types.MergePatchType)).Param("fieldManager", fieldManager).Body(text), nil)
}

// stream opens an answer that goes on until ctx ends or the server closes it.
func (c *Cluster) stream(ctx context.Context, p path, params url.Values) (io.ReadCloser, error) {
	r := p.on(c.http.Get()).MaxRetries(0)
	if p.meta {
		r = r.SetHeader("Accept", fmt.Sprintf(onlyMeta, ""))
	}
	for name, values := range params {
		for _, v := range values {
			r = r.Param(name, v)
		}
	}
	body, err := r.Stream(ctx)
	if err != nil {
		return nil, c.explain(err)
	}
	return body, nil
}
