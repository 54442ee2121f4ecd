package remote

import (
	"context"
	"fmt"
	"time"

	"bflow.dev/bflow/queue/target"
	"bflow.dev/bflow/runplan/contract"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/clock"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const (
	renewals                = 4
	failedRenewalRetryDelay = time.Minute // after a failure; half of a life is left for that
)

// Renewer replaces the token of a target once half of its life is over, by what that very token may ask for.
type Renewer struct {
	client  client.Client
	targets *target.Registry
	clock   clock.PassiveClock
}

var _ reconcile.Reconciler = (*Renewer)(nil)

// NewRenewer makes the reconciler of Secrets.
func NewRenewer(c client.Client, targets *target.Registry, clk clock.PassiveClock) *Renewer {
	return &Renewer{client: c, targets: targets, clock: clk}
}

// Reconcile renews the token of one target when it is time.
func (r *Renewer) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	secret := &corev1.Secret{}
	if err := r.client.Get(ctx, req.NamespacedName, secret); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	c, err := target.ReadCredentials(secret)
	if err != nil || !secret.DeletionTimestamp.IsZero() || !isTarget(secret) {
		return ctrl.Result{}, nil // the connector tells of it
	}
	if left := c.Renew.Sub(r.clock.Now()); left > 0 {
		return ctrl.Result{RequeueAfter: left}, nil
	}
	t, err := r.targets.Find(c.Target)
	if err != nil {
		return ctrl.Result{RequeueAfter: time.Second}, nil // the connector is about to make it known
	}
	ends, err := r.renew(ctx, t, secret)
	if err != nil {
		ctrl.LoggerFrom(ctx).Info("the token of a target could not be renewed", "target", c.Target, "expires", c.Expires,
			"why", err.Error())
		return ctrl.Result{RequeueAfter: failedRenewalRetryDelay}, nil
	}
	ctrl.LoggerFrom(ctx).Info("token of a target renewed", "target", c.Target, "expires", ends)
	return ctrl.Result{}, nil // the change brings the Secret here again
}

func (r *Renewer) renew(ctx context.Context, t target.Target, secret *corev1.Secret) (time.Time, error) {
	text, expires, err := mintToken(ctx, t.Live, contract.NamespaceSystem, contract.AccountAgent,
		target.AgentTokenLifetime, nil)
	if err != nil {
		return time.Time{}, err
	}
	// a person may add the target anew
	before := client.MergeFromWithOptions(secret.DeepCopy(), client.MergeFromWithOptimisticLock{})
	target.StampToken(secret, text, expires, target.HalfLife(r.clock.Now(), expires))
	if err := r.client.Patch(ctx, secret, before); err != nil {
		return time.Time{}, fmt.Errorf("writing the token: %w", err)
	}
	return expires, nil
}
