package cluster

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"

	"bflow.dev/bflow/results/transfer"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
)

// Launched is a Job that was let start.
type Launched struct {
	Token string // of its results server
	Found bool   // somebody had let it start before
}

// ErrEnding means that a Job of this name is on its way out: another one can be made once it is gone.
var ErrEnding = errors.New("the Job of the same name is being deleted")

// Launch makes the Job of w and lets it start. It can be repeated after any failure, by whoever comes next: a Job that
// is there is taken over. plan lies beside it under its usual name; apiKey, where it is not "", is the key of the
// server under test for this Job alone.
func (c *Cluster) Launch(ctx context.Context, plan *runplan.RunPlan, run Run, w Work, apiKey string) (Launched, error) {
	if apiKey != "" {
		w.APIKey = runplan.SecretKey{Name: w.Name, Key: keyAPIKey}
	}
	l := launch{cluster: c, plan: plan, run: run, work: w}
	job, err := l.create(ctx)
	if err != nil {
		return Launched{}, err
	}
	found := job.Spec.Suspend == nil || !*job.Spec.Suspend
	if !found {
		if err := l.start(ctx, job, apiKey); err != nil {
			return Launched{}, err
		}
	}
	secret := &corev1.Secret{}
	if err := c.core.Get().Namespace(c.Namespace).Resource(string(secrets)).Name(w.Name).Do(ctx).Into(secret); err != nil {
		return Launched{}, fmt.Errorf("reading the token of job %q: %w", w.Name, err)
	}
	return Launched{Token: string(secret.Data[keyToken]), Found: found}, nil
}

// launch is a Job that is to start.
type launch struct {
	cluster *Cluster
	plan    *runplan.RunPlan
	run     Run
	work    Work
}

// create returns the Job as it is there, after making it where it is not.
func (l *launch) create(ctx context.Context) (*batchv1.Job, error) {
	c, w, job := l.cluster, &l.work, &batchv1.Job{}
	err := c.batch.Post().Namespace(c.Namespace).Resource(string(jobs)).Body(l.job()).Do(ctx).Into(job)
	if apierrors.IsAlreadyExists(err) {
		err = c.batch.Get().Namespace(c.Namespace).Resource(string(jobs)).Name(w.Name).Do(ctx).Into(job)
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("creating job %q in namespace %q: %w", w.Name, c.Namespace, err)
	case job.DeletionTimestamp != nil:
		return nil, fmt.Errorf("creating job %q in namespace %q: %w", w.Name, c.Namespace, ErrEnding)
	case job.Labels[contract.LabelRun] != l.run.ID || job.Labels[contract.LabelHub] != l.run.Hub:
		return nil, fmt.Errorf("creating job %q in namespace %q: the name is taken; remove that job", w.Name, c.Namespace)
	}
	return job, nil
}

// start puts beside the Job what it needs, owned by it, and lets it start.
func (l *launch) start(ctx context.Context, job *batchv1.Job, apiKey string) error {
	c, w, yes := l.cluster, &l.work, true
	meta := l.meta()
	meta.OwnerReferences = []metav1.OwnerReference{{APIVersion: "batch/v1", Kind: "Job", Name: job.Name, UID: job.UID,
		Controller: &yes}}
	cm, err := planMap(l.plan, meta)
	if err != nil {
		return err
	}
	secret := &corev1.Secret{ObjectMeta: meta, Immutable: &yes,
		Data: map[string][]byte{keyToken: []byte(rand.Text() + rand.Text())}}
	if apiKey != "" {
		secret.Data[keyAPIKey] = []byte(apiKey)
	}
	for _, item := range w.items() {
		name, key, _ := strings.Cut(item.Path, "/")
		secret.Data[item.Key] = []byte(w.Secrets[runplan.SecretKey{Name: name, Key: key}])
	}
	if err := errors.Join(l.put(ctx, configMaps, cm), l.put(ctx, secrets, secret)); err != nil {
		return err
	}
	err = c.batch.Patch(types.MergePatchType).Namespace(c.Namespace).Resource(string(jobs)).Name(w.Name).
		Body([]byte(`{"spec":{"suspend":false}}`)).Do(ctx).Error()
	if err != nil {
		return fmt.Errorf("starting job %q of namespace %q: %w", w.Name, c.Namespace, err)
	}
	return nil
}

// put makes obj, which an earlier try may have made.
func (l *launch) put(ctx context.Context, r plural, obj runtime.Object) error {
	c := l.cluster
	err := c.client(r).Post().Namespace(c.Namespace).Resource(string(r)).Body(obj).Do(ctx).Error()
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("creating %s %q in namespace %q: %w", r, nameOf(obj), c.Namespace, err)
	}
	return nil
}

// maxPlain is the longest plan that travels as it is: a ConfigMap holds 1 MiB.
const maxPlain = 900_000

// planMap is the plan as a task finds it in a folder.
func planMap(plan *runplan.RunPlan, meta metav1.ObjectMeta) (*corev1.ConfigMap, error) {
	yes := true
	cm := &corev1.ConfigMap{ObjectMeta: meta, Immutable: &yes}
	text, err := runplan.Marshal(plan)
	if err != nil {
		return nil, err
	}
	if len(text) <= maxPlain {
		cm.Data = map[string]string{runplan.FileJSON: string(text)}
		return cm, nil
	}
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	if _, err := z.Write(text); err != nil {
		return nil, err
	}
	if err := z.Close(); err != nil {
		return nil, err
	}
	cm.BinaryData = map[string][]byte{runplan.FileGzip: packed.Bytes()}
	return cm, nil
}

// FilesOf is the way to the results server of a pod.
func (c *Cluster) FilesOf(pod, token string) transfer.Server {
	url := c.core.Get().Namespace(c.Namespace).Resource(string(pods)).Name(fmt.Sprintf("%s:%d", pod,
		filesPort)).SubResource("proxy").URL()
	return transfer.Server{HTTP: c.core.Client, Base: url.String(), Token: token}
}

// Drop deletes a Job and all that is its own, and returns nil once nothing of it is left. It may be repeated.
func (c *Cluster) Drop(ctx context.Context, name string) error {
	if err := c.remove(ctx, jobs, name); err != nil {
		return err
	}
	selector := contract.LabelJob + "=" + name
	if err := goneOf[corev1.Pod](ctx, c, pods, selector); err != nil {
		return err
	}
	return goneOf[batchv1.Job](ctx, c, jobs, selector)
}

// Delete asks for the end of a Job and does not wait for it.
func (c *Cluster) Delete(ctx context.Context, name string) error { return c.remove(ctx, jobs, name) }
