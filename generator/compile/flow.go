package compile

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"

	"bflow.dev/bflow/pipelines"
	"bflow.dev/bflow/pipelines/bundle/content"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
)

// flow is the Pipeline of a shape with the Tasks it refers to.
type flow struct {
	tasks    []*tektonv1.Task
	pipeline *tektonv1.Pipeline
	bundled  bool // the bundle holds pipeline too
}

// flowKey tells flows apart: the JSON of a shape and of the images, the namespace, and who fetches a bundle.
type flowKey struct{ shape, images, namespace, account string }

func (c *compiler) flow(plan *runplan.RunPlan, secrets bool) (*flow, error) {
	shape, images := c.shape(plan), c.images(plan)
	shape.Secrets = secrets
	key := flowKey{shape: mustJSON(shape), images: mustJSON(images), namespace: plan.Target.Namespace,
		account: account(plan)}
	if f := c.flows[key]; f != nil {
		return f, nil
	}
	f, err := c.newFlow(shape, images, key)
	if err != nil {
		return nil, err
	}
	c.flows[key] = f
	return f, nil
}

func (c *compiler) newFlow(shape pipelines.Shape, images map[string]string, key flowKey) (*flow, error) {
	var f flow
	namespace := key.namespace
	ref := func(task string) *tektonv1.TaskRef {
		return &tektonv1.TaskRef{ResolverRef: c.inBundle("task", task, key.account)}
	}
	if c.Bundle == "" {
		tasks, err := pipelines.Tasks(pipelines.Release{Version: c.tag(), Images: images})
		if err != nil {
			return nil, err
		}
		names := map[string]string{}
		f.tasks = needed(tasks, shape, namespace, names)
		ref = func(task string) *tektonv1.TaskRef {
			return &tektonv1.TaskRef{Name: names[task], Kind: tektonv1.NamespacedTaskKind}
		}
	}
	f.pipeline = pipelines.New("", c.tag(), shape, ref)
	f.pipeline.Namespace = namespace
	f.pipeline.Name = contentName("bflow-run", f.pipeline)
	if f.bundled = c.Bundle != "" && content.Has(shape); f.bundled {
		f.pipeline.Name = content.PipelineName(c.tag(), shape)
	}
	return &f, nil
}

// needed returns the Tasks of shape, named by their content: a newer bflow never changes the Tasks of older runs.
// names gets the new name of each.
func needed(tasks []*tektonv1.Task, shape pipelines.Shape, namespace string, names map[string]string) []*tektonv1.Task {
	byName := map[string]*tektonv1.Task{}
	for _, t := range tasks {
		byName[t.Name] = t
	}
	var out []*tektonv1.Task
	for _, name := range shape.TaskNames() {
		t := byName[name]
		t.Namespace = namespace
		t.Name = contentName("bflow-"+name, t)
		names[name] = t.Name
		out = append(out, t)
	}
	return out
}

// pipelineRef is how a run names its Pipeline.
func (c *compiler) pipelineRef(f *flow, account string) *tektonv1.PipelineRef {
	if f.bundled {
		return &tektonv1.PipelineRef{ResolverRef: c.inBundle("pipeline", f.pipeline.Name, account)}
	}
	return &tektonv1.PipelineRef{Name: f.pipeline.Name}
}

// inBundle is the reference to an object of the bundle. It is fetched with the pull secrets of the account that runs
// the tasks: whoever may pull their images may pull the bundle beside them.
func (c *compiler) inBundle(kind, name, account string) tektonv1.ResolverRef {
	params := tektonv1.Params{}
	for _, p := range [][2]string{{"bundle", c.Bundle}, {"name", name}, {"kind", kind}, {"serviceAccount", account}} {
		params = append(params, tektonv1.Param{Name: p[0], Value: *tektonv1.NewStructuredValues(p[1])})
	}
	return tektonv1.ResolverRef{Resolver: "bundles", Params: params}
}

// images returns the image of every task binary, and of the simulated engine.
func (c *compiler) images(plan *runplan.RunPlan) map[string]string {
	binaries := append(contract.Binaries(), contract.SimEngine)
	images := make(map[string]string, len(binaries))
	for _, binary := range binaries {
		images[binary] = fmt.Sprintf("%s/%s:%s", c.ImagePrefix, binary, c.tag())
	}
	maps.Copy(images, plan.Images)
	return images
}

// shape is that of the plan where its tasks will run.
func (c *compiler) shape(plan *runplan.RunPlan) pipelines.Shape {
	s := shapeOf(plan)
	if s.Remote = c.remote(plan); s.Remote {
		s.LoadCPU = c.LoadCPU
	}
	return s
}

// remote reports whether the server under test will be on another cluster than the tasks.
func (c *compiler) remote(plan *runplan.RunPlan) bool {
	return !c.OneHost && plan.Target.Name != "" && plan.Target.Name != contract.TargetLocal
}

func shapeOf(plan *runplan.RunPlan) pipelines.Shape {
	phases := plan.Execution.Phases
	s := pipelines.Shape{Teardown: plan.Deployment.Endpoint == nil && phases.Deploy && phases.Cleanup}
	s.TeardownDeadline, s.FinalizeDeadline = pipelines.FinishDeadlines(plan.Timeouts.Finally.D(), s.Teardown)
	for _, m := range plan.Measurements {
		var load pipelines.Load
		if key := m.API.APIKeySecret; key != nil {
			load.APIKey = *key
		}
		if s.APIKey.Name == "" {
			s.APIKey = load.APIKey
		}
		if phases.Benchmark {
			s.Loads = append(s.Loads, load)
		}
	}
	return s
}

// contentName is base and 12 hex digits of what obj holds.
func contentName(base string, obj any) string {
	sum := sha256.Sum256([]byte(mustJSON(obj)))
	return base + "-" + hex.EncodeToString(sum[:6])
}

// mustJSON is the JSON of a value that cannot fail to encode: structs and maps of texts and numbers.
func mustJSON(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(text)
}
