package bootstrap

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"bflow.dev/bflow/bootstrap/apply"
	"bflow.dev/bflow/bootstrap/target"
	"bflow.dev/bflow/runplan/contract"
)

// RemoveOptions configures RemoveTarget.
type RemoveOptions struct {
	Name                string
	Kubeconfig, Context string // of the target; "" leaves there what bflow has made, which takes Force
	Aliases             map[string]string
	Version             string
	Force               bool          // although runs are there, or the target is unreachable
	Wait                time.Duration // how long to wait for runs to end; 0 = not at all
	Timeout             time.Duration // for what is deleted to be gone; 0 = 5 minutes
}

// targetRemoval is a target that is being removed.
type targetRemoval struct {
	*Hub
	o RemoveOptions
	s survey
}

// RemoveTarget drains a target and deletes what bflow has made for it, on the target and on the hub. Its queue is
// stopped first, and stays so if the rest fails.
func (h *Hub) RemoveTarget(ctx context.Context, o RemoveOptions) error {
	l := &targetRemoval{Hub: h, o: o}
	for _, s := range []step{
		{"looking at the hub", l.findTarget}, {"stopping its queue", l.holdQueue}, {"looking for its runs", l.drain},
		{"leaving the target", l.leaveTarget},
		{"deleting its queue", l.deleteQueue}, {"finishing the inventory", l.forgetTarget},
	} {
		if err := s.do(ctx); err != nil {
			return fmt.Errorf("removing target %q: %w", o.Name, err)
		}
	}
	l.out.done("target %q is removed", o.Name)
	return nil
}

func (l *targetRemoval) findTarget(ctx context.Context) (err error) {
	if l.s, err = l.look(ctx, Options{Version: l.o.Version}); err != nil {
		return err
	}
	known := l.s.options.Targets
	if _, ok := known[l.o.Name]; !ok {
		if l.o.Name == contract.TargetLocal {
			return errors.New("it is the hub itself; bflow bootstrap uninstall removes that")
		}
		return fmt.Errorf("the hub has no such target; it has %s",
			strings.Join(append(slices.Sorted(maps.Keys(known)), contract.TargetLocal), ", "))
	}
	if l.o.Kubeconfig == "" && !l.o.Force {
		return errors.New(
			"--kubeconfig is required to delete what bflow created on the target: give a kubeconfig with administrator " +
				"rights on it, or leave its objects there with --force")
	}
	return nil
}

// queuePart returns the objects of the target on the hub.
func (l *targetRemoval) queuePart() Part {
	p := queueOf(l.o.Name, l.s.options)
	for _, o := range p.Objects {
		labelAsOurs(o, p.Key)
	}
	return p
}

// holdQueue stops the queue: waiting runs keep waiting, running ones keep running. Adding the target again resumes it.
func (l *targetRemoval) holdQueue(ctx context.Context) error {
	for _, o := range l.queuePart().Objects {
		if o.GetKind() != "ClusterQueue" {
			continue
		}
		if err := unstructured.SetNestedField(o.Object, "Hold", "spec", "stopPolicy"); err != nil {
			return err
		}
		// This overrides whoever stopped or resumed it before.
		if _, err := l.cluster.Apply(ctx, o, apply.Options{Force: true}); err != nil {
			return err
		}
	}
	return nil
}

func (l *targetRemoval) drain(ctx context.Context) error {
	runs, err := l.cluster.List(ctx, runKind(), "", selectRuns)
	if err != nil {
		return err
	}
	var holding, waiting []*unstructured.Unstructured
	for _, run := range runs {
		switch labels := run.GetLabels(); {
		case labels[contract.LabelTarget] == l.o.Name && slices.Contains(run.GetFinalizers(), contract.Finalizer):
			holding = append(holding, run)
		case labels[contract.LabelQueue] == l.o.Name && !finished(run):
			waiting = append(waiting, run)
		}
	}
	if len(waiting) > 0 {
		l.out.note(
			"runs still wait in its queues: %d, %s first; they wait until they are cancelled or a target of that name is "+
				"added again", len(waiting), waiting[0].GetName())
	}
	if len(holding) == 0 || l.o.Force {
		return nil
	}
	if l.isOrphaned(ctx) {
		return orphansAmong(holding)
	}
	if l.o.Wait <= 0 {
		return fmt.Errorf(
			"it has active runs: %d, %s first; its queue is stopped; wait for them with --wait, cancel them, or leave them "+
				"there with --force",
			len(holding), holding[0].GetName())
	}
	ctx, cancel := context.WithTimeout(ctx, l.o.Wait)
	defer cancel()
	return l.awaitRelease(ctx, apply.RefsOf(holding), released)
}

// leaveTarget deletes what bflow has made on the target.
func (l *targetRemoval) leaveTarget(ctx context.Context) error {
	if l.o.Kubeconfig == "" {
		l.out.note("what bflow created on the target stays there: namespace %q, service accounts and RBAC",
			contract.NamespaceSystem)
		return nil
	}
	for name, other := range l.s.options.Targets {
		if name != l.o.Name && other.UID == l.s.options.Targets[l.o.Name].UID {
			l.out.note("what bflow created on the target stays there: target %q is a part of the same cluster", name)
			return nil
		}
	}
	err := l.removeFromTarget(ctx)
	if err != nil && l.o.Force {
		l.out.note("what bflow created on the target stays there: %v", err)
		return nil
	}
	return err
}

func (l *targetRemoval) removeFromTarget(ctx context.Context) error {
	aliases := l.o.Aliases
	if aliases == nil {
		aliases = l.s.options.Targets[l.o.Name].Aliases
	}
	far, err := target.Open(l.o.Kubeconfig, l.o.Context, aliases)
	if err != nil {
		return err
	}
	found, err := far.Look(ctx)
	if err != nil {
		return err
	}
	if was := l.s.options.Targets[l.o.Name].UID; was != found.UID {
		return fmt.Errorf(
			"context %q is another cluster (its kube-system is %s, and that of the target is %s); choose the right --context",
			far.Context, found.UID, was)
	}
	return far.Remove(ctx, func(namespaces []string) ([]*unstructured.Unstructured, error) {
		return targetObjects(l.o.Name, l.s, namespaces, true) // also the NetworkPolicies of an earlier setting
	}, l.s.found.Platform.Hub, func(text string) { l.out.note("%s", text) })
}

// deleteQueue deletes the queue while the controller still knows the target, and then the credentials.
func (l *targetRemoval) deleteQueue(ctx context.Context) error {
	timeout := l.o.Timeout
	if timeout == 0 {
		timeout = defaultTimeout
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	r := removal{Hub: l.Hub, inventory: l.s.inventory}
	if err := r.deletePart(ctx, fmt.Sprintf("queue %q", l.o.Name), partTarget(l.o.Name)); err != nil {
		return err
	}
	_, err := r.remove(ctx, credentialsOf(l.o.Name))
	return err
}

func (l *targetRemoval) forgetTarget(ctx context.Context) error {
	inv := l.s.inventory.With(partTarget(l.o.Name), nil)
	delete(inv.Parts, partTarget(l.o.Name))
	inv.Settings.Targets = maps.Clone(inv.Settings.Targets)
	delete(inv.Settings.Targets, l.o.Name)
	inv.Settings.Versions = maps.Clone(inv.Settings.Versions)
	delete(inv.Settings.Versions, partTarget(l.o.Name))
	return l.writeInventory(ctx, inv)
}
