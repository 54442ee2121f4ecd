// Package ownership adds field ownership to the API server of package apitest, with the code of real API servers:
// conflicts, shared fields, and fields that are deleted with their last owner. It knows the schemas of Kubernetes'
// own kinds; in others a list is atomic. Only tests may use it.
package ownership

import (
	"fmt"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
)

// Fields keeps the managers of fields; make one with New.
type Fields struct{ types managedfields.TypeConverter }

// New returns what knows the schemas of Kubernetes.
func New() Fields {
	return Fields{types{applyconfigurations.NewTypeConverter(scheme.Scheme), managedfields.NewDeducedTypeConverter()}}
}

// Apply is the object that a server-side apply makes of live, which is empty where there is none yet. A conflict is an
// error of package errors of apimachinery.
func (f Fields) Apply(live, applied map[string]any, manager string, force bool) (map[string]any, error) {
	return f.change(live, applied,
		func(m *managedfields.FieldManager, live, applied runtime.Object) (runtime.Object, error) {
			return m.Apply(live, applied, manager, force)
		})
}

// Update is the object changed, which somebody has made of live without applying it.
func (f Fields) Update(live, changed map[string]any, manager string) (map[string]any, error) {
	return f.change(live, changed,
		func(m *managedfields.FieldManager, live, changed runtime.Object) (runtime.Object, error) {
			return m.Update(live, changed, manager)
		})
}

func (f Fields) change(
	live, now map[string]any, do func(m *managedfields.FieldManager, live, now runtime.Object) (runtime.Object, error),
) (map[string]any, error) {
	old, changed := &unstructured.Unstructured{Object: live}, &unstructured.Unstructured{Object: now}
	kind := changed.GroupVersionKind()
	old.SetGroupVersionKind(kind)
	manager, err := managedfields.NewDefaultFieldManager(f.types, one{}, one{}, one{}, kind, kind.GroupVersion(), "", nil)
	if err != nil {
		return nil, fmt.Errorf("preparing for fields of %s: %w", kind, err)
	}
	out, err := do(manager, old, changed)
	if err != nil {
		return nil, err
	}
	u, ok := out.(*unstructured.Unstructured)
	if !ok { // it changes nothing
		return live, nil
	}
	return u.Object, nil
}

// types tries the known schemas first.
type types []managedfields.TypeConverter

func (t types) ObjectToTyped(
	o runtime.Object, options ...typed.ValidationOptions,
) (value *typed.TypedValue, err error) {
	for _, converter := range t {
		if value, err = converter.ObjectToTyped(o, options...); err == nil {
			return value, nil
		}
	}
	return nil, err
}

func (t types) TypedToObject(value *typed.TypedValue) (runtime.Object, error) {
	return t[0].TypedToObject(value)
}

// one is a server where every kind has one version, and no defaults.
type one struct{}

func (one) Convert(_, _, _ any) error { return nil }

func (one) ConvertToVersion(o runtime.Object, _ runtime.GroupVersioner) (runtime.Object, error) {
	return o, nil
}

func (one) ConvertFieldLabel(_ schema.GroupVersionKind, label, value string) (string, string, error) {
	return label, value, nil
}

func (one) Default(runtime.Object) {}

func (one) New(kind schema.GroupVersionKind) (runtime.Object, error) {
	u := &unstructured.Unstructured{}
	u.SetGroupVersionKind(kind)
	return u, nil
}
