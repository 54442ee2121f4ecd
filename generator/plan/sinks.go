package plan

import (
	"maps"
	"regexp"
	"strings"

	"bflow.dev/bflow/generator/spec"
	"bflow.dev/bflow/runplan"
)

// sinksOf names the MLflow experiment, the version and the tags of a plan, with the defaults of the format.
func sinksOf(m spec.MLflow, plan *runplan.RunPlan, benchmark, metrics string, commit string) runplan.Sinks {
	d := &plan.Deployment
	tags := map[string]string{
		"deployment_type": d.Type(), "deployment_profile": d.Profile,
		"benchmark_profile": benchmark, "metrics_profile": metrics,
	}
	maps.Copy(tags, m.Tags)
	return runplan.Sinks{MLflow: runplan.MLflow{
		Experiment: orElse(m.Experiment, mlflowName(d.Model.Name)+"-"+benchmark),
		Version:    orElse(m.Version, versionOf(d, commit)),
		Tags:       tags,
	}}
}

// mlflowName is the model as part of an MLflow experiment's name.
func mlflowName(model string) string {
	return strings.NewReplacer("/", "-", ".", "").Replace(strings.ToLower(model))
}

// versionOf is the label of the software under test where the file gives none.
func versionOf(d *runplan.Deployment, commit string) string {
	switch {
	case d.Engine.Kind != kindVLLM:
		return strings.TrimSuffix(d.Engine.Kind+"-"+imageTag(d.Engine.Image), "-")
	case d.Platform == llmd && d.RepoRef == llmdRef && len(commit) >= 7:
		return "llm-d-" + d.RepoRef + "-" + commit[:7]
	case d.Platform == llmd:
		return "llm-d-" + d.RepoRef
	case d.Platform == rhoai:
		return operatorLabel(d.PlatformVersion)
	}
	return d.Platform + "-" + d.Mode
}

var operatorVersion = regexp.MustCompile(`(?i)(\d+)\.(\d+)(?:\.\d+)?(?:-?ea\.?(\d+))?`)

// operatorLabel shortens an operator version: RHOAI-3.5.0-ea.2 is RHOAI-3.5-EA2.
func operatorLabel(version string) string {
	m := operatorVersion.FindStringSubmatch(version)
	if m == nil {
		return "RHOAI-" + version
	}
	label := "RHOAI-" + m[1] + "." + m[2]
	if m[3] != "" {
		label += "-EA" + m[3]
	}
	return label
}
