// Package target holds the ways to the clusters where model servers run: a client of each, and what the tasks of a run
// get to find it. It must not know what a run leaves there.
package target

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"bflow.dev/bflow/tasks/contract"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// KeyInCluster is the key of the target Secret that says: the target is the cluster of the task itself.
const KeyInCluster = "in-cluster"

// Target is one cluster.
type Target struct {
	Name string
	// Live reads and writes past any cache: what decides about a quota must be true now.
	Live client.Client
	// Access is the content of the Secret that the tasks of an admitted run get.
	Access map[string][]byte
}

// Local is the target that is the hub itself: its tasks use the account of their pods.
func Local(live client.Client) Target {
	return Target{Name: contract.TargetLocal, Live: live, Access: map[string][]byte{KeyInCluster: []byte("true")}}
}

// Targets are the clusters that the controller knows, by name.
type Targets map[string]Target

// Of makes Targets of some.
func Of(targets ...Target) Targets {
	all := Targets{}
	for _, t := range targets {
		all[t.Name] = t
	}
	return all
}

// Find returns the target of a name.
func (t Targets) Find(name string) (Target, error) {
	found, ok := t[name]
	if !ok {
		return Target{}, fmt.Errorf("finding target %q: the controller knows %s only", name, strings.Join(slices.Sorted(maps.Keys(t)), ", "))
	}
	return found, nil
}

// Secret is what the tasks of run get to find the target, owned by its PipelineRun.
func (t Target) Secret(namespace, run string, owner metav1.OwnerReference) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Name:      contract.TargetSecret(run),
			Namespace: namespace,
			Labels: map[string]string{
				contract.LabelRun: run, contract.LabelTarget: t.Name, contract.LabelManagedBy: contract.ManagedBy,
			},
			OwnerReferences: []metav1.OwnerReference{owner},
		},
		Data: t.Access,
	}
}
