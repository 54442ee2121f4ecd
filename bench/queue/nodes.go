package main

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const kwokNode = "kwok.x-k8s.io/node"

//go:embed kwok.yaml
var kwokStages []byte

// makeNodes makes the nodes of all targets, and waits until they are ready. kwok makes and keeps them so.
func (l *lab) makeNodes(ctx context.Context) error {
	ended, err := l.startKwok()
	if err != nil {
		return err
	}
	api := l.worker.Resource(core("nodes"))
	ours := metav1.ListOptions{LabelSelector: sliceLabel}
	l.addUndo(func(ctx context.Context) error {
		return api.DeleteCollection(ctx, metav1.DeleteOptions{}, ours)
	})
	err = forEach(ctx, l.o.targets*l.o.nodes, func(ctx context.Context, i int) error {
		return create(ctx, api, l.node(i%l.o.targets, i/l.o.targets))
	})
	if err != nil {
		return err
	}
	return await(ctx, "the nodes", func(ctx context.Context) (string, error) {
		if ended() {
			return "", errors.New("keeping the nodes alive: kwok has ended")
		}
		list, err := api.List(ctx, ours)
		if err != nil {
			return "", err
		}
		for i := range list.Items {
			if !ready(&list.Items[i]) {
				return list.Items[i].GetName() + " is not ready", nil
			}
		}
		return "", nil
	})
}

// startKwok starts kwok for as long as the bench lasts; ended says whether it gave up.
func (l *lab) startKwok() (ended func() bool, err error) {
	dir, err := os.MkdirTemp("", "bflow-bench-kwok-*")
	if err != nil {
		return nil, fmt.Errorf("starting kwok: %w", err)
	}
	stages := filepath.Join(dir, "stages.yaml")
	if err := os.WriteFile(stages, kwokStages, 0o600); err != nil {
		return nil, fmt.Errorf("starting kwok: %w", err)
	}
	said, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		return nil, fmt.Errorf("starting kwok: %w", err)
	}
	defer said.Close() // kwok has its own
	cmd := exec.Command(l.o.kwok, "--kubeconfig", l.o.worker, "--config", stages, "--manage-all-nodes=false",
		"--manage-nodes-with-annotation-selector="+kwokNode+"=fake", "--node-lease-duration-seconds=40",
		"--server-address=127.0.0.1:0")
	cmd.Stdout, cmd.Stderr = said, said
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("starting kwok: %w", err)
	}
	fmt.Fprintf(l.log, "%s: kwok says what it does in %s\n", time.Now().Format(time.TimeOnly), said.Name())
	done := make(chan struct{})
	go func() { _ = cmd.Wait(); close(done) }() // it is killed, or its log says why not
	l.addUndo(func(context.Context) error {
		if err := cmd.Process.Kill(); err != nil && !errors.Is(err, os.ErrProcessDone) {
			return fmt.Errorf("ending kwok: %w", err)
		}
		<-done
		return nil
	})
	return func() bool {
		select {
		case <-done:
			return true
		default:
			return false
		}
	}, nil
}

func (l *lab) node(target, n int) *unstructured.Unstructured {
	room := object{"cpu": "64", "memory": "512Gi", "pods": "110", gpu: strconv.Itoa(l.o.gpus)}
	return made(object{
		"apiVersion": "v1", "kind": "Node",
		"metadata": object{
			"name":        fmt.Sprintf("%s-%d", slice(target), n),
			"labels":      object{sliceLabel: strconv.Itoa(target), "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"},
			"annotations": object{kwokNode: "fake"},
		},
		"spec":   object{"taints": []any{object{"key": kwokNode, "value": "fake", "effect": "NoSchedule"}}},
		"status": object{"capacity": room, "allocatable": room},
	})
}

// ready says whether the cluster trusts a node.
func ready(node *unstructured.Unstructured) bool {
	conditions, _, _ := unstructured.NestedSlice(node.Object, "status", "conditions")
	for _, c := range conditions {
		if c := c.(object); c["type"] == "Ready" {
			return c["status"] == "True"
		}
	}
	return false
}
