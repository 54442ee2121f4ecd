package apply

import (
	"strings"
	"testing"
)

func TestDiff(t *testing.T) {
	before := parse(t,
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: c, resourceVersion: '1', uid: x}, data: {a: old, b: same}}")
	after := parse(t,
		"{apiVersion: v1, kind: ConfigMap, metadata: {name: c, resourceVersion: '2', uid: x}, data: {a: new, b: same}}")
	got := Change{Ref: RefOf(after), Action: Changed, Before: before, After: after}.Diff()
	for _, want := range []string{"--- live//ConfigMap//c", "-  a: old", "+  a: new", "   b: same"} {
		if !strings.Contains(got, want) {
			t.Errorf("the diff has no line %q:\n%s", want, got)
		}
	}
	if strings.Contains(got, "resourceVersion") || strings.Contains(got, "uid") {
		t.Errorf("the diff shows what the server counts:\n%s", got)
	}
	if got := (Change{Action: Unchanged, Before: before, After: after}).Diff(); got != "" {
		t.Errorf("an unchanged object has a diff:\n%s", got)
	}
}

func TestDiffHidesSecrets(t *testing.T) {
	secret := parse(t,
		"{apiVersion: v1, kind: Secret, metadata: {name: s}, data: {key: c2VjcmV0}, stringData: {token: hush}}")
	got := Change{Ref: RefOf(secret), Action: Created, After: secret}.Diff()
	if strings.Contains(got, "c2VjcmV0") || strings.Contains(got, "hush") ||
		!strings.Contains(got, "key: (8 characters)") {
		t.Errorf("the diff of a Secret is\n%s", got)
	}
	if v, _ := secret.Object["data"].(map[string]any); v["key"] != "c2VjcmV0" {
		t.Error("the object itself was changed")
	}
}

func TestContains(t *testing.T) {
	for _, row := range []struct {
		name, have, want string
		within           bool
	}{
		{name: "more fields do no harm", have: "{a: 1, b: {c: 2, d: 3}}", want: "{b: {c: 2}}", within: true},
		{name: "another value does", have: "{a: 1}", want: "{a: 2}"},
		{name: "a missing field does", have: "{a: 1}", want: "{b: {c: 1}}"},
		{name: "entries of a list may have more fields", have: "{l: [{n: a, x: 1}, {n: b}]}", want: "{l: [{n: a}, {n: b}]}",
			within: true},
		{name: "a list of another length is another list", have: "{l: [{n: a}]}", want: "{l: []}"},
	} {
		t.Run(row.name, func(t *testing.T) {
			object := func(text string) map[string]any {
				return parse(t, "{apiVersion: v1, kind: X, metadata: {name: x}, spec: "+text+"}").Object
			}
			if got := contains(object(row.have), object(row.want)); got != row.within {
				t.Errorf("got %v, want %v", got, row.within)
			}
		})
	}
}
