package platform

import "testing"

func TestRenderEPP(t *testing.T) {
	values := map[string]string{"replicas": "2", "release_name": "r"}
	for _, row := range []struct{ name, text, want, err string }{
		{"variables, with and without blanks", "a: {{ release_name }}\nb: {{replicas}} {{- replicas -}}", "a: r\nb: 2 2", ""},
		{"text without variables", "kind: X", "kind: X", ""},
		{"an unknown variable", "{{ replica }}", "", `unknown variable "replica" (did you mean "replicas"?)`},
		{"a statement", "{% if x %}", "", `reading template: want only {{ variable }}, found "{%"`},
		{"a comment", "{# x #}", "", `reading template: want only {{ variable }}, found "{#"`},
		{"an open brace", "{{ replicas", "", `reading template: want only {{ variable }}, found "{{"`},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, err := RenderEPP(row.text, values)
			if got != row.want || (err == nil) != (row.err == "") || err != nil && err.Error() != row.err {
				t.Errorf("got %q, %v, want %q, %s", got, err, row.want, row.err)
			}
		})
	}
}
