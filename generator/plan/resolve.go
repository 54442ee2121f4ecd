package plan

import (
	"maps"
	"reflect"
	"slices"
	"time"

	"bflow.dev/bflow/generator/spec"
	"bflow.dev/bflow/internal/problem"
	"bflow.dev/bflow/internal/saturate"
	"bflow.dev/bflow/platform"
	"bflow.dev/bflow/platform/engine"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/literal"
)

// resolver makes plans of points.
type resolver struct {
	*source
	opt          *Options
	platforms    platform.Registry
	measurements *variants[measured]
	secrets      map[string]literal.Secret
	questions    map[asked]*runplan.Metrics
}

func newResolver(s *source, opt *Options) *resolver {
	return &resolver{
		source: s, opt: opt, platforms: opt.Platforms.OrAll(),
		secrets: map[string]literal.Secret{}, questions: map[asked]*runplan.Metrics{},
		measurements: newVariants[measured](s.grid, s.axesThat(touchesLoad)),
	}
}

// point is one combination of values on its way to a plan.
type point struct {
	*resolver
	digits   []int
	problems problem.List
}

// spec returns the experiment at this point, as far as the top-level key goes.
func (p *point) spec(key string) *spec.ExperimentSpec {
	s, problems := p.section(key, p.digits)
	p.problems.Add(problems...)
	return s
}

func (p *point) model() string {
	return pick(p.source, atModel, p.spec("model").Model.Name, p.digits)
}

// load returns the measurement of the point.
func (p *point) load() measured {
	m, problems := p.measurements.at(p.digits, p.measure)
	p.problems.Add(problems...)
	p.keep(m.secrets)
	return m
}

// keep remembers credentials that files held literally.
func (p *point) keep(taken []literal.Secret) {
	for _, s := range taken {
		p.secrets[s.Name] = s
	}
}

// taker takes literal credentials, and warns of them at a path of the experiment.
func (p *point) taker(path string) *literal.Taker {
	return &literal.Taker{Told: func(text string) { p.problems.Add(p.exp.Warning("spec."+path, "%s", text)) }}
}

// takeLiterals takes the literal credentials of a deployment.
func (p *point) takeLiterals(d *runplan.Deployment) {
	taker := p.taker("deployment_profile")
	d.Env = taker.Texts("variable", d.Env)
	d.Args, d.Engine.Args = taker.Args("argument", d.Args), taker.Args("argument", d.Engine.Args)
	d.Engine.Command = taker.Args("argument", d.Engine.Command)
	d.RepoURL = taker.Address("a part of repo_url", d.RepoURL)
	p.keep(taker.Taken)
	if d.Endpoint != nil {
		taker = p.taker("target.base_url")
		d.Endpoint.BaseURL = taker.Address("a part of it", d.Endpoint.BaseURL)
		p.keep(taker.Taken)
	}
}

// resolve returns the plan of the point, without name and index, and with the loads of the points that share its
// deployment, or nil where the problems hold an error.
func (p *point) resolve(loads []measured, benchmark string) *runplan.RunPlan {
	profile, problems := p.deployment(p.digits)
	p.problems.Add(problems...)
	metrics, problems := p.metricsProfile(p.digits)
	p.problems.Add(problems...)
	if p.problems.Err() != nil {
		return nil
	}
	d := p.layers().apply(&profile.Spec)
	plan := &runplan.RunPlan{APIVersion: runplan.APIVersion, Kind: runplan.Kind, Experiment: p.exp.Metadata.Name,
		Labels: p.exp.Metadata.Labels}
	p.deploy(plan, profile, d, loads[0].needs)
	if p.problems.Err() != nil {
		return nil
	}
	p.takeLiterals(&plan.Deployment)
	for _, l := range loads {
		m := l.measurement
		m.API.Path = routed(&plan.Deployment, m.API.Path)
		plan.Measurements = append(plan.Measurements, m)
	}
	p.objectives(plan, loads)
	p.surround(plan, d)
	p.checkPlatform(plan)
	if plan.Execution.Phases.Collect {
		plan.Metrics = p.metricsOf(metrics, d, plan)
	}
	p.pin(plan, metrics.Metadata.Name, benchmark)
	p.bound(plan)
	return plan
}

func (p *point) layers() *layers {
	return &layers{
		source: p.source, digits: p.digits, over: &p.spec("overrides").Overrides,
		own: p.spec("model_overrides").ModelOverrides[p.model()], engine: p.spec("engine").Engine, platforms: p.platforms,
	}
}

// deploy fills in the deployment of plan.
func (p *point) deploy(plan *runplan.RunPlan, profile *spec.DeploymentProfile, d *spec.DeploymentSpec, needs int) {
	target := p.spec("target").Target
	p.check(profile, d, target.BaseURL != "")
	if !engine.Of(engineOf(d, p.platforms.Named(d.Platform)).Kind).NoVLLMArgs {
		args, err := withMaxModelLen(d.Runtime.VLLMArgs, needs)
		if err != nil {
			p.problems.Add(p.locate(profile, "runtime.vllm_args", "%s", err))
		}
		d.Runtime.VLLMArgs = args
	}
	d.EndpointScope = orElse(target.EndpointScope, d.EndpointScope)
	var err error
	plan.Deployment, err = p.deploymentOf(profile.Metadata.Name, p.model(), d)
	if err != nil {
		p.problems.Add(profile.Problem("spec", "%s", err))
	}
	if target.BaseURL != "" {
		e := runplan.Endpoint{BaseURL: target.BaseURL, MetricsRelease: target.MetricsRelease}
		platform.UseEndpoint(&plan.Deployment, e, target.Path)
	}
	p.hubToken(&plan.Deployment)
}

// hubToken is the variable by which model servers, and what downloads their files, get the token of the model hub.
const hubToken = "HF_TOKEN"

// hubToken refers to the token of the model hub where a server has a use for it.
func (p *point) hubToken(d *runplan.Deployment) {
	const path = "spec.model.token_secret"
	token := p.spec("model").Model.TokenSecret
	switch {
	case token == nil:
	case d.Endpoint != nil:
		p.problems.Add(p.exp.Warning(path, "it has no effect: the server of target.base_url is not deployed"))
	case !engine.Of(d.Engine.Kind).ServesFiles:
		p.problems.Add(p.exp.Warning(path, "it has no effect: engine %q loads no model", d.Engine.Kind))
	case d.Env[hubToken] != "":
		p.problems.Add(p.exp.Problem(path, "runtime.env sets %s, too; keep one of them", hubToken))
	default:
		d.Env = maps.Clone(d.Env)
		if d.Env == nil {
			d.Env = map[string]string{}
		}
		d.Env[hubToken] = runplan.SecretKey(*token).Reference()
	}
}

// objectives fills in what the loads of plan are judged by: what the experiment says, else what the words of each load
// name. Those stand beside the load where loads of one deployment differ in them.
func (p *point) objectives(plan *runplan.RunPlan, loads []measured) {
	alike := !slices.ContainsFunc(loads, func(l measured) bool { return !reflect.DeepEqual(l.slo, loads[0].slo) })
	switch slo := p.spec("slo").SLO; {
	case slo != nil:
		plan.SLO = sloOf(slo)
	case alike:
		plan.SLO = loads[0].slo
	default:
		for i := range loads {
			plan.Measurements[i].SLO = loads[i].slo
		}
	}
	for i := range plan.Measurements {
		if slo := plan.Objectives(i); searches(&plan.Measurements[i]) && (slo == nil || slo.Goodput == nil) {
			p.problems.Add(
				p.exp.Problem("spec",
					"a search needs slo.goodput, which defines the requests that count as good, such as {min: 0.95, ttft: 500ms}"))
		}
	}
}

// searches says whether load-gen looks for the highest load: the judge of a level is the goodput.
func searches(m *runplan.Measurement) bool {
	return m.Search != nil && m.Runner != runplan.RunnerExternal
}

// surround fills in what is around the measurement: target, queue, execution.
func (p *point) surround(plan *runplan.RunPlan, d *spec.DeploymentSpec) {
	cluster := pick(p.source, atTarget, p.exp.Spec.TargetClusters, p.digits)
	experiment := *p.spec("target_cluster")
	experiment.ServiceAccount = p.spec("service_account").ServiceAccount
	plan.Target = targetOf(&experiment, cluster, orElse(p.spec("namespace").Namespace, orElse(d.Namespace, "benchflow")))
	plan.Target.Namespace = orElse(p.opt.Namespace, plan.Target.Namespace)
	plan.Execution = executionOf(p.spec("execution").Execution, p.spec("ttl_seconds_after_finished").TTLSeconds)
	plan.Execution.Phases = phasesOf(p.spec("stages").Stages, &plan.Deployment)
	p.keepServer(plan)
	plan.Execution.MaxParallel, plan.Execution.FailFast = p.exp.Spec.Matrix.MaxParallel, p.exp.Spec.Matrix.FailFast
	if placement := d.Runtime.Placement; placement != nil && placement.Mode == "sequential" {
		plan.Execution.MaxParallel = 1
	}
	var err error
	if plan.Queue, err = p.queueOf(p.spec("queue").Queue, cluster, plan); err != nil {
		p.problems.Add(p.exp.Problem("spec", "deployment: %s", err))
	}
}

// pin replaces names by immutable ones and names where results go, which may depend on them.
func (p *point) pin(plan *runplan.RunPlan, metrics, benchmark string) {
	pinner := newPinner(p.opt, p.spec("pins").Pins)
	pinner.apply(plan)
	p.problems.Add(p.unpinned(pinner)...)
	plan.Sinks = p.sinksOf(p.spec("mlflow").MLflow, plan, benchmark, metrics, pinner.commit(plan.Deployment.RepoRef))
}

// bound computes the limits of plan, and warns of a load that cannot end within that of the whole run.
func (p *point) bound(plan *runplan.RunPlan) {
	limit := p.spec("execution").Execution.Timeout
	plan.Timeouts = timeoutsOf(plan, limit)
	var sum time.Duration
	for _, d := range plan.Timeouts.Measurement {
		sum = saturate.Plus(sum, d.D())
	}
	if sum > limit {
		p.problems.Add(p.exp.Warning("spec.execution.timeout",
			"the load alone takes %s, but the run times out after %s; raise execution.timeout", sum, limit))
	}
}
