package spec

import (
	"reflect"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"bflow.dev/bflow/internal/problem"
	"bflow.dev/bflow/internal/scalar"
)

// DecodeExperiment decodes a tree of the experiment d, changed by With, and checks all but the matrix, which a point
// has left behind. It may run concurrently.
func DecodeExperiment(d *Doc, root *yaml.Node) (*Experiment, problem.List) {
	var e Experiment
	found := decodeInto(d, root, reflect.ValueOf(&e).Elem(), &e.Doc)
	e.Spec.Target.BaseURL = strings.TrimRight(e.Spec.Target.BaseURL, "/")
	return &e, unrelated(found, e.check())
}

// DecodeDeployment decodes a tree of the profile d and checks it against its platform.
func DecodeDeployment(d *Doc, root *yaml.Node) (*DeploymentProfile, problem.List) {
	var p DeploymentProfile
	found := decodeInto(d, root, reflect.ValueOf(&p).Elem(), &p.Doc)
	return &p, unrelated(found, p.problems("spec", CheckDeployment(&p.Spec, d.codec.platforms)))
}

// DecodeBenchmark decodes a tree of the profile d. The words of other tools in it are not looked at.
func DecodeBenchmark(d *Doc, root *yaml.Node) (*BenchmarkProfile, problem.List) {
	var p BenchmarkProfile
	found := decodeInto(d, root, reflect.ValueOf(&p).Elem(), &p.Doc)
	found = slices.DeleteFunc(found, func(f problem.Problem) bool { return p.Spec.ignores(d.codec.tools, f.Path) })
	return &p, unrelated(found, p.problems("spec", p.Spec.check(d.codec.tools)))
}

// DecodeMetrics decodes a tree of the profile d.
func DecodeMetrics(d *Doc, root *yaml.Node) (*MetricsProfile, problem.List) {
	var p MetricsProfile
	found := decodeInto(d, root, reflect.ValueOf(&p).Elem(), &p.Doc)
	return &p, unrelated(found, p.problems("spec", p.Spec.check()))
}

// LoadReportMetrics reads a report-metrics file: one document without apiVersion and kind.
func LoadReportMetrics(name string, data []byte) (*ReportMetrics, problem.List) {
	roots, found := parse(name, data)
	if len(roots) != 1 {
		found.Add(problem.Problem{File: name, Text: "want one document with title and metrics, found " +
			scalar.Plain(float64(len(roots)))})
		return nil, found
	}
	var r ReportMetrics
	d := Doc{File: name, Root: roots[0], codec: newCodec(nil)}
	found.Add(decodeInto(&d, d.Root, reflect.ValueOf(&r).Elem(), &r.Doc)...)
	found = unrelated(found, r.problems("", r.check()))
	found.Sort()
	return &r, found
}

// decodeInto reads root, a tree of document d, into v, whose Doc is own.
func decodeInto(d *Doc, root *yaml.Node, v reflect.Value, own *Doc) problem.List {
	doc := *d
	doc.Root = root
	dec := decoder{codec: d.codec, doc: &doc, root: v.Type(), path: make(Path, 0, 16)}
	dec.version(v.Type())
	d.codec.structure(d.codec.tables[v.Type()])(&dec, root, v, nil)
	*own = doc
	return dec.found
}

// unrelated adds the broken rules to what decoding found, without those at, above or below a value that could not be
// read: they would only repeat it.
func unrelated(found, rules problem.List) problem.List {
	decoded := found.Errors()
	for _, r := range rules {
		if !slices.ContainsFunc(decoded, func(p problem.Problem) bool {
			return nested(p.Path, r.Path) ||
				nested(r.Path, p.Path)
		}) {
			found.Add(r)
		}
	}
	return found
}

// nested reports whether path is at or below top, by the text of both.
func nested(path, top string) bool {
	rest, below := strings.CutPrefix(path, top)
	return below && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// decodeProfile reads d as a profile of the given kind, for its problems.
func decodeProfile(d *Doc, kind string) (found problem.List) {
	switch kind {
	case KindDeployment:
		_, found = DecodeDeployment(d, d.Root)
	case KindBenchmark:
		_, found = DecodeBenchmark(d, d.Root)
	default:
		_, found = DecodeMetrics(d, d.Root)
	}
	return found
}

// version checks apiVersion where the type has one: the original never looked at it, so that it may be absent.
func (d *decoder) version(t reflect.Type) {
	if _, has := t.FieldByName("APIVersion"); !has || d.doc.Root.Kind != yaml.MappingNode {
		return
	}
	n := child(d.doc.Root, Seg{Key: "apiVersion"})
	switch {
	case scalar.Null(n):
		if child(d.doc.Root, Seg{Key: "api_version"}) == nil {
			d.in(Seg{Key: "apiVersion"}, func() { d.addWarning(d.doc.Root, "apiVersion is missing; write %s", APIVersion) })
		}
	case strings.TrimSpace(n.Value) != APIVersion && strings.TrimSpace(n.Value) != APIVersionAlias:
		d.in(Seg{Key: "apiVersion"}, func() {
			d.report(n, "want %q or %q, found %s", APIVersion, APIVersionAlias, scalar.Found(n))
		})
	}
}

// FieldHints says what was meant: plans of the original had another spelling, which only RunPlans may have.
func (Experiment) FieldHints() map[string]string { return misspelt() }

// FieldHints says what was meant.
func (DeploymentProfile) FieldHints() map[string]string { return misspelt() }

// FieldHints says what was meant.
func (BenchmarkProfile) FieldHints() map[string]string { return misspelt() }

// FieldHints says what was meant.
func (MetricsProfile) FieldHints() map[string]string { return misspelt() }

func misspelt() map[string]string {
	return map[string]string{"api_version": `unknown field "api_version" (did you mean "apiVersion"?)`}
}
