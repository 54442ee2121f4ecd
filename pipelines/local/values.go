package local

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	v1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	"github.com/tektoncd/pipeline/pkg/substitution"
)

// values are what $(...) stands for, in the three maps that Tekton's substitution works with.
type values struct {
	strings map[string]string
	arrays  map[string][]string
	objects map[string]map[string]string
}

func newValues() values {
	return values{strings: map[string]string{}, arrays: map[string][]string{}, objects: map[string]map[string]string{}}
}

// with returns a copy of v with others laid over it.
func (v values) with(others ...values) values {
	out := values{maps.Clone(v.strings), maps.Clone(v.arrays), maps.Clone(v.objects)}
	for _, o := range others {
		maps.Copy(out.strings, o.strings)
		maps.Copy(out.arrays, o.arrays)
		maps.Copy(out.objects, o.objects)
	}
	return out
}

// notations are the ways to write a member of prefix.
func notations(prefix, name string) []string {
	return []string{prefix + "." + name, fmt.Sprintf("%s[%q]", prefix, name), prefix + "['" + name + "']"}
}

// set names a value in each of its notations.
func (v values) set(prefix, name string, value v1.ParamValue) {
	for _, key := range notations(prefix, name) {
		switch value.Type {
		case v1.ParamTypeArray:
			v.arrays[key] = value.ArrayVal
			for i, element := range value.ArrayVal {
				v.strings[key+"["+strconv.Itoa(i)+"]"] = element
			}
		case v1.ParamTypeObject:
			v.objects[key] = value.ObjectVal
			for property, element := range value.ObjectVal {
				v.strings[key+"."+property] = element
			}
		default:
			v.strings[key] = value.StringVal
		}
	}
}

// drop forgets the param name.
func (v values) drop(name string) {
	for _, key := range slices.Concat(notations("params", name), notations("inputs.params", name)) {
		delete(v.strings, key)
		delete(v.arrays, key)
		delete(v.objects, key)
		for k := range v.strings {
			if strings.HasPrefix(k, key+"[") || strings.HasPrefix(k, key+".") {
				delete(v.strings, k)
			}
		}
	}
}

func (v values) setParams(params v1.Params) {
	for _, p := range params {
		v.set("params", p.Name, p.Value)
		v.set("inputs.params", p.Name, p.Value) // an old notation that Tasks may still use
	}
}

func (v values) setResults(prefix string, results Results) {
	for name, value := range results {
		v.set(prefix, name, value)
	}
}

func (v values) text(s string) string { return substitution.ApplyReplacements(s, v.strings) }

// params returns ps with their values replaced; ps is not modified.
func (v values) params(ps v1.Params) v1.Params {
	return ps.ReplaceVariables(v.strings, v.arrays, v.objects)
}

func (v values) value(p v1.ParamValue) v1.ParamValue {
	p = *p.DeepCopy()
	p.ApplyReplacements(v.strings, v.arrays, v.objects)
	return p
}

// pipelineTask replaces everything in pt that the Pipeline's scope may replace; the body of an inline task is left
// for the scope of its TaskRun.
func (v values) pipelineTask(pt *v1.PipelineTask) {
	pt.Params = v.params(pt.Params)
	if pt.Matrix != nil {
		pt.Matrix.Params = pt.Matrix.Params.ReplaceVariables(v.strings, v.arrays, nil)
		for i := range pt.Matrix.Include {
			pt.Matrix.Include[i].Params = v.params(pt.Matrix.Include[i].Params)
		}
	}
	pt.When = pt.When.ReplaceVariables(v.strings, v.arrays)
	for i := range pt.Workspaces {
		pt.Workspaces[i].SubPath = v.text(pt.Workspaces[i].SubPath)
	}
	if pt.TaskRef != nil {
		pt.TaskRef.Name = v.text(pt.TaskRef.Name)
	}
	pt.OnError = v1.PipelineTaskOnErrorType(v.text(string(pt.OnError)))
}

// binding returns b with its variables replaced.
func (v values) binding(b v1.WorkspaceBinding) v1.WorkspaceBinding {
	b = *b.DeepCopy()
	b.SubPath = v.text(b.SubPath)
	switch {
	case b.PersistentVolumeClaim != nil:
		b.PersistentVolumeClaim.ClaimName = v.text(b.PersistentVolumeClaim.ClaimName)
	case b.ConfigMap != nil:
		b.ConfigMap.Name = v.text(b.ConfigMap.Name)
	case b.Secret != nil:
		b.Secret.SecretName = v.text(b.Secret.SecretName)
	}
	return b
}
