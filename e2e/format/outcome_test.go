package format

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"bflow.dev/bflow/generator/compile"
	"bflow.dev/bflow/generator/plan"
	"bflow.dev/bflow/generator/spec"
	"bflow.dev/bflow/internal/problem"
	"bflow.dev/bflow/runplan"
)

// outcome is what became of a file.
type outcome struct {
	plans    []*runplan.RunPlan
	problems problem.List
}

// resolve takes a file the way of the commands: load, expand, check every point, walk.
func resolve(opt spec.Options, limits plan.Options, file string, text []byte) outcome {
	set, problems := spec.LoadBytes(opt, file, text)
	out := outcome{problems: problems}
	if problems.Err() != nil {
		return out
	}
	for _, exp := range set.Experiments {
		matrix, found := plan.Expand(exp, set.Catalogue, limits)
		out.problems.Add(found...)
		if matrix == nil {
			continue
		}
		out.problems.Add(matrix.Check()...)
		for p := range matrix.Plans() {
			if p != nil {
				out.plans = append(out.plans, p)
			}
		}
	}
	for _, p := range set.RunPlans {
		out.plans = append(out.plans, &p.Plan)
	}
	out.problems = once(out.problems)
	return out
}

// once sorts problems and drops those that two steps report.
func once(list problem.List) problem.List {
	seen := map[problem.Problem]bool{}
	var out problem.List
	for _, p := range list {
		if !seen[p] {
			seen[p] = true
			out.Add(p)
		}
	}
	out.Sort()
	return out
}

func (r row) resolve() outcome {
	opt := spec.Options{Shipped: r.catalogue(), Set: r.Set, Lenient: r.Lenient}
	return resolve(opt, plan.Options{Lenient: r.Lenient, MaxPoints: r.MaxPoints, Submitted: true}, experimentFile,
		[]byte(r.experiment()))
}

// text is a list of problems as the rows write it: the catalogue's folder left out.
func text(list problem.List) string {
	if len(list) == 0 {
		return ""
	}
	return strings.ReplaceAll(list.Error(), "shipped/", "") + "\n"
}

// compiled is the YAML of the plans, as one would create it.
func (o outcome) compiled(t *testing.T) *bytes.Buffer {
	t.Helper()
	var b bytes.Buffer
	err := compile.Write(&b, func(yield func(*runplan.RunPlan, error) bool) {
		for _, p := range o.plans {
			if !yield(p, nil) {
				return
			}
		}
	}, compile.Options{})
	if err != nil {
		t.Fatalf("compiling: %v", err)
	}
	return &b
}

// tree is what want looks into: the first plan, all plans under "plans", and the objects of the first one.
func (o outcome) tree(t *testing.T) map[string]any {
	t.Helper()
	first := plain(t, o.plans[0]).(map[string]any)
	first["plans"] = plain(t, o.plans)
	objects, err := compile.Compile(o.plans[0], compile.Options{})
	if err != nil {
		t.Fatalf("compiling: %v", err)
	}
	for kind, object := range map[string]any{"Tasks": objects.Tasks, "Pipeline": objects.Pipeline,
		"PipelineRun": objects.PipelineRun, "ConfigMap": objects.ConfigMap} {
		first[kind] = plain(t, object)
	}
	return first
}

// plain is v as maps, lists and scalars.
func plain(t *testing.T, v any) any {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var out any
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}
