package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const (
	sliceLabel   = "bench.bflow.dev/slice" // on nodes: the number of their target
	jobNamespace = "bench-queue-jobs"
)

func slice(i int) string    { return fmt.Sprintf("slice-%02d", i) }
func jobQueue(i int) string { return fmt.Sprintf("bench-jobs-%02d", i) }

type object = map[string]any

func made(o object) *unstructured.Unstructured { return &unstructured.Unstructured{Object: o} }

// build makes the nodes, the targets, and the queues of the Jobs, and stops Tekton.
func (l *lab) build(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Minute)
	defer cancel()
	for _, part := range []struct {
		name string
		do   func(context.Context) error
	}{
		{"nodes", l.makeNodes}, {"targets", l.makeTargets}, {"queues of Jobs", l.makeJobQueues},
		{"Tekton's rest", l.stopTekton},
	} {
		fmt.Fprintf(l.log, "%s: %s\n", time.Now().Format(time.TimeOnly), part.name)
		if err := part.do(ctx); err != nil {
			return fmt.Errorf("making ready (%s): %w", part.name, err)
		}
	}
	return nil
}

// makeTargets makes a target of each slice, and waits until its queue promises what the slice has.
func (l *lab) makeTargets(ctx context.Context) error {
	for i := range l.o.targets {
		l.addUndo(func(ctx context.Context) error {
			if l.o.keep {
				return nil
			}
			return l.runBflow(ctx, "target", "remove", slice(i), "--force")
		})
		if err := l.runBflow(ctx, "target", "add", slice(i), "--kubeconfig", l.o.worker, "--node-selector",
			sliceLabel+"="+strconv.Itoa(i)); err != nil {
			return err
		}
	}
	return await(ctx, "the quota of the targets", func(ctx context.Context) (string, error) {
		list, err := l.hub.Resource(ofKueue("clusterqueues")).List(ctx, metav1.ListOptions{})
		if err != nil {
			return "", err
		}
		have := map[string]int{}
		for _, q := range list.Items {
			have[q.GetName()] = promised(&q)
		}
		for i := range l.o.targets {
			if n := have[slice(i)]; n != l.o.nodes*l.o.gpus {
				return fmt.Sprintf("target %s promises %d GPUs", slice(i), n), nil
			}
		}
		return "", nil
	})
}

// promised is the quota of GPUs of a ClusterQueue.
func promised(queue *unstructured.Unstructured) int {
	groups, _, _ := unstructured.NestedSlice(queue.Object, "spec", "resourceGroups")
	for _, g := range groups {
		flavors, _, _ := unstructured.NestedSlice(g.(object), "flavors")
		for _, f := range flavors {
			resources, _, _ := unstructured.NestedSlice(f.(object), "resources")
			for _, r := range resources {
				if r := r.(object); r["name"] == gpu {
					n, _ := strconv.Atoi(fmt.Sprint(r["nominalQuota"]))
					return n
				}
			}
		}
	}
	return 0
}

// makeJobQueues makes a queue for Jobs beside each target, with the same quota.
func (l *lab) makeJobQueues(ctx context.Context) error {
	namespace := made(object{"apiVersion": "v1", "kind": "Namespace", "metadata": object{"name": jobNamespace}})
	if err := create(ctx, l.hub.Resource(core("namespaces")), namespace); err != nil {
		return err
	}
	l.addUndo(func(ctx context.Context) error {
		return l.hub.Resource(core("namespaces")).Delete(ctx, jobNamespace, metav1.DeleteOptions{})
	})
	for i := range l.o.targets {
		name := jobQueue(i)
		l.addUndo(func(ctx context.Context) error {
			err := l.hub.Resource(ofKueue("clusterqueues")).Delete(ctx, name, metav1.DeleteOptions{})
			if err == nil {
				err = l.hub.Resource(ofKueue("resourceflavors")).Delete(ctx, name, metav1.DeleteOptions{})
			}
			return err
		})
		quota := object{"name": gpu, "nominalQuota": strconv.Itoa(l.o.nodes * l.o.gpus)}
		if err := create(ctx, l.hub.Resource(ofKueue("resourceflavors")),
			kueueObject("ResourceFlavor", name, object{})); err != nil {
			return err
		}
		if err := create(ctx, l.hub.Resource(ofKueue("clusterqueues")), kueueObject("ClusterQueue", name, object{
			"namespaceSelector": object{}, "queueingStrategy": "StrictFIFO",
			"resourceGroups": []any{object{
				"coveredResources": []any{gpu},
				"flavors":          []any{object{"name": name, "resources": []any{quota}}},
			}},
		})); err != nil {
			return err
		}
		local := kueueObject("LocalQueue", name, object{"clusterQueue": name})
		local.SetNamespace(jobNamespace)
		if err := create(ctx, l.hub.Resource(ofKueue("localqueues")).Namespace(jobNamespace), local); err != nil {
			return err
		}
	}
	return nil
}

func kueueObject(kind, name string, spec object) *unstructured.Unstructured {
	return made(object{
		"apiVersion": "kueue.x-k8s.io/v1beta2", "kind": kind, "metadata": object{"name": name}, "spec": spec,
	})
}

// stopTekton takes its controller away, so that runs that were let start do nothing. Its webhook stays.
func (l *lab) stopTekton(ctx context.Context) error {
	const name = "tekton-pipelines-controller"
	api := l.hub.Resource(inGroup("apps", "deployments")).Namespace("tekton-pipelines")
	there, err := api.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("reading Deployment %s: %w", name, err)
	}
	replicas, _, _ := unstructured.NestedInt64(there.Object, "spec", "replicas")
	l.addUndo(func(ctx context.Context) error {
		return patch(ctx, api, name, fmt.Sprintf(`{"spec":{"replicas":%d}}`, replicas))
	})
	if err := patch(ctx, api, name, `{"spec":{"replicas":0}}`); err != nil {
		return err
	}
	return await(ctx, "Tekton's controller to end", func(ctx context.Context) (string, error) {
		list, err := l.hub.Resource(core("pods")).Namespace("tekton-pipelines").List(ctx,
			metav1.ListOptions{LabelSelector: "app=" + name})
		if err != nil || len(list.Items) == 0 {
			return "", err
		}
		return fmt.Sprintf("%d pods are left", len(list.Items)), nil
	})
}
