package plan

import (
	"maps"
	"strings"

	"bflow.dev/bflow/generator/spec"
	"bflow.dev/bflow/platform"
	"bflow.dev/bflow/platform/engine"
	"bflow.dev/bflow/runplan"
)

// sinksOf names the MLflow experiment, the version and the tags of a plan, with the defaults of the format.
func (p *point) sinksOf(m spec.MLflow, plan *runplan.RunPlan, benchmark, metrics, commit string) runplan.Sinks {
	d := &plan.Deployment
	tags := map[string]string{
		"deployment_type": d.Type(), "deployment_profile": d.Profile,
		"benchmark_profile": benchmark, "metrics_profile": metrics,
	}
	maps.Copy(tags, m.Tags)
	return runplan.Sinks{MLflow: runplan.MLflow{
		Experiment: orElse(m.Experiment, mlflowName(d.Model.Name)+"-"+benchmark),
		Version:    orElse(m.Version, versionOf(d, p.platforms, commit)),
		Tags:       tags,
	}}
}

// mlflowName is the model as part of an MLflow experiment's name.
func mlflowName(model string) string {
	return strings.NewReplacer("/", "-", ".", "").Replace(strings.ToLower(model))
}

// versionOf is the label of the software under test where the file gives none.
func versionOf(d *runplan.Deployment, platforms platform.Registry, commit string) string {
	if d.Engine.Kind != engine.Default {
		return strings.TrimSuffix(d.Engine.Kind+"-"+runplan.ImageTag(d.Engine.Image), "-")
	}
	return platforms.Named(d.Platform).Label(d, commit)
}
