package provision

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"bflow.dev/bflow/internal/durable"
	"bflow.dev/bflow/platform"
	"bflow.dev/bflow/platform/engine"
	"bflow.dev/bflow/results/checksums"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/tasks/openai"
	"bflow.dev/bflow/tasks/outbound"
	"bflow.dev/bflow/tasks/provision/cluster"
	"bflow.dev/bflow/tasks/step"
)

// EndpointSchema names the format of deployment/endpoint.json.
const EndpointSchema = "bflow.endpoint/1"

// Endpoint is deployment/endpoint.json: what answers, and how it came to be.
type Endpoint struct {
	Schema       string    `json:"schema"`
	Target       string    `json:"target,omitempty"`   // where the run was let start
	URL          string    `json:"url"`                // base URL without a trailing slash
	Replicas     []string  `json:"replicas,omitempty"` // base URL of each, where they can be reached one by one
	Model        string    `json:"model"`
	ServedModels []string  `json:"served_models"`
	Engine       string    `json:"engine"`
	Version      string    `json:"version,omitempty"` // of the engine, where it says so
	Release      string    `json:"release"`
	Deployed     bool      `json:"deployed"` // false: it was there before
	Started      time.Time `json:"started"`
	Ready        time.Time `json:"ready"`
	TruthLog     string    `json:"truth_log,omitempty"` // engine sim: relative to the run directory
	Nodes        []string  `json:"nodes,omitempty"`     // names of those that its pods run on

	Restarts cluster.Restarts `json:"restarts,omitempty"` // of its containers, before it was ready
}

// deployer brings one kind of engine up. It returns as soon as the server was started.
type deployer interface {
	deploy(ctx context.Context, d deployment) (started, error)
}

// deployment is what a deployer needs to know.
type deployment struct {
	plan    *runplan.RunPlan
	runDir  string
	env     func(string) string
	secrets *step.Secrets
}

// started is a server that was told to start. alive returns an error, with the reason, once it has ended.
type started struct {
	url      string
	replicas []string // base URL of each, where there are several
	nodes    []string
	alive    func() error
	deployed bool
	truthLog string
	restarts func(ctx context.Context) (cluster.Restarts, error) // of its containers until now; nil: none are counted
}

// up deploys and waits. Why it failed goes to the result of that name and to the events, for those who see no log.
func up(ctx context.Context, s step.Streams, o Options, plan *runplan.RunPlan) error {
	if err := errors.Join(step.KeepPlan(o.RunDir, plan), checksums.Retract(o.RunDir)); err != nil {
		return err
	}
	plan = plan.On(s.Env(contract.EnvTarget))
	if err := runplan.CheckSecrets(plan); err != nil {
		err = step.Exit(contract.ExitUsage, fmt.Errorf("provisioning: %w", err))
		return errors.Join(err, explain(o, err))
	}
	where, err := placeOf(s, o, plan)
	if err != nil {
		err = step.Exit(contract.ExitUsage, err)
		return errors.Join(err, explain(o, err))
	}
	return upAt(ctx, s, o, plan, where)
}

// upAt asks first of all whether the run may be: for one that may not, nothing is touched, not even what carries its
// name.
func upAt(ctx context.Context, s step.Streams, o Options, plan *runplan.RunPlan, where place) error {
	if err := where.admitted(ctx); err != nil {
		err = step.Exit(contract.ExitUsage, err)
		return errors.Join(err, explain(o, err))
	}
	end, err := bringUp(ctx, s, o, plan, where)
	if err != nil {
		return errors.Join(err, explain(o, err), where.abandon(ctx))
	}
	end.Target = plan.Target.Name
	return publish(o, end)
}

func bringUp(ctx context.Context, s step.Streams, o Options, plan *runplan.RunPlan, where place) (Endpoint, error) {
	dep, err := where.deployer(plan)
	if err != nil {
		return Endpoint{}, step.Exit(contract.ExitUsage, err)
	}
	if err := where.teardown(ctx); err != nil { // of an earlier attempt
		return Endpoint{}, err
	}
	begin := time.Now().UTC()
	srv, err := dep.deploy(ctx, deployment{plan: plan, runDir: o.RunDir, env: s.Env, secrets: o.Secrets()})
	if err != nil {
		return Endpoint{}, unhealthy(err)
	}
	client, err := where.client(plan, srv.url)
	if err != nil {
		return Endpoint{}, err
	}
	if client == nil {
		fmt.Fprintf(s.Err, "%s can be reached only from target %q\n", srv.url, plan.Target.Name)
		return Endpoint{Schema: EndpointSchema, URL: srv.url, Replicas: []string{srv.url}, Model: plan.Deployment.Model.Name,
			ServedModels: []string{},
			Engine:       plan.Deployment.Engine.Kind, Release: runplan.Release(plan, o.RunID), Started: begin,
			Ready: time.Now().UTC()}, nil
	}
	defer client.Close()
	fmt.Fprintf(s.Err, "waiting for %s to serve %q\n", srv.url, plan.Deployment.Model.Name)
	end, err := waitReady(ctx, s, client, plan, srv)
	end.Release, end.Started, end.Ready = runplan.Release(plan, o.RunID), begin, time.Now().UTC()
	if err == nil && srv.restarts != nil {
		end.Restarts, err = srv.restarts(ctx)
	}
	return end, err
}

// unhealthy gives err the exit code of an unfit server, unless it has one already.
func unhealthy(err error) error {
	if exit := new(step.ExitError); errors.As(err, &exit) || errors.Is(err, context.Canceled) {
		return err
	}
	return step.Exit(contract.ExitUnhealthy, err)
}

// longestReason keeps the result small: all results of a pod share 4 KiB.
const longestReason = 1000

// explain tells err to those who do not read the log of the step.
func explain(o Options, err error) error {
	text := strings.Join(strings.Fields(err.Error()), " ")
	word := "failed"
	if errors.Is(err, context.Canceled) {
		word = "cancelled"
	}
	failed := step.AppendEvent(o.RunDir, step.Event{Source: contract.Provision, Event: word, Message: text,
		Fields: map[string]string{"exit_code": strconv.Itoa(step.Code(err))}})
	if o.ReasonResult == "" {
		return failed
	}
	text = strings.ToValidUTF8(text[:min(len(text), longestReason)], "")
	return errors.Join(failed, durable.Replace(o.ReasonResult, []byte(text)))
}

func publish(o Options, end Endpoint) error {
	if err := durable.WriteJSON(filepath.Join(o.RunDir, contract.FileEndpoint), end); err != nil {
		return err
	}
	if err := step.AppendEvent(o.RunDir, step.Event{Source: contract.Provision, Event: "ready",
		Message: fmt.Sprintf("%s serves %q after %s", end.URL, end.Model,
			end.Ready.Sub(end.Started).Round(time.Millisecond))}); err != nil {
		return err
	}
	if o.EndpointResult == "" {
		return nil
	}
	return durable.Replace(o.EndpointResult, []byte(end.URL))
}

// deployerFor picks by endpoint and engine kind, on this host.
func deployerFor(plan *runplan.RunPlan) (deployer, error) {
	d := plan.Deployment
	switch {
	case d.Endpoint != nil:
		return existing{}, nil
	case !plan.Execution.Phases.Deploy:
		return nil, fmt.Errorf("provisioning %q: stages.deploy is false and target.base_url names no server to use",
			plan.Name)
	}
	var how deployer
	switch kind := engine.Of(d.Engine.Kind); {
	case d.Engine.Kind == "sim":
		how = simulated{}
	case d.Engine.Kind == "command":
		how = command{}
	case kind.RunsHere:
		how = program{kind}
	default:
		return nil, fmt.Errorf("provisioning %q: engine %q on platform %q needs a cluster; on this machine use engine %s, "+
			"or target.base_url", plan.Name, d.Engine.Kind, d.Platform, strings.Join(here(), ", engine "))
	}
	if where, err := platform.All().Of(&d); err == nil && where.Pods(&d) > max(1, d.Replicas) {
		return nil, fmt.Errorf("provisioning %q: platform %q is more than its model servers and needs a cluster; on this "+
			"machine use another platform, or target.base_url", plan.Name, d.Platform)
	}
	if d.Replicas > 1 {
		return nil, fmt.Errorf("provisioning %q: %d replicas need a cluster; on this machine use one, or target.base_url",
			plan.Name, d.Replicas)
	}
	return how, nil
}

// here are the engines that run on this machine.
func here() []string {
	kinds := []string{"sim", "command"}
	for _, e := range engine.All() {
		if e.RunsHere {
			kinds = append(kinds, e.Kind)
		}
	}
	return kinds
}

// existing is a server that somebody else runs.
type existing struct{}

func (existing) deploy(_ context.Context, d deployment) (started, error) {
	where, err := platform.All().Of(&d.plan.Deployment)
	if err != nil {
		return started{}, err
	}
	return started{url: where.Endpoint(&d.plan.Deployment, "").URL, alive: func() error { return nil }}, nil
}

func newClient(env func(string) string, secrets *step.Secrets, plan *runplan.RunPlan,
	url string) (*openai.Client, error) {
	key, err := step.APIKey(env)
	if err != nil {
		return nil, err
	}
	if url, err = runplan.FillAddress(url, secrets.Find); err != nil {
		return nil, err
	}
	if plan, err = plan.WithLoad(0, secrets.Find); err != nil {
		return nil, err
	}
	api := runplan.API{VerifyTLS: true}
	if len(plan.Measurements) > 0 {
		api = plan.Measurements[0].API
	}
	proxy, err := outbound.Proxy(url, &plan.Deployment, api, env)
	if err != nil {
		return nil, step.Exit(contract.ExitUsage, err)
	}
	client, err := openai.New(url, api, key, proxy)
	if err != nil {
		return nil, step.Exit(contract.ExitUsage, err)
	}
	client.Secrets = secrets.Values()
	return client, nil
}
