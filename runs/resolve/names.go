package resolve

import (
	"fmt"

	"bflow.dev/bflow/generator/spec"
	"bflow.dev/bflow/internal/problem"
)

// OneName reports experiments of in that are to be submitted together under one name: what belongs together is told by
// it, so their points would become those of one matrix.
func (in Input) OneName() (found problem.List) {
	first := map[string]string{}
	add := func(d *spec.Doc, path, name string) {
		n := d.Pos(path)
		if at, known := first[name]; known {
			found.Add(d.Problem(path, "experiment %q is also at %s, and submitted together they would become one matrix; "+
				"rename one, or submit them one by one", name, at))
			return
		}
		first[name] = fmt.Sprintf("%s:%d:%d", d.File, n.Line, n.Column)
	}
	for _, e := range in.Set.Experiments {
		add(&e.Doc, "metadata.name", e.Metadata.Name)
	}
	added := map[string]bool{} // plans of one experiment belong together
	for _, p := range in.Set.RunPlans {
		if name := p.Plan.Experiment; !added[name] {
			added[name] = true
			add(&p.Doc, "experiment", name)
		}
	}
	return found
}
