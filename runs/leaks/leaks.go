// Package leaks finds and deletes, with the rights of a person, what the garbage collection of the controller looks
// for: objects on targets that no run needs. It must not decide what a leak is.
package leaks

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"bflow.dev/bflow/internal/kube"
	"bflow.dev/bflow/queue/gc"
	queuetarget "bflow.dev/bflow/queue/target"
	"bflow.dev/bflow/runplan/contract"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// answerTime bounds every request: a target that is away must not hold up the others for long.
const answerTime = 15 * time.Second

// Options say where to look and what to do.
type Options struct {
	Targets    []string // none = all
	Namespaces []string // of runs; none = all that are enabled
	DryRun     bool     // only find
}

// Leak is something that no run needs.
type Leak struct {
	Target    string `json:"target"`
	Namespace string `json:"namespace"`
	Kind      string `json:"kind"`
	Name      string `json:"name"`
	Run       string `json:"run"`
	Why       string `json:"why"`
	Deleted   bool   `json:"deleted"`
}

// Clean looks at the targets of a hub. What cannot be looked at is an error beside the leaks of the rest.
func Clean(ctx context.Context, cfg *kube.Config, o Options) ([]Leak, error) {
	hub, err := connect(cfg)
	if err != nil {
		return nil, fmt.Errorf("connecting to the hub: %w", err)
	}
	known := gc.Hub{Cache: hub, Live: hub, Now: time.Now}
	if known.ID, err = identity(ctx, hub, o.Namespaces); err != nil {
		return nil, err
	}
	if len(o.Namespaces) == 0 {
		if o.Namespaces, err = known.Namespaces(ctx); err != nil {
			return nil, fmt.Errorf("%w; name some with --namespace", err)
		}
	}
	targets, err := ways(ctx, hub, o.Targets)
	if targets == nil {
		return nil, err
	}
	errs := []error{err}
	var out []Leak
	for _, t := range targets {
		found, err := clean(ctx, known, t, o)
		out = append(out, found...)
		if err != nil {
			errs = append(errs, fmt.Errorf("target %q: %w", t.name, err))
		}
	}
	return out, errors.Join(errs...)
}

func clean(ctx context.Context, hub gc.Hub, t way, o Options) ([]Leak, error) {
	if t.err != nil {
		return nil, t.err
	}
	leaks, err := hub.Find(ctx, t.client, t.name, o.Namespaces)
	deleted := map[string]bool{}
	if !o.DryRun {
		err = errors.Join(err, gc.DeleteLeaks(ctx, t.client, leaks,
			func(o gc.Object) { deleted[o.Namespace+"/"+o.String()] = true }))
	}
	var out []Leak
	for _, l := range leaks {
		out = append(out, Leak{Target: t.name, Namespace: l.Namespace, Kind: l.Kind, Name: l.Name, Run: l.Run(), Why: l.Why,
			Deleted: deleted[l.Namespace+"/"+l.String()]})
	}
	return out, err
}

// way is a target and how to reach it.
type way struct {
	name   string
	client client.Client
	err    error
}

// ways leads to some targets, or to all. The hub itself needs no credentials; those of the others lie in Secrets that
// few people may read.
func ways(ctx context.Context, hub client.Client, names []string) ([]way, error) {
	all := []way{{name: contract.TargetLocal, client: hub}}
	if len(names) == 1 && names[0] == contract.TargetLocal {
		return all, nil
	}
	var secrets corev1.SecretList
	err := hub.List(ctx, &secrets, client.InNamespace(contract.NamespaceSystem), client.HasLabels{contract.LabelTarget})
	if err != nil {
		err = fmt.Errorf(
			"reading the credentials of targets: %w; without them only --target %s can be searched; bflow-controller "+
				"searches the others itself",
			err, contract.TargetLocal)
		if len(names) > 0 {
			return nil, err
		}
		return all, err
	}
	for i := range secrets.Items {
		all = append(all, remote(&secrets.Items[i]))
	}
	if len(names) == 0 {
		return all, nil
	}
	var known []string
	for _, w := range all {
		known = append(known, w.name)
	}
	for _, name := range names {
		if !slices.Contains(known, name) {
			return nil, fmt.Errorf("there is no target %q; there are %s", name, strings.Join(known, ", "))
		}
	}
	return slices.DeleteFunc(all, func(w way) bool { return !slices.Contains(names, w.name) }), nil
}

func remote(secret *corev1.Secret) way {
	c, err := queuetarget.ReadCredentials(secret)
	w := way{name: secret.Labels[contract.LabelTarget], err: err}
	if err != nil {
		return w
	}
	cfg, err := c.Config()
	if err != nil {
		w.err = err
		return w
	}
	cfg.BearerToken = c.Token
	w.client, w.err = connect(cfg)
	return w
}

func connect(cfg *kube.Config) (client.Client, error) {
	bounded := *cfg
	bounded.Timeout = answerTime
	api, err := kube.New(&bounded, "")
	if err != nil {
		return nil, err
	}
	return api.ByKind(clientscheme.AddToScheme, tektonv1.AddToScheme)
}

// identity is that of the hub, by which its objects are told from those of others: who may not read the namespace
// kube-system finds it beside the runs.
func identity(ctx context.Context, hub client.Client, namespaces []string) (string, error) {
	system := &corev1.Namespace{}
	err := hub.Get(ctx, client.ObjectKey{Name: metav1.NamespaceSystem}, system)
	if err == nil {
		return string(system.UID), nil
	}
	for _, namespace := range namespaces {
		hubFacts := &corev1.ConfigMap{}
		if hub.Get(ctx, client.ObjectKey{Namespace: namespace, Name: contract.ConfigMapHub}, hubFacts) == nil &&
			hubFacts.Data[contract.HubKey] != "" {
			return hubFacts.Data[contract.HubKey], nil
		}
	}
	return "",
		fmt.Errorf("reading the identity of the hub: %w; give a namespace for runs with --namespace, which has it too", err)
}
