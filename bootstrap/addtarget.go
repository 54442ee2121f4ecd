package bootstrap

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"bflow.dev/bflow/bootstrap/apply"
	"bflow.dev/bflow/bootstrap/component"
	"bflow.dev/bflow/bootstrap/objects"
	"bflow.dev/bflow/bootstrap/target"
	queuetarget "bflow.dev/bflow/queue/target"
	"bflow.dev/bflow/runplan/contract"
)

// longestTarget leaves room for what object names put around the name of a target.
const longestTarget = 40

// TargetOptions configures AddTarget.
type TargetOptions struct {
	Name                string
	Kubeconfig, Context string // of a person with the rights to change the target; stored nowhere
	// host names and their addresses, where DNS of the hub does not have them; nil = as before
	Aliases    map[string]string
	Labels     map[string]string // by which runs may choose it; nil = as before
	Nodes      map[string]string // labels of its nodes, where the target is a part of a cluster; nil = as before
	LoadNodes  map[string]string // node selector of the Jobs of tasks there; nil = as before
	Namespaces []string          // of runs; none = as before, initially those of the hub
	Version    string            // of bflow
	Wait       time.Duration     // how long the controller of the hub may take to reach it; 0 = a minute
}

// Validate checks the options without asking a cluster.
func (o TargetOptions) Validate() error {
	var problems []error
	for _, wrong := range validation.NameIsDNSLabel(o.Name, false) {
		problems = append(problems, fmt.Errorf("target %q: %s", o.Name, wrong))
	}
	switch {
	case o.Name == contract.TargetLocal:
		problems = append(problems, fmt.Errorf("target %q is the hub itself; choose another name", o.Name))
	case o.Name == contract.TargetAny:
		problems = append(problems, fmt.Errorf("target %q is the name for runs without a target; choose another name",
			o.Name))
	case len(o.Name) > longestTarget:
		problems = append(problems, fmt.Errorf("target %q: a name has at most %d characters", o.Name, longestTarget))
	}
	for flag, labels := range map[string]map[string]string{"--label": o.Labels, "--node-selector": o.Nodes,
		"--load-node-selector": o.LoadNodes} {
		for _, w := range metav1validation.ValidateLabels(labels, field.NewPath(flag)) {
			problems = append(problems, errors.New(w.Error()))
		}
	}
	if o.Kubeconfig == "" {
		problems = append(problems,
			errors.New("--kubeconfig is required: give a kubeconfig with administrator rights on the target"))
	}
	return errors.Join(append(problems, Options{Namespaces: o.Namespaces}.Validate())...)
}

// addition is a target that is being added.
type addition struct {
	*Hub
	o        TargetOptions
	s        survey
	far      *target.Cluster
	found    target.Found
	settings TargetSettings
	objects  []*unstructured.Unstructured // what the target is to have
}

// AddTarget makes a cluster a target of the hub, or updates one. If dry is not nil, nothing is changed, and the diff
// goes to dry.
func (h *Hub) AddTarget(ctx context.Context, o TargetOptions, dry io.Writer) error {
	a := &addition{Hub: h, o: o}
	steps := []step{{"looking at the hub", a.lookAtHub}, {"looking at the target", a.lookAtTarget},
		{"comparing", a.checkIdentity},
		{"looking for its namespaces", a.checkNamespaces}}
	if dry != nil {
		steps = append(steps, step{"checking what would change",
			func(ctx context.Context) error { return a.preview(ctx, dry) }})
	} else {
		steps = append(steps, step{"preparing the target", a.prepareTarget},
			step{"storing its credentials", a.writeCredentials},
			step{"creating its queue", a.installQueue}, step{"waiting for the controller", a.awaitController})
	}
	for _, s := range steps {
		if err := s.do(ctx); err != nil {
			return fmt.Errorf("adding target %q: %w", o.Name, err)
		}
	}
	return nil
}

func (a *addition) lookAtHub(ctx context.Context) (err error) {
	if a.s, err = a.look(ctx, Options{Version: a.o.Version}); err != nil {
		return err
	}
	if len(a.s.inventory.Parts[partBflow]) == 0 {
		return errors.New(
			"bflow is not installed on the hub; use bflow bootstrap --single-cluster there, or choose the hub with " +
				"--hub-kubeconfig")
	}
	return nil
}

func (a *addition) lookAtTarget(ctx context.Context) (err error) {
	if a.o.Aliases == nil {
		a.o.Aliases = a.s.options.Targets[a.o.Name].Aliases
	}
	if a.far, err = target.Open(a.o.Kubeconfig, a.o.Context, a.o.Aliases); err != nil {
		return err
	}
	a.found, err = a.far.Look(ctx)
	return err
}

// checkIdentity refuses the hub itself, a second name for one cluster, and a name that another cluster has.
func (a *addition) checkIdentity(context.Context) error {
	all := a.s.options.Targets
	if a.found.UID == a.s.found.Platform.Hub {
		return fmt.Errorf(
			"context %q is the hub itself, whose target is named %q; choose the target with --kubeconfig and --context",
			a.far.Context, contract.TargetLocal)
	}
	a.settings = all[a.o.Name]
	if a.o.Nodes != nil {
		a.settings.Nodes = a.o.Nodes
	}
	if a.o.LoadNodes != nil {
		a.settings.LoadNodes = a.o.LoadNodes
	}
	for name, other := range all {
		if name != a.o.Name && other.UID == a.found.UID && !areApart(a.settings.Nodes, other.Nodes) {
			return fmt.Errorf(
				"context %q is already target %q; because devices are counted once, a cluster can be one target, or one "+
					"target for each --node-selector", a.far.Context, name)
		}
	}
	if was := a.settings.UID; was != "" && was != a.found.UID {
		return fmt.Errorf(
			"that name belongs to another cluster (its kube-system is %s, and that of context %q is %s); choose the right "+
				"--context, or remove the target first",
			was, a.far.Context, a.found.UID)
	}
	a.settings.UID, a.settings.Aliases = a.found.UID, a.o.Aliases
	if a.o.Labels != nil {
		a.settings.Labels = a.o.Labels
	}
	if len(a.o.Namespaces) > 0 {
		a.settings.Namespaces = a.o.Namespaces
	}
	for _, n := range a.settings.Namespaces {
		if !slices.Contains(a.s.options.Namespaces, n) {
			return fmt.Errorf(
				"namespace %q is not one of the hub's namespaces for runs (%s); add it with bflow bootstrap namespace add %s", n,
				strings.Join(a.s.options.Namespaces, ", "), n)
		}
	}
	a.s.options.Targets = maps.Clone(all)
	if a.s.options.Targets == nil {
		a.s.options.Targets = map[string]TargetSettings{}
	}
	if err := a.renderTarget(); err != nil {
		return err
	}
	a.s.options.Targets[a.o.Name] = a.settings
	return nil
}

// areApart reports whether no node can match both selectors.
func areApart(a, b map[string]string) bool {
	for key, value := range a {
		if other, both := b[key]; both && other != value {
			return true
		}
	}
	return false
}

func (a *addition) renderTarget() (err error) {
	policies, err := component.HasNetworkPolicies(a.s.options.Components)
	if err != nil {
		return err
	}
	if a.objects, err = targetObjects(a.o.Name, a.s, a.namespaces(), policies); err != nil {
		return err
	}
	rights, err := rightsOnTargets()
	a.settings.Rights = map[string]string{}
	for _, n := range a.namespaces() {
		a.settings.Rights[n] = rights
	}
	return err
}

func (a *addition) namespaces() []string {
	if len(a.settings.Namespaces) > 0 {
		return a.settings.Namespaces
	}
	return a.s.options.Namespaces
}

func targetObjects(name string, s survey, namespaces []string, policies bool) ([]*unstructured.Unstructured, error) {
	return objects.Target{Name: name, Namespaces: namespaces, Hub: s.found.Platform.Hub, Version: s.options.Version,
		NetworkPolicies: policies}.Objects()
}

// checkNamespaces fails, before anything is changed, if somebody has deleted a namespace that is to get the queue.
func (a *addition) checkNamespaces(ctx context.Context) error {
	for _, n := range a.namespaces() {
		live, err := a.cluster.Get(ctx, apply.Ref{Kind: "Namespace", Name: n})
		if err != nil {
			return err
		}
		if live == nil {
			return fmt.Errorf(
				"namespace %q of the hub is gone; unregister it with bflow bootstrap namespace remove %s, or recreate it with "+
					"bflow bootstrap upgrade", n, n)
		}
	}
	return nil
}

// queuePart returns the objects of the target on the hub.
func (a *addition) queuePart() Part {
	p := queueOf(a.o.Name, a.s.options)
	for _, o := range p.Objects {
		labelAsOurs(o, p.Key)
	}
	return p
}

func (a *addition) preview(ctx context.Context, w io.Writer) error {
	result, err := a.far.Prepare(ctx, a.objects, a.s.found.Platform.Hub, a.o.Name, true, w)
	if err != nil {
		return err
	}
	a.out.note("on the target: %s", describeResult(result))
	count := map[apply.Action]int{}
	p := a.queuePart()
	for _, o := range p.Objects {
		change, err := a.cluster.Apply(ctx, o, apply.Options{DryRun: true})
		if err != nil {
			return err
		}
		count[change.Action]++
		if _, err := io.WriteString(w, change.Diff()); err != nil {
			return err
		}
	}
	a.out.note("on the hub: %s, and the Secret with a token", describeCounts(len(p.Objects), count, 0))
	return nil
}

func describeResult(r target.Result) string {
	return describeCounts(r.Objects, map[apply.Action]int{apply.Created: r.Created, apply.Changed: r.Changed}, 0)
}

func (a *addition) prepareTarget(ctx context.Context) error {
	result, err := a.far.Prepare(ctx, a.objects, a.s.found.Platform.Hub, a.o.Name, false, nil)
	if err != nil {
		return err
	}
	a.out.done("target %q: Kubernetes %s (%s)", a.o.Name, strings.TrimPrefix(a.found.Version, "v"),
		describeResult(result))
	for hub, name := range a.found.Hubs {
		if hub != a.s.found.Platform.Hub {
			a.out.note("another hub also uses it, as %q; devices of its runs count as used by others", name)
		}
	}
	return nil
}

// writeCredentials writes the Secret: the address of the target and a token of the hub's own account there.
func (a *addition) writeCredentials(ctx context.Context) error {
	text, expires, err := a.far.Token(ctx, queuetarget.AgentTokenLifetime)
	if err != nil {
		return err
	}
	kubeconfig, ca, err := a.far.Kubeconfig()
	if err != nil {
		return err
	}
	secret, err := queuetarget.Credentials{Target: a.o.Name, Kubeconfig: kubeconfig, CA: ca, Token: text, Expires: expires,
		Renew: queuetarget.HalfLife(time.Now(), expires), UID: a.found.UID, Aliases: a.o.Aliases, Hub: a.s.found.Platform.Hub,
		Nodes:     labels.Set(a.settings.Nodes).String(),
		LoadNodes: labels.Set(a.settings.LoadNodes).String()}.Secret()
	if err != nil {
		return err
	}
	fields, err := runtime.DefaultUnstructuredConverter.ToUnstructured(secret)
	if err != nil {
		return err
	}
	unstructured.RemoveNestedField(fields, "metadata", "creationTimestamp")
	// The controller has replaced the first token by newer ones.
	_, err = a.cluster.Apply(ctx, &unstructured.Unstructured{Object: fields}, apply.Options{Force: true})
	return err
}

// installQueue writes the inventory first, and then the objects that it lists.
func (a *addition) installQueue(ctx context.Context) error {
	p := a.queuePart()
	var entries []Entry
	for _, ref := range apply.RefsOf(p.Objects) {
		live, err := a.cluster.Get(ctx, ref)
		if err != nil {
			return err
		}
		if live != nil && live.GetLabels()[contract.LabelManagedBy] != contract.ManagedBy {
			return fmt.Errorf("%s exists and was not created by bflow; choose another name for the target, or remove the object",
				ref)
		}
		entries = append(entries, Entry{Ref: ref})
	}
	a.s.inventory = a.s.inventory.With(p.Key, entries)
	a.s.inventory.Settings.Targets = a.s.options.Targets
	versions := maps.Clone(a.s.inventory.Settings.Versions)
	if versions == nil {
		versions = map[string]string{}
	}
	versions[p.Key] = p.Version
	a.s.inventory.Settings.Versions = versions
	if err := a.writeInventory(ctx, a.s.inventory); err != nil {
		return err
	}
	return a.install(ctx, p, a.s)
}

// awaitController waits until the controller reports that it sees the target.
func (a *addition) awaitController(ctx context.Context) error {
	wait := a.o.Wait
	if wait == 0 {
		wait = time.Minute
	}
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	var last queuetarget.Status
	err := a.cluster.Wait(ctx, []apply.Ref{seenRef(a.o.Name)}, func(u *unstructured.Unstructured) (bool, string) {
		last = readSeen(u)
		return last.Up && last.Complete, reasonNotReached(last)
	}, a.out.waiting)
	if err != nil {
		return fmt.Errorf(
			"it was added, but bflow-controller on the hub cannot reach it: %s; its address must be reachable from pods of "+
				"the hub; if only its name does not resolve there, use --host-alias NAME=IP", reasonNotReached(last))
	}
	a.out.done("the controller reaches it: %s", describeSeen(last))
	return nil
}

func reasonNotReached(t queuetarget.Status) string {
	switch {
	case t.Why != "":
		return t.Why
	case !t.Up:
		return "the controller has not reported on it yet"
	}
	return "its nodes and pods are being read"
}
