package cluster

import (
	"context"
	"time"

	"bflow.dev/bflow/internal/kube"
)

const (
	// askTime bounds a question whose answer is only a help.
	askTime = 10 * time.Second
	// webhookGrace is how long a webhook may be away: Tekton's is one Pod, which may be busy or about to move, and
	// starts in less.
	webhookGrace = 30 * time.Second
)

// Cluster is a connection to the API server of a hub.
type Cluster struct {
	Name   string // what a person calls it: its context or its address
	Modest bool   // ask for runs, tasks and logs only, and not Kueue: what an account that submits may read

	api *kube.Client
}

// Connect opens a connection and asks the API server for its version, so that a server that is away is found out within
// seconds.
func Connect(ctx context.Context, cfg *kube.Config, name string) (*Cluster, error) {
	api, err := kube.New(cfg, name)
	if err != nil {
		return nil, err
	}
	api.WebhookGrace = webhookGrace
	if err := api.Reach(ctx); err != nil {
		return nil, err
	}
	return &Cluster{Name: api.Name, api: api}, nil
}

func pipelineRuns(namespace, name string) kube.At {
	return kube.Tekton("pipelineruns", namespace, name)
}

func taskRuns(namespace, name string) kube.At { return kube.Tekton("taskruns", namespace, name) }

func pods(namespace, name string) kube.At { return kube.Core("pods", namespace, name) }

func configMaps(namespace, name string) kube.At { return kube.Core("configmaps", namespace, name) }

func secrets(namespace, name string) kube.At { return kube.Core("secrets", namespace, name) }
