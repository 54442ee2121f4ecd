package plan

import (
	"crypto/sha256"
	"fmt"
	"strings"

	"bflow.dev/bflow/generator/spec"
	"bflow.dev/bflow/internal/problem"
	"bflow.dev/bflow/runplan"
)

// twins are plans of one hash: they measure the same, so they may be the same. Contents are compared only then.
type twins struct {
	first    int // unit
	contents map[[32]byte]int
}

// equal reports unit u when its plan is that of an earlier unit but for the place in the matrix.
func (w *walk) equal(hash string, content *runplan.RunPlan, u int) problem.List {
	t := w.seen[hash]
	if t == nil {
		w.seen[hash] = &twins{first: u}
		return nil
	}
	if t.contents == nil {
		first, _ := w.resolve(t.first)
		t.contents = map[[32]byte]int{contentOf(first): t.first}
	}
	sum := contentOf(content)
	if first, known := t.contents[sum]; known {
		return w.same(w.units.points(first)[0], w.units.points(u)[0])
	}
	t.contents[sum] = u
	return nil
}

// contentOf is the sum of a plan that has no place in the matrix yet.
func contentOf(plan *runplan.RunPlan) [32]byte {
	b, err := runplan.Canonical(plan)
	if err != nil {
		return [32]byte{} // sealing it has failed as well
	}
	return sha256.Sum256(b)
}

// equalLoads reports points of one plan that put the same load on it and judge it alike.
func (w *walk) equalLoads(loads []runplan.Measurement, points []int) problem.List {
	var problems problem.List
	type identity struct{ load, slo string }
	seen := map[identity]int{}
	for i, l := range loads {
		slo, err := runplan.Sum(l.SLO)
		if err != nil {
			problems.Add(w.exp.Problem("spec.slo", "%s", err))
		}
		key := identity{l.Hash, slo}
		if first, known := seen[key]; known {
			problems.Add(w.same(first, points[i])...)
			continue
		}
		seen[key] = points[i]
	}
	return problems
}

// same is the problem that points a and b, from 0, are one.
func (w *walk) same(a, b int) problem.List {
	a, b = min(a, b), max(a, b)
	one, other := make([]int, len(w.r.axes)), make([]int, len(w.r.axes))
	w.r.point(a, one)
	w.r.point(b, other)
	place, why := "spec.matrix", "they have the same value on every axis"
	for i := range one {
		if one[i] != other[i] {
			place, why = w.r.axes[i].place, w.flattened(i, other)
			break
		}
	}
	return problem.List{w.exp.Problem(place, "points %d and %d resolve to the same plan: %s", a+1, b+1, why)}
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
	return fmt.Sprintf("they differ in %s, which has no effect with deployment_profile %q", path, profile)
}

func belowOverrides(path spec.Path) (spec.Path, bool) {
	if path[0].Key != "overrides" || len(path) < 2 {
		return nil, false
	}
	return path[1:], !strings.HasPrefix(path.String(), "overrides.benchmark")
}
