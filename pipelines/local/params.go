package local

import (
	"fmt"
	"slices"
	"strings"

	v1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
)

// bindParams returns the params of a Pipeline or Task: what is given, then the defaults of what is not, which may name
// other params of the same scope in any order. scope holds the other variables that defaults may name. Given params
// that are not declared are kept, as Tekton keeps them.
func bindParams(specs v1.ParamSpecs, given v1.Params, scope values) (v1.Params, error) {
	byName := map[string]v1.ParamValue{}
	for _, p := range given {
		byName[p.Name] = p.Value
	}
	var open v1.Params
	for _, spec := range specs {
		value, ok := byName[spec.Name]
		switch {
		case ok && spec.Type == v1.ParamTypeObject && spec.Default != nil:
			byName[spec.Name] = withDefaultKeys(value, *spec.Default)
		case !ok && spec.Default == nil:
			return nil, fmt.Errorf("param %q is required and has no value", spec.Name)
		case !ok:
			open = append(open, v1.Param{Name: spec.Name, Value: *spec.Default})
		}
	}
	bound := make(v1.Params, 0, len(specs)+len(given))
	for _, p := range given {
		if err := checkParam(specs, p.Name, byName[p.Name]); err != nil {
			return nil, err
		}
		bound = append(bound, v1.Param{Name: p.Name, Value: byName[p.Name]})
	}
	return bindDefaults(bound, open, scope)
}

// bindDefaults adds the defaults open to bound, each after those that it names.
func bindDefaults(bound, open v1.Params, scope values) (v1.Params, error) {
	known := scope.with()
	known.setParams(bound)
	for len(open) > 0 {
		var rest v1.Params
		for _, p := range open {
			p.Value = known.value(p.Value)
			if mentions(p.Value, "$(params") {
				rest = append(rest, p)
				continue
			}
			bound = append(bound, p)
			known.setParams(v1.Params{p})
		}
		if len(rest) == len(open) {
			return nil, fmt.Errorf("default of param %q names a param that does not exist, or itself", rest[0].Name)
		}
		open = rest
	}
	return bound, nil
}

// checkParam checks that the value of param name has the declared type, is one of the allowed ones and, for an object,
// has all declared keys.
func checkParam(specs v1.ParamSpecs, name string, value v1.ParamValue) error {
	for _, spec := range specs {
		if spec.Name != name || spec.Type == "" {
			continue
		}
		got := value.Type
		if got == "" {
			got = v1.ParamTypeString
		}
		if got != spec.Type {
			return fmt.Errorf("param %q wants type %s, got %s", name, spec.Type, got)
		}
		if len(spec.Enum) > 0 && !slices.Contains(spec.Enum, value.StringVal) {
			return fmt.Errorf("param %q is %q, want one of %q", name, value.StringVal, spec.Enum)
		}
		for key := range spec.Properties {
			if _, ok := value.ObjectVal[key]; !ok && spec.Type == v1.ParamTypeObject {
				return fmt.Errorf("param %q lacks the key %q", name, key)
			}
		}
	}
	return nil
}

func withDefaultKeys(value, def v1.ParamValue) v1.ParamValue {
	if value.Type != v1.ParamTypeObject {
		return value
	}
	out := *def.DeepCopy()
	if out.ObjectVal == nil {
		out.ObjectVal = map[string]string{}
	}
	for k, v := range value.ObjectVal {
		out.ObjectVal[k] = v
	}
	return out
}

func mentions(value v1.ParamValue, variable string) bool {
	if strings.Contains(value.StringVal, variable) {
		return true
	}
	for _, s := range value.ArrayVal {
		if strings.Contains(s, variable) {
			return true
		}
	}
	for _, s := range value.ObjectVal {
		if strings.Contains(s, variable) {
			return true
		}
	}
	return false
}
