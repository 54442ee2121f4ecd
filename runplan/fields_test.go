package runplan

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// leaf is a field of the plan that holds no further fields of ours.
type leaf struct {
	path  string
	value reflect.Value
}

// leaves visits v, which fill made, and returns what can be changed in it.
func leaves(path string, v reflect.Value) []leaf {
	switch {
	case v.Type() == reflect.TypeFor[json.RawMessage]():
		return []leaf{{path, v}}
	case v.Kind() == reflect.Pointer && v.Elem().Kind() == reflect.Struct:
		return leaves(path, v.Elem())
	case v.Kind() == reflect.Slice && v.Type().Elem().Kind() == reflect.Struct:
		return leaves(path+"[]", v.Index(0))
	case v.Kind() != reflect.Struct:
		return []leaf{{path, v}}
	}
	var out []leaf
	for i := range v.NumField() {
		name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		out = append(out, leaves(strings.TrimPrefix(path+"."+name, "."), v.Field(i))...)
	}
	return out
}

// fill sets every field below v to something that is not zero.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			fill(v.Field(i))
		}
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Slice:
		fillSlice(v)
	case reflect.Map:
		v.Set(reflect.MakeMap(v.Type()))
		element := reflect.New(v.Type().Elem()).Elem()
		fill(element)
		v.SetMapIndex(reflect.ValueOf("key"), element)
	default:
		fillScalar(v)
	}
}

func fillSlice(v reflect.Value) {
	if v.Type() == reflect.TypeFor[json.RawMessage]() {
		v.SetBytes([]byte(`{"shared_memory_size":"1Gi"}`))
		return
	}
	v.Set(reflect.MakeSlice(v.Type(), 1, 1))
	fill(v.Index(0))
}

func fillScalar(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString("text")
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		v.SetInt(7)
	case reflect.Float64:
		v.SetFloat(0.5)
	case reflect.Interface:
		v.Set(reflect.ValueOf("any"))
	}
}

// change gives v another value of its type.
func change(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString("other")
	case reflect.Bool:
		v.SetBool(!v.Bool())
	case reflect.Int, reflect.Int64:
		v.SetInt(v.Int() + 1)
	case reflect.Float64:
		v.SetFloat(v.Float() + 1)
	case reflect.Interface:
		v.Set(reflect.ValueOf("another"))
	case reflect.Pointer:
		change(v.Elem())
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[json.RawMessage]() {
			v.SetBytes([]byte(`{"shared_memory_size":"2Gi"}`))
			return
		}
		change(v.Index(0))
	case reflect.Map:
		element := reflect.New(v.Type().Elem()).Elem()
		fill(element)
		v.SetMapIndex(reflect.ValueOf("other"), element)
	}
}

// full is a plan in which every field says something.
func full(t *testing.T) *RunPlan {
	t.Helper()
	p := &RunPlan{}
	fill(reflect.ValueOf(p).Elem())
	p.APIVersion, p.Kind = APIVersion, Kind
	p.Measurements[0].Runner = RunnerNative
	if err := Identify(p); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestEveryFieldIsListedAsInOrOutOfTheHash(t *testing.T) {
	var have []string
	for _, l := range leaves("", reflect.ValueOf(full(t)).Elem()) {
		have = append(have, l.path)
		if _, listed := inHash[l.path]; !listed {
			t.Errorf("field %q is new: decide whether it is part of what is measured, then list it in inHash", l.path)
		}
	}
	for path := range inHash {
		if !slices.Contains(have, path) {
			t.Errorf("inHash lists %q, which is no field of RunPlan", path)
		}
	}
}

func TestChangingAFieldChangesTheHashExactlyWhenItIsListed(t *testing.T) {
	base := full(t)
	for i, l := range leaves("", reflect.ValueOf(base).Elem()) {
		p := full(t)
		change(leaves("", reflect.ValueOf(p).Elem())[i].value)
		if err := Identify(p); err != nil {
			t.Fatalf("%s: %v", l.path, err)
		}
		if changed := p.Hash != base.Hash; changed != inHash[l.path] {
			t.Errorf("%s: hash changed = %t, listed = %t", l.path, changed, inHash[l.path])
		}
		derived := l.path == "hash" || l.path == "digest" || l.path == "measurements[].hash"
		if changed := p.Digest != base.Digest; changed == derived {
			t.Errorf("%s: digest changed = %t", l.path, changed)
		}
	}
}
