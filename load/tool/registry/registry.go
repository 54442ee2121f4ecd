// Package registry lists the load tools of others that bflow knows.
package registry

import (
	"slices"

	"bflow.dev/bflow/load"
	"bflow.dev/bflow/load/tool"
	"bflow.dev/bflow/load/tool/aiperf"
	"bflow.dev/bflow/load/tool/guidellm"
	"bflow.dev/bflow/load/tool/inferenceperf"
	"bflow.dev/bflow/load/tool/vllmbench"
)

// Tools is a list of load tools.
type Tools []tool.Tool

// All are the tools, in the order of the documentation.
func All() Tools {
	return Tools{
		guidellm.Tool{},
		aiperf.Tool{},
		inferenceperf.Tool{},
		vllmbench.Tool{},
		vllmbench.InferenceMAX{},
	}
}

// Names are the words for field tool of a profile: those of the tools, and the native block.
func (t Tools) Names() []string {
	names := make([]string, 0, len(t)+1)
	for _, one := range t {
		names = append(names, one.Definition().Name)
	}
	return append(names, load.Native)
}

// Find returns the tool of a name.
func (t Tools) Find(name string) (tool.Tool, bool) {
	i := slices.IndexFunc(t, func(one tool.Tool) bool { return one.Definition().Name == name })
	if i < 0 {
		return nil, false
	}
	return t[i], true
}

// TranslatorOf returns the tool of a name as what reads a block. A name that no tool has is a mistake in the block.
func (t Tools) TranslatorOf(name string) tool.Translator {
	if found, ok := t.Find(name); ok {
		return found
	}
	return unknown{name, t.Names()}
}

// unknown is the name of no tool.
type unknown struct {
	name  string
	known []string
}

func (u unknown) Definition() tool.Definition { return tool.Definition{Name: u.name} }

func (u unknown) Translate(d *tool.Draft) {
	native := len(u.known) - 1
	known := slices.Concat(u.known[native:], u.known[:native])
	d.Block.Errorf("tool: %s", tool.NotOneOf(u.name, known))
}
