// Package target holds the clusters where model servers run: a client and a view of each, and what the tasks of a run
// get to find it; and what lies of a target in the hub: its credentials and its status. It must not know what a run
// leaves there, nor how a cluster becomes a target.
package target

import (
	"context"
	"errors"
	"time"

	"bflow.dev/bflow/queue/devices"
	"bflow.dev/bflow/queue/devices/view"
	"bflow.dev/bflow/runplan/contract"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ErrNotYet is what Access answers while it is being asked for: look again in a moment.
var ErrNotYet = errors.New("its credentials are being made")

// Sight is a target whose devices are in sight: a *view.Target.
type Sight interface {
	Ready() bool
	Reach() view.Reach
	Inventory(context.Context, devices.Owner) (*devices.Inventory, error)
}

// Ask is a run that needs access to its target.
type Ask struct {
	Namespace string
	Run       string        // its name
	UID       types.UID     // of the PipelineRun: each attempt has access of its own
	For       time.Duration // how long the run may take
}

// Grant is access to a target.
type Grant struct {
	Data    map[string][]byte // of the Secret of the run
	Expires time.Time         // zero for never
}

// Accessor hands out access to a target. It must not wait for the target: where that has to be asked first, it answers
// ErrNotYet until its answer is there.
type Accessor interface {
	Access(Ask) (Grant, error)
	// Revoke ends every token that was handed out for a PipelineRun of that namespace, and hands out none any more. It
	// answers ErrNotYet while one is being made.
	Revoke(ctx context.Context, namespace string, uid types.UID) error
	// Forget ends the care for a run.
	Forget(types.UID)
}

// Target is one cluster.
type Target struct {
	Name string
	// Live reads and writes past any cache: what decides about a quota must be true now. Each call ends within seconds,
	// and at once where the API server of a remote target is known not to answer.
	Live client.Client
	// Sight is nil where nobody looks: in tests.
	Sight Sight
	// Accessor is nil for the hub itself.
	Accessor Accessor
}

// Local is the target that is the hub itself: its tasks use the account of their pods.
func Local(live client.Client, sight Sight) Target {
	return Target{Name: contract.TargetLocal, Live: live, Sight: sight}
}

// Access is access to the target for a run.
func (t Target) Access(ask Ask) (Grant, error) {
	if t.Accessor == nil {
		return Grant{Data: map[string][]byte{contract.KeyInCluster: []byte("true")}}, nil
	}
	return t.Accessor.Access(ask)
}

// Revoke ends access to the target for a PipelineRun. That to the hub ends with the pods of its tasks.
func (t Target) Revoke(ctx context.Context, namespace string, uid types.UID) error {
	if t.Accessor == nil {
		return nil
	}
	return t.Accessor.Revoke(ctx, namespace, uid)
}

// Unknown is a target that nobody has access to, because of cause.
func Unknown(name string, cause error) Target {
	return Target{Name: name, Accessor: unreachable{cause}}
}

// unreachable answers with what keeps it from the target.
type unreachable struct{ cause error }

func (n unreachable) Access(Ask) (Grant, error)                       { return Grant{}, n.cause }
func (n unreachable) Revoke(context.Context, string, types.UID) error { return n.cause }
func (n unreachable) Forget(types.UID)                                {}

// Forget ends the care for the access of a run.
func (t Target) Forget(run types.UID) {
	if t.Accessor != nil {
		t.Accessor.Forget(run)
	}
}

// Secret is what the tasks of run get to find the target, owned by its PipelineRun.
func (t Target) Secret(namespace, run string, owner metav1.OwnerReference, grant Grant) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Name:      contract.TargetSecret(run),
			Namespace: namespace,
			Labels: map[string]string{
				contract.LabelRun: run, contract.LabelTarget: t.Name, contract.LabelManagedBy: contract.ManagedBy,
			},
			OwnerReferences: []metav1.OwnerReference{owner},
		},
		Data: grant.Data,
	}
}
