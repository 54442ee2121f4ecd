package apply

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Kept is a field that somebody else has set and that a write left as it is.
type Kept struct {
	Ref
	Path    Field
	Where   string // with the keys of lists: .spec.template.spec.containers[name="c"].image
	Manager string // the field manager that has set it
}

func (k Kept) String() string {
	return fmt.Sprintf("%s: %s stays as %s has set it", k.Ref, k.Where, k.Manager)
}

// Field is a field of an object without the keys of lists, such as .spec.template.spec.containers[].image.
// Options.Keep decides by it.
type Field string

// Under reports whether a field is root, or below it.
func (f Field) Under(root Field) bool {
	rest, ok := strings.CutPrefix(string(f), string(root))
	return ok && (rest == "" || rest[0] == '.' || rest[0] == '[')
}

// keepOthers returns obj without the fields that only other managers own in the live object and that keep accepts.
// Applying an object without a field gives up our ownership of that field only, so it stays as it is. A field that we
// own as well still has our value, since nobody has set it after us.
func keepOthers(obj, live *unstructured.Unstructured, ours string,
	keep func(Ref, Field) bool) (*unstructured.Unstructured, []Kept, error) {
	if live == nil || keep == nil {
		return obj, nil, nil
	}
	own, others, err := fieldsOf(live, ours)
	if err != nil {
		return nil, nil, err
	}
	var kept []Kept
	for manager, set := range others {
		for path := range set.Difference(own).Leaves().All() {
			field := fieldOf(path)
			if !keep(RefOf(obj), field) {
				continue
			}
			if len(kept) == 0 {
				obj = obj.DeepCopy()
			}
			if now, was := cutField(obj.Object, path); was {
				obj.Object, _ = now.(map[string]any)
				kept = append(kept, Kept{Ref: RefOf(live), Path: field, Where: path.String(), Manager: manager})
			}
		}
	}
	slices.SortFunc(kept, func(a, b Kept) int { return cmp.Compare(a.Where, b.Where) })
	return obj, kept, nil
}

// fieldsOf returns the fields of an object that we have applied, and those of other managers.
func fieldsOf(live *unstructured.Unstructured, ours string) (own *fieldpath.Set, others map[string]*fieldpath.Set,
	err error) {
	own, others = fieldpath.NewSet(), map[string]*fieldpath.Set{}
	for _, entry := range live.GetManagedFields() {
		if entry.FieldsV1 == nil {
			continue
		}
		set := fieldpath.NewSet()
		if err := set.FromJSON(entry.FieldsV1.GetRawReader()); err != nil {
			return nil, nil, fmt.Errorf("reading which fields of %s %q owns: %w", RefOf(live), entry.Manager, err)
		}
		switch {
		case entry.Manager == ours && entry.Operation == metav1.ManagedFieldsOperationApply:
			own = set
		case others[entry.Manager] != nil:
			others[entry.Manager] = others[entry.Manager].Union(set)
		default:
			others[entry.Manager] = set
		}
	}
	return own, others, nil
}

func fieldOf(path fieldpath.Path) Field {
	var out strings.Builder
	for _, e := range path {
		if e.FieldName != nil {
			out.WriteString("." + *e.FieldName)
		} else {
			out.WriteString("[]")
		}
	}
	return Field(out.String())
}

// cutField returns a value without the field at a path, and without parents that become empty; was is true if it had
// the field. Items of a list keep the fields that identify them.
func cutField(from any, path fieldpath.Path) (now any, was bool) {
	if len(path) == 0 {
		return nil, true
	}
	switch here := path[0]; {
	case here.FieldName != nil:
		fields, _ := from.(map[string]any)
		below, has := fields[*here.FieldName]
		if !has {
			return from, false
		}
		if below, was = cutField(below, path[1:]); !was {
			return from, false
		}
		fields[*here.FieldName] = below
		if below == nil {
			delete(fields, *here.FieldName)
		}
		if len(fields) == 0 {
			return nil, true
		}
		return fields, true
	case here.Key != nil:
		return cutItem(from, *here.Key, path[1:])
	}
	return from, false
}

// cutItem does so within an item of a list. The item stays, if only with its key: giving up an item that nobody else
// owns would delete it with all its fields.
func cutItem(from any, key value.FieldList, path fieldpath.Path) (now any, was bool) {
	list, _ := from.([]any)
	at := slices.IndexFunc(list, func(item any) bool { return hasKey(item, key) })
	named := len(path) == 1 && slices.ContainsFunc(key, func(f value.Field) bool {
		return path[0].FieldName != nil && *path[0].FieldName == f.Name
	})
	if at < 0 || len(path) == 0 || named {
		return from, false
	}
	item, was := cutField(list[at], path)
	if !was {
		return from, false
	}
	list[at] = item
	return list, true
}

func hasKey(item any, key value.FieldList) bool {
	fields, _ := item.(map[string]any)
	for _, f := range key {
		if have, has := fields[f.Name]; !has || !value.Equals(value.NewValueInterface(have), f.Value) {
			return false
		}
	}
	return len(fields) > 0
}
