package plan

import (
	"fmt"

	"go.yaml.in/yaml/v3"

	"bflow.dev/bflow/generator/spec"
	"bflow.dev/bflow/internal/problem"
)

// deployment returns the DeploymentProfile of a point.
func (s *source) deployment(digits []int) (*spec.DeploymentProfile, problem.List) {
	return s.deployments.at(digits, func() (*spec.DeploymentProfile, problem.List) {
		name := pick(s, atDeploy, s.exp.Spec.DeploymentProfile, digits)
		profile, problems := s.cat.Deployment(name, &s.exp.Doc, s.reference(atDeploy, digits))
		if problems.Err() != nil {
			return nil, problems.Errors()
		}
		return varied(s, profile, &profile.Doc, s.below(inDeployment), digits, spec.DecodeDeployment)
	})
}

// benchmark returns the BenchmarkProfile of a point, nil where the experiment has its own load and names none.
func (s *source) benchmark(digits []int) (*spec.BenchmarkProfile, problem.List) {
	if len(s.exp.Spec.BenchmarkProfile) == 0 {
		return nil, nil
	}
	return s.benchmarks.at(digits, func() (*spec.BenchmarkProfile, problem.List) {
		name := pick(s, atBenchmark, s.exp.Spec.BenchmarkProfile, digits)
		profile, problems := s.cat.Benchmark(name, &s.exp.Doc, s.reference(atBenchmark, digits))
		if problems.Err() != nil {
			return nil, problems.Errors()
		}
		return varied(s, profile, &profile.Doc, s.below(inBenchmark), digits, spec.DecodeBenchmark)
	})
}

// metricsProfile returns the MetricsProfile of a point.
func (s *source) metricsProfile(digits []int) (*spec.MetricsProfile, problem.List) {
	return s.metrics.at(digits, func() (*spec.MetricsProfile, problem.List) {
		name := pick(s, atMetrics, s.exp.Spec.MetricsProfile, digits)
		profile, problems := s.cat.Metrics(name, &s.exp.Doc, s.reference(atMetrics, digits))
		if problems.Err() != nil {
			return nil, problems.Errors()
		}
		return varied(s, profile, &profile.Doc, s.below(inMetrics), digits, spec.DecodeMetrics)
	})
}

// varied returns profile with the values that a point has on axes. Load has reported the warnings of profiles.
func varied[T any](s *source, profile *T, doc *spec.Doc, axes, digits []int,
	decode func(*spec.Doc, *yaml.Node) (*T, problem.List)) (*T, problem.List) {
	if len(axes) == 0 {
		return profile, nil
	}
	root, problems := s.replaced(s.exp.File, doc.Root, axes, digits, inProfile)
	if problems.Err() != nil {
		return nil, problems
	}
	changed, problems := decode(doc, root)
	return changed, problems.Errors()
}

// reference is the place in the experiment that names a profile.
func (s *source) reference(path string, digits []int) string {
	a, ok := s.at[path]
	if !ok {
		return "spec." + path
	}
	return fmt.Sprintf("spec.%s[%d]", path, digits[a])
}
