package problem

import "testing"

func TestProblemReadsLikeACompilerError(t *testing.T) {
	p := Problem{
		File: "qwen.yaml", Line: 12, Column: 5, Path: "spec.load.rat",
		Text: UnknownField("rat", []string{"rate", "ramp"}),
	}
	if got, want := p.Error(), `qwen.yaml:12:5: spec.load.rat: unknown field "rat" (did you mean "rate"?)`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func TestClosest(t *testing.T) {
	for _, row := range []struct {
		name, word string
		known      []string
		want       string
	}{
		{"a swapped pair is one edit", "raet", []string{"rate"}, "rate"},
		{"the nearest comes first", "stage", []string{"stages", "stag", "image"}, "stages"},
		{"a far word is no hint", "zebra", []string{"rate"}, ""},
		{"a short word needs a close hit", "ab", []string{"xy"}, ""},
	} {
		got := ""
		if near := Closest(row.word, row.known, 1); len(near) > 0 {
			got = near[0]
		}
		if got != row.want {
			t.Errorf("%s: got %q, want %q", row.name, got, row.want)
		}
	}
}

func TestErrIgnoresWarnings(t *testing.T) {
	if err := (List{{Text: "x", Warning: true}}).Err(); err != nil {
		t.Errorf("a list of warnings is no error, got %v", err)
	}
}
