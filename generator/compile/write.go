package compile

import (
	"bytes"
	"fmt"
	"io"
	"iter"

	"bflow.dev/bflow/runplan"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Plans is a stream of plans; an error in it ends a compilation.
type Plans = iter.Seq2[*runplan.RunPlan, error]

// file is one object as YAML.
type file struct {
	kind, name string
	text       []byte // valid until the next file
}

// Write compiles plans one by one and writes one YAML stream: what runs share stands before the first run that needs
// it, and once. Besides names, only what runs share is kept in memory.
func Write(w io.Writer, plans Plans, o Options) error {
	if _, err := io.WriteString(w, header(o)); err != nil {
		return fmt.Errorf("writing compiled objects: %w", err)
	}
	return each(plans, o, func(f file) error {
		if _, err := w.Write(f.text); err != nil {
			return fmt.Errorf("writing %s %q: %w", f.kind, f.name, err)
		}
		return nil
	})
}

// header names what the output was made from.
func header(o Options) string {
	version, input := o.Version, o.Input
	if version == "" {
		version = "dev"
	}
	if input == "" {
		input = "plans"
	}
	return fmt.Sprintf("# Compiled by bflow %s from %s. Changes made here are lost when it is compiled again.\n",
		oneLine(version), oneLine(input))
}

func oneLine(s string) string {
	return string(bytes.Map(func(r rune) rune {
		if !printable(r) {
			return '?'
		}
		return r
	}, []byte(s)))
}

// each calls emit with every object of plans in order, shared ones once.
func each(plans Plans, o Options, emit func(file) error) error {
	c, err := newCompiler(o)
	if err != nil {
		return err
	}
	e := emitter{seen: map[string]bool{}, emit: emit}
	if o.Matrix && !o.NoQueue {
		return c.eachMatrix(plans, &e)
	}
	for plan, err := range plans {
		if err != nil {
			return err
		}
		objs, err := c.compile(plan)
		if err != nil {
			return err
		}
		if err := e.objects(objs); err != nil {
			return err
		}
	}
	return nil
}

type emitter struct {
	buffer bytes.Buffer
	seen   map[string]bool // objects named by content that were emitted
	emit   func(file) error
}

func (e *emitter) objects(o Objects) error {
	if !o.Bundled && !e.seen[o.Pipeline.Namespace+"/"+o.Pipeline.Name] {
		for _, t := range o.Tasks {
			if err := e.once("Task", &t.ObjectMeta, t); err != nil {
				return err
			}
		}
		if err := e.once("Pipeline", &o.Pipeline.ObjectMeta, o.Pipeline); err != nil {
			return err
		}
	}
	if err := e.once("ConfigMap", &o.ConfigMap.ObjectMeta, o.ConfigMap); err != nil {
		return err
	}
	return e.object("PipelineRun", o.PipelineRun.GenerateName, o.PipelineRun)
}

func (e *emitter) once(kind string, meta *metav1.ObjectMeta, obj any) error {
	key := meta.Namespace + "/" + meta.Name
	if e.seen[key] {
		return nil
	}
	e.seen[key] = true
	return e.object(kind, meta.Name, obj)
}

func (e *emitter) object(kind, name string, obj any) error {
	e.buffer.Reset()
	if err := document(&e.buffer, obj); err != nil {
		return fmt.Errorf("writing %s %q: %w", kind, name, err)
	}
	return e.emit(file{kind: kind, name: name, text: e.buffer.Bytes()})
}
