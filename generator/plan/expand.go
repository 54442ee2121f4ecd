package plan

import (
	"iter"
	"slices"
	"strings"

	"bflow.dev/bflow/generator/spec"
	"bflow.dev/bflow/internal/problem"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/literal"
)

// Matrix is an experiment whose points can be walked. It holds no plans: walking makes them one by one, again each
// time, so that a hundred thousand points need no more memory than a few. It is not safe for concurrent use.
type Matrix struct {
	exp   *spec.Experiment
	r     *resolver
	units *units
}

// Expand prepares the matrix of an experiment. The problems are those that each value of each axis has by itself;
// what only a combination breaks is found by walking (see Check). The Matrix is nil when they hold an error.
func Expand(exp *spec.Experiment, cat *spec.Catalogue, opt Options) (*Matrix, problem.List) {
	g, problems := newGrid(exp)
	if problems.Err() != nil {
		return nil, problems
	}
	if n := g.size; n > tooMany {
		return nil, problem.List{exp.Problem("spec.matrix",
			"the product of the axes has more than %d combinations; remove values", tooMany)}
	}
	g.thin()
	s, problems := newSource(exp, cat, g)
	if problems.Err() != nil {
		return nil, problems
	}
	r := newResolver(s, &opt)
	m := &Matrix{exp: exp, r: r}
	if problems = m.tooLarge(); problems.Err() != nil {
		return nil, problems
	}
	problems = distinct(slices.Concat(m.tryValues(), m.misplaced(), m.outOfReach(), m.literalAxes()))
	if problems.Err() != nil {
		return nil, problems
	}
	m.units = newUnits(r)
	return m, problems
}

// literalAxes reports credentials as values of an axis, which the plan shows as its place in the matrix.
func (m *Matrix) literalAxes() (problems problem.List) {
	for _, ax := range m.r.axes {
		var taker literal.Taker
		last := ax.path[strings.LastIndexByte(ax.path, '.')+1:]
		for _, v := range ax.values {
			taker.Tree("", withoutNames(map[string]any{last: v.data}))
		}
		if len(taker.Taken) > 0 && len(ax.values) > 1 {
			problems.Add(
				m.exp.Problem(ax.place,
					"an axis must not contain literal credentials; put each into a Secret, and list references to the Secrets"))
		}
	}
	return problems
}

// withoutNames returns v without the members that name Secrets: no credential is in them, whatever they are called.
func withoutNames(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for key, member := range v {
			switch key {
			case "kubeconfig_secret", "api_key_secret", "token_secret", "secretKeyRef":
			default:
				out[key] = withoutNames(member)
			}
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = withoutNames(v[i])
		}
		return out
	}
	return v
}

// outOfReach reports targets that only commands on this machine can reach.
func (m *Matrix) outOfReach() (problems problem.List) {
	if !m.r.opt.Submitted {
		return nil
	}
	for s := range m.r.variants("target_cluster") {
		if target := s.TargetCluster; target.Kubeconfig != "" && target.KubeconfigSecret == "" {
			problems.Add(m.exp.Problem("spec.target_cluster.kubeconfig",
				"%q is a file on this machine, which a submitted run cannot read; put it into a Secret and name the Secret in "+
					"kubeconfig_secret", target.Kubeconfig))
		}
	}
	return problems
}

// Plan returns every plan of an experiment, in the order in which they run. It is Expand and a whole walk; no plan is
// returned when the problems hold an error.
func Plan(exp *spec.Experiment, cat *spec.Catalogue, opt Options) ([]*runplan.RunPlan, problem.List) {
	m, problems := Expand(exp, cat, opt)
	if m == nil {
		return nil, problems
	}
	plans := make([]*runplan.RunPlan, 0, m.Len())
	for plan, found := range m.Plans() {
		problems = append(problems, found...)
		if plan != nil {
			plans = append(plans, plan)
		}
	}
	problems = distinct(problems)
	if problems.Err() != nil {
		return nil, problems
	}
	return plans, problems
}

// Len is the number of plans, repeats counted.
func (m *Matrix) Len() int { return m.units.len() * m.repeats() }

func (m *Matrix) repeats() int { return max(m.exp.Spec.Matrix.Repeat, 1) }

// Check walks the matrix without keeping anything and returns every problem of every point. Whoever writes plans out
// as they come calls it first, so that nothing is written of an experiment that is wrong further on.
func (m *Matrix) Check() problem.List {
	var problems problem.List
	w := newWalk(m)
	w.check = true
	for u := range m.order(0) { // the other rounds repeat this one
		_, found := w.plan(u, 0)
		problems = append(problems, found...)
	}
	return distinct(problems)
}

// Secrets are the credentials that files held literally, as far as the points were resolved. They are in no plan; who
// submits one makes the Secrets that it names.
func (m *Matrix) Secrets() []literal.Secret {
	var all []literal.Secret
	for _, s := range m.r.secrets {
		all = append(all, s)
	}
	return all
}

// Plans walks the plans in the order in which they run: round after round of repeats, each round in matrix order or
// shuffled. A point with an error yields a nil plan and its problems; warnings come beside a plan. Plans share parts
// (measurements, queries, labels): read them, do not change them.
func (m *Matrix) Plans() iter.Seq2[*runplan.RunPlan, problem.List] {
	return func(yield func(*runplan.RunPlan, problem.List) bool) {
		w := newWalk(m)
		for round := range m.repeats() {
			for u := range m.order(round) {
				if !yield(w.plan(u, round)) {
					return
				}
			}
		}
	}
}

// order yields the units of one round.
func (m *Matrix) order(round int) iter.Seq[int] {
	return func(yield func(int) bool) {
		var shuffle []int
		if m.exp.Spec.Matrix.Order == "shuffled" {
			shuffle = shuffled(m.units.len(), m.exp.Spec.Matrix.Seed, round)
		}
		for u := range m.units.len() {
			if shuffle != nil {
				u = shuffle[u]
			}
			if !yield(u) {
				return
			}
		}
	}
}

// distinct removes problems that several points share.
func distinct(problems problem.List) problem.List {
	seen := map[problem.Problem]bool{}
	var out problem.List
	for _, p := range problems {
		if !seen[p] {
			seen[p] = true
			out.Add(p)
		}
	}
	out.Sort()
	return out
}
