package view

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Vacant says whether a namespace of the cluster has no pod that is one of ours by its labels (those of stripPod),
// and none of the accounts that are watched besides. Where that is not known it is an error: a view that is not
// complete, an API server that does not answer, accounts that nobody watches or may watch.
func (t *Target) Vacant(ctx context.Context, namespace string, ours func(labels map[string]string) bool) (bool, error) {
	s := t.sight()
	switch {
	case !s.complete():
		return false, fmt.Errorf("looking into namespace %q of target %q: its pods are not all known yet", namespace, t.Name)
	case !t.Reach().Up:
		return false, fmt.Errorf("looking into namespace %q of target %q: it does not answer: %s", namespace, t.Name,
			t.Reach().Why)
	}
	var pods corev1.PodList
	if err := s.cache.List(ctx, &pods, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return false, fmt.Errorf("listing the pods of namespace %q of target %q: %w", namespace, t.Name, err)
	}
	if slices.ContainsFunc(pods.Items, func(p corev1.Pod) bool { return ours(p.Labels) }) {
		return false, nil
	}
	accounts, err := t.accounts(ctx, s, namespace)
	if err != nil {
		return false, fmt.Errorf("listing the accounts of namespace %q of target %q: %w", namespace, t.Name, err)
	}
	return accounts == 0, nil
}

// accounts counts those in a namespace that are watched besides devices.
func (t *Target) accounts(ctx context.Context, s *sight, namespace string) (int, error) {
	if !slices.ContainsFunc(t.also, func(w watched) bool { _, is := w.kind.(*corev1.ServiceAccount); return is }) {
		return 0, errors.New("nobody watches them")
	}
	informer, err := s.beside.GetInformer(ctx, &corev1.ServiceAccount{}, cache.BlockUntilSynced(false))
	if err != nil {
		return 0, err
	}
	if !informer.HasSynced() {
		return 0, errors.New("they are not all known yet")
	}
	var accounts corev1.ServiceAccountList
	if err := s.beside.List(ctx, &accounts, client.InNamespace(namespace), client.UnsafeDisableDeepCopy); err != nil {
		return 0, err
	}
	return len(accounts.Items), nil
}
