package spec

import "bflow.dev/bflow/internal/problem"

// problems places findings in the document.
func (d *Doc) problems(prefix string, all problem.Findings) problem.List {
	var out problem.List
	for _, f := range all {
		p := d.Problem(problem.Join(prefix, f.Path), "%s", f.Text)
		p.Warning = f.Warning
		out.Add(p)
	}
	return out
}
