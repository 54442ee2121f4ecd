package provision

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"time"

	"bflow.dev/bflow/internal/durable"
	"bflow.dev/bflow/platform"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/tasks/openai"
	"bflow.dev/bflow/tasks/provision/cluster"
	"bflow.dev/bflow/tasks/step"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

const (
	podStart        = time.Minute      // a pod is scheduled and its image pulled, before the server can begin
	diagnosticsTime = time.Minute      // logs, events and objects of a server
	abandonTime     = 25 * time.Second // a step that was told to end is killed after 30 s
)

// remote is a cluster.
type remote struct {
	s     step.Streams
	o     Options
	plan  *runplan.RunPlan
	where *platform.Platform // of the plan
	c     *cluster.Cluster
	run   cluster.Run
	hub   func() (*cluster.Cluster, error) // where the PipelineRun is
}

// newRemote finds the cluster of the plan. Without one, what a run made is in the namespace of its tasks.
func newRemote(s step.Streams, o Options, plan *runplan.RunPlan) (*remote, error) {
	target := runplan.Target{Name: contract.TargetLocal, Namespace: s.Env(contract.EnvNamespace)}
	if plan != nil {
		target = plan.Target
	} else if target.Namespace == "" { // nobody's objects but the run's own may go
		return nil, fmt.Errorf("looking for the objects of run %q: the namespace is not known; set %s", o.RunID,
			contract.EnvNamespace)
	}
	c, err := cluster.Connect([]string{o.TargetWorkspace, o.TargetDir}, target.Name, target.Namespace, s.Env)
	if err != nil {
		return nil, err
	}
	c.Redaction, c.Unknown = redaction(s, o, plan)
	hub := func() (*cluster.Cluster, error) { return cluster.Here(target.Namespace, s.Env) }
	r := &remote{s: s, o: o, plan: plan, c: c, run: cluster.RunOf(o.RunID, o.Attempt, s.Env), hub: hub}
	if plan != nil {
		all := platform.All()
		if r.where, err = all.Of(&plan.Deployment); err != nil { // whatever was made is still removed
			r.where = all.Named(plan.Deployment.Platform)
		}
		c.Kinds = r.where.KindsRemoved()
	}
	return r, nil
}

// admitted asks the hub. Outside of a cluster there is none to ask: who calls the step by hand has the rights of a
// person.
func (r *remote) admitted(ctx context.Context) error {
	hub, err := r.hub()
	if errors.Is(err, cluster.ErrOutside) {
		return nil
	}
	if err != nil {
		return err
	}
	return hub.Admitted(ctx, r.run)
}

func (r *remote) deployer(plan *runplan.RunPlan) (deployer, error) {
	switch {
	case plan.Deployment.Engine.Kind == "command":
		return nil,
			fmt.Errorf(
				"provisioning %q: engine command runs only on a local machine; use an engine with an image, or bflow run --local",
				plan.Name)
	case r.where.LacksFor(&plan.Deployment) != "":
		return nil, fmt.Errorf("provisioning %q: %s", plan.Name,
			r.where.Undeployable(plan.Deployment.Profile, r.where.LacksFor(&plan.Deployment)))
	}
	return r, cluster.Covered(plan, r.where, r.s.Env(contract.EnvRequests))
}

// deploy returns once every pod is ready: the API server says when, nobody asks the engine.
func (r *remote) deploy(ctx context.Context, d deployment) (started, error) {
	objects, err := r.c.Render(ctx, d.plan, r.run, d.env(contract.EnvSimImage), d.secrets.Find)
	if err != nil {
		return started{}, step.Exit(contract.ExitUsage, err)
	}
	text, err := cluster.YAML(objects)
	if err != nil {
		return started{}, err
	}
	if err := durable.WriteFile(filepath.Join(d.runDir, cluster.FileRendered), text); err != nil {
		return started{}, step.Exit(contract.ExitFail, err)
	}
	if err := r.create(ctx, objects); err != nil {
		return started{}, step.Exit(contract.ExitFail, err)
	}
	pods, err := r.await(ctx, d.plan.Timeouts.Ready.D())
	if err != nil {
		return started{}, err
	}
	srv := started{url: r.c.URL(r.address(d.plan)), nodes: nodesOf(pods), deployed: true,
		alive: func() error { return nil }}
	srv.restarts = func(ctx context.Context) (cluster.Restarts, error) { return r.c.Restarts(ctx, r.run) }
	if len(pods) > 1 {
		srv.replicas = cluster.PodURLs(d.plan, pods)
	}
	return srv, nil
}

// create makes the objects, unless the target has been given to another run meanwhile. What takes longer than its look
// at the fence holds is given up: a run with a fence must not come late.
func (r *remote) create(ctx context.Context, objects []runtime.Object) error {
	fence := r.s.Env(contract.EnvFence)
	if fence == "" {
		return r.c.Create(ctx, objects)
	}
	ctx, cancel := context.WithTimeoutCause(ctx, cluster.FenceHolds,
		fmt.Errorf("it took longer than the lock of the target stays valid"))
	defer cancel()
	if err := r.c.Fenced(ctx, r.run.Hub, fence); err != nil {
		return err
	}
	return r.c.Create(ctx, objects)
}

// client asks through the API server where the server is on another cluster. It does without the key of the server
// then, because the API server keeps that header for itself.
func (r *remote) client(plan *runplan.RunPlan, url string) (*openai.Client, error) {
	if r.c.Local {
		return newClient(r.s.Env, r.o.Secrets(), plan, url)
	}
	http, base := r.c.Proxy(r.address(plan))
	return &openai.Client{Base: base, HTTP: http, Proxied: true}, nil
}

// address is where the requests of a plan go.
func (r *remote) address(plan *runplan.RunPlan) platform.Address {
	return r.where.Endpoint(&plan.Deployment, runplan.Release(plan, r.o.RunID))
}

func (r *remote) await(ctx context.Context, limit time.Duration) ([]*corev1.Pod, error) {
	if limit > 0 {
		limit += podStart
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limit, fmt.Errorf("not ready after %s", limit))
		defer cancel()
	}
	tell := func(line string) { fmt.Fprintf(r.s.Err, "provision: %s\n", line) }
	return r.c.Await(ctx, r.where, &r.plan.Deployment, r.run, tell)
}

func nodesOf(pods []*corev1.Pod) []string {
	var names []string
	for _, pod := range pods {
		names = append(names, pod.Spec.NodeName)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// keep also notes an engine that did not live through the load: its numbers are not to be believed.
func (r *remote) keep(ctx context.Context) error {
	end, missing := r.endpoint()
	pods, err := r.gather(ctx, end.Restarts)
	if missing != nil && !errors.Is(missing, fs.ErrNotExist) {
		err = errors.Join(err, missing)
	}
	if missing != nil || r.plan == nil {
		return err
	}
	if text := cluster.Interrupted(pods, r.where.Pods(&r.plan.Deployment), end.Ready, end.Restarts); text != "" &&
		pods != nil {
		err = errors.Join(err, durable.WriteJSON(filepath.Join(r.o.RunDir, contract.FileEngineExit), exitRecord{Text: text}))
	}
	return err
}

// endpoint is what was written down when the server was ready.
func (r *remote) endpoint() (end Endpoint, err error) {
	return end, step.ReadJSON(filepath.Join(r.o.RunDir, contract.FileEndpoint), &end)
}

func (r *remote) gather(ctx context.Context, before cluster.Restarts) ([]*corev1.Pod, error) {
	ctx, cancel := context.WithTimeout(ctx, diagnosticsTime)
	defer cancel()
	return r.c.Gather(ctx, r.run, r.o.RunDir, before)
}

func (r *remote) teardown(ctx context.Context) error { return r.c.Remove(ctx, r.run) }

func (r *remote) rescue(ctx context.Context) error {
	end, _ := r.endpoint() // without one, the server never was ready
	if _, err := r.gather(ctx, end.Restarts); err != nil {
		fmt.Fprintf(r.s.Err, "provision: %v\n", err)
	}
	return r.teardown(ctx)
}

func (r *remote) abandon(ctx context.Context) error {
	limit := releaseTime
	if ctx.Err() != nil {
		limit = abandonTime
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	return r.rescue(ctx)
}
