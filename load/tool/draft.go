package tool

import (
	"go.yaml.in/yaml/v3"

	"bflow.dev/bflow/internal/problem"
	"bflow.dev/bflow/internal/scalar"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/literal"
)

// Draft is a measurement that a tool fills in while it reads its block.
type Draft struct {
	runplan.Measurement
	*findings
	Block Value
	Over  Overrides
	SLO   *runplan.SLO // objectives that the block names

	src     Source
	secret  *literal.Secret // the API key
	others  []literal.Secret
	stages  map[string]int // by name, with the number of the last that was made up from it
	beyond  problem.List   // what load-gen cannot do, where no tool is at hand
	runsOwn External       // the tool, where it can make the load itself
}

func newDraft(src Source) *Draft {
	f := &findings{lenient: src.Lenient}
	d := &Draft{findings: f, src: src}
	n := src.Block.Node
	if n != nil && n.Kind == yaml.DocumentNode && len(n.Content) > 0 {
		n = n.Content[0]
	}
	d.Block = Value{findings: f, file: src.Block.File}.At(n, src.Block.Path)
	d.Measurement = runplan.Measurement{
		Name: src.Name, Tool: src.Tool.Definition().Name, Runner: RunnerNative,
		Samples: max(src.Samples, 1), SamplePause: src.SamplePause,
	}
	if t, ok := src.Tool.(Tool); ok {
		d.runsOwn = t.External()
	}
	return d
}

func (d *Draft) run() (Translation, problem.List) {
	if d.isWithinLimits() {
		if !d.src.Alone { // whose words have been looked through before they became a block
			reportHoles(d.Block)
		}
		d.readOverrides()
		d.src.Tool.Translate(d)
		d.finish()
	}
	d.problems.Sort()
	return Translation{Measurement: d.Measurement, SLO: d.SLO, Beyond: d.beyond, Secrets: d.secrets()}, d.problems
}

func (d *Draft) isWithinLimits() bool {
	ok := isWithinLimits(d.Block)
	for _, o := range d.src.Overrides {
		ok = isWithinLimits(Value{findings: d.findings, file: o.File}.At(o.Node, o.Path)) && ok
	}
	return ok
}

// NeedsTool reports whether anything so far is beyond the native generator.
func (d *Draft) NeedsTool() bool { return len(d.external) > 0 }

// SetBody sets a field of the bodies of requests.
func (d *Draft) SetBody(key string, x any) {
	if d.API.Body == nil {
		d.API.Body = map[string]any{}
	}
	d.API.Body[key] = x
}

// EnvInt reads a setting of the tool from the load pod's environment.
func (d *Draft) EnvInt(name string, def int) int {
	s, ok := d.Env[name]
	if !ok {
		return def
	}
	least, at := 1.0, scalar.Node(s)
	n, err := scalar.Int(at)
	if err == nil {
		err = scalar.Range{Min: &least}.Check(at, float64(n))
	}
	if err != nil {
		d.Block.Errorf("env %s: %v", name, err)
		return def
	}
	return n
}
