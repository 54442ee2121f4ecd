package keeper

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"bflow.dev/bflow/queue/lock"
	"bflow.dev/bflow/runplan/contract"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Annotations of the Lease that only hubs read; tasks read its holder and contract.AnnotationFence.
const (
	annotationBefore = contract.Prefix + "taken-over-from" // hubs, by commas, until nothing of them is alive
	annotationAsks   = contract.Prefix + "waiting"         // JSON: the hubs that wait
)

func key() client.ObjectKey {
	return client.ObjectKey{Namespace: contract.NamespaceSystem, Name: contract.LeasePlatform}
}

// read returns the Lease of a target, and the object for write; a Lease that is not there has no version.
func read(ctx context.Context, c client.Client) (lock.Lease, *coordinationv1.Lease, error) {
	obj := &coordinationv1.Lease{}
	err := c.Get(ctx, key(), obj)
	if apierrors.IsNotFound(err) {
		return lock.Lease{}, &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{
			Namespace: key().Namespace, Name: key().Name, Labels: map[string]string{contract.LabelManagedBy: contract.ManagedBy},
		}}, nil
	}
	if err != nil {
		return lock.Lease{}, nil, err
	}
	return of(obj), obj, nil
}

// of reads an object. What a person has spoilt in it counts as absent: a fence that cannot be read begins anew.
func of(obj *coordinationv1.Lease) lock.Lease {
	l := lock.Lease{Version: obj.ResourceVersion, Key: obj.Annotations[contract.AnnotationSetupKey]}
	if obj.Spec.HolderIdentity != nil {
		l.Holder = *obj.Spec.HolderIdentity
	}
	if obj.Spec.RenewTime != nil {
		l.Renewed = obj.Spec.RenewTime.Time
	}
	l.Fence, _ = strconv.ParseInt(obj.Annotations[contract.AnnotationFence], 10, 64)
	l.Before = strings.FieldsFunc(obj.Annotations[annotationBefore], func(r rune) bool { return r == ',' })
	if json.Unmarshal([]byte(obj.Annotations[annotationAsks]), &l.Asks) != nil {
		l.Asks = nil
	}
	return l
}

// into writes l into an object.
func into(obj *coordinationv1.Lease, l lock.Lease) error {
	asks := ""
	if len(l.Asks) > 0 {
		text, err := json.Marshal(l.Asks)
		if err != nil {
			return fmt.Errorf("encoding who waits: %w", err)
		}
		asks = string(text)
	}
	if obj.Annotations == nil {
		obj.Annotations = map[string]string{}
	}
	for name, value := range map[string]string{
		contract.AnnotationSetupKey: l.Key, contract.AnnotationFence: strconv.FormatInt(l.Fence, 10),
		annotationBefore: strings.Join(l.Before, ","), annotationAsks: asks,
	} {
		if obj.Annotations[name] = value; value == "" {
			delete(obj.Annotations, name)
		}
	}
	seconds := int32(lock.LeaseDuration.Seconds())
	renewed := metav1.NewMicroTime(l.Renewed)
	if holder := obj.Spec.HolderIdentity; l.Holder != "" && (holder == nil || *holder != l.Holder) {
		transitions := int32(1)
		if obj.Spec.LeaseTransitions != nil {
			transitions += *obj.Spec.LeaseTransitions
		}
		obj.Spec.AcquireTime, obj.Spec.LeaseTransitions = &renewed, &transitions
	}
	obj.Spec.HolderIdentity, obj.Spec.RenewTime, obj.Spec.LeaseDurationSeconds = &l.Holder, &renewed, &seconds
	return nil
}

// write puts l where nobody else has written since obj was read: an error is a conflict else.
func write(ctx context.Context, c client.Client, obj *coordinationv1.Lease, l lock.Lease) (lock.Lease, error) {
	obj = obj.DeepCopy()
	if err := into(obj, l); err != nil {
		return l, err
	}
	var err error
	if obj.ResourceVersion == "" {
		err = c.Create(ctx, obj)
	} else {
		err = c.Update(ctx, obj) // with its version
	}
	return of(obj), err
}

// alive says whether pods that some hubs made for runs are on a target. Of Everybody, those of mine are left out.
func alive(ctx context.Context, c client.Client, mine string, hubs []string) (bool, error) {
	var pods corev1.PodList
	if err := c.List(ctx, &pods, client.HasLabels{contract.LabelHub, contract.LabelRelease}); err != nil {
		return true, err
	}
	return slices.ContainsFunc(pods.Items, func(p corev1.Pod) bool {
		hub := p.Labels[contract.LabelHub]
		return hub != mine && (slices.Contains(hubs, hub) || slices.Contains(hubs, lock.Everybody)) &&
			p.Status.Phase != corev1.PodSucceeded && p.Status.Phase != corev1.PodFailed
	}), nil
}
