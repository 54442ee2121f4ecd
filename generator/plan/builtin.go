package plan

import "bflow.dev/bflow/generator/spec"

// Paths of the axes that the format has by itself.
const (
	atTarget    = "target_clusters"
	atModel     = "model.name"
	atDeploy    = "deployment_profile"
	atBenchmark = "benchmark_profile"
	atMetrics   = "metrics_profile"
	atImage     = "overrides.images.runtime"
	atScheduler = "overrides.images.scheduler"
	atReplicas  = "overrides.scale.replicas"
	atTensor    = "overrides.scale.tensor_parallelism"
	atRepoRef   = "overrides.llm_d.repo_ref"
)

// builtIn is such an axis.
type builtIn struct {
	path   string
	values func(*spec.ExperimentSpec) []value
}

// builtIns lists them in the order of the format, slowest first.
func builtIns() []builtIn {
	return []builtIn{
		{atTarget, clusterValues},
		{atModel, func(s *spec.ExperimentSpec) []value { return textValues(s.Model.Name) }},
		{atDeploy, func(s *spec.ExperimentSpec) []value { return textValues(s.DeploymentProfile) }},
		{atBenchmark, func(s *spec.ExperimentSpec) []value { return textValues(s.BenchmarkProfile) }},
		{atMetrics, func(s *spec.ExperimentSpec) []value { return textValues(s.MetricsProfile) }},
		{atImage, func(s *spec.ExperimentSpec) []value { return textValues(s.Overrides.Images.Runtime) }},
		{atScheduler, func(s *spec.ExperimentSpec) []value { return textValues(s.Overrides.Images.Scheduler) }},
		{atReplicas, func(s *spec.ExperimentSpec) []value { return intValues(s.Overrides.Scale.Replicas) }},
		{atTensor, func(s *spec.ExperimentSpec) []value { return intValues(s.Overrides.Scale.TensorParallelism) }},
		{atRepoRef, func(s *spec.ExperimentSpec) []value { return textValues(s.Overrides.LLMD.RepoRef) }},
	}
}

func findBuiltIn(path string) *builtIn {
	for _, b := range builtIns() {
		if b.path == path {
			return &b
		}
	}
	return nil
}

func clusterValues(s *spec.ExperimentSpec) []value {
	out := make([]value, len(s.TargetClusters))
	for i, c := range s.TargetClusters {
		out[i] = textValue(c.Name)
	}
	return out
}

func textValues(list []string) []value {
	out := make([]value, len(list))
	for i, s := range list {
		out[i] = textValue(s)
	}
	return out
}

func intValues(list []int) []value {
	out := make([]value, len(list))
	for i, n := range list {
		out[i] = intValue(n)
	}
	return out
}
