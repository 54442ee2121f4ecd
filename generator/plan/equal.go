package plan

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"strings"

	"bflow.dev/bflow/generator/problem"
	"bflow.dev/bflow/generator/spec"
	"bflow.dev/bflow/tasks/runplan"
)

// equal reports a plan that is the same as that of an earlier unit but for its place in the matrix.
func (w *walk) equal(plan *runplan.RunPlan, u int) problem.List {
	bare := *plan
	bare.Axes = nil
	b, err := json.Marshal(&bare)
	if err != nil {
		return problem.List{w.exp.Problem("spec", "%s", err)}
	}
	content := sha256.Sum256(b)
	first, known := w.seen[content]
	if !known {
		w.seen[content] = u
		return nil
	}
	a, b2 := w.digits(first), w.digits(u)
	place, why := "spec.matrix", "they have the same value on every axis"
	for i := range a {
		if a[i] != b2[i] {
			place, why = w.r.axes[i].place, w.flattened(i, b2)
			break
		}
	}
	return problem.List{w.exp.Problem(place, "points %d and %d resolve to the same plan: %s", min(first, u)+1, max(first, u)+1, why)}
}

func (w *walk) digits(u int) []int {
	digits := make([]int, len(w.r.axes))
	w.r.point(w.units.points(u)[0], digits)
	return digits
}

// flattened says which layer makes the values of axis i equal.
func (w *walk) flattened(i int, digits []int) string {
	path := w.r.paths[i]
	p := &point{resolver: w.r, digits: digits}
	if rest, ok := belowOverrides(path); ok {
		fixed := append(spec.Path{{Key: "spec"}, {Key: "model_overrides"}, {Key: p.model()}}, rest...)
		if spec.Get(w.r.exp.Root, fixed) != nil {
			return fmt.Sprintf("they differ in %s, but %s sets that value for both", path, fixed)
		}
	}
	if path[0].Key == inDeployment {
		if place := p.overriddenAt(path[1:].String()); place != "" {
			return fmt.Sprintf("they differ in %s, but %s sets that value for both", path, place)
		}
	}
	if path[0].Key == inBenchmark && p.spec("load").Load != nil {
		return fmt.Sprintf("they differ in %s, but spec.load replaces the profile's load", path)
	}
	profile := pick(w.r.source, atDeploy, w.r.exp.Spec.DeploymentProfile, digits)
	return fmt.Sprintf("they differ in %s, but nothing depends on it with deployment_profile %q", path, profile)
}

func belowOverrides(path spec.Path) (spec.Path, bool) {
	if path[0].Key != "overrides" || len(path) < 2 {
		return nil, false
	}
	return path[1:], !strings.HasPrefix(path.String(), "overrides.benchmark")
}
