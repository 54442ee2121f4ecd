package scalar

import (
	"fmt"
	"testing"
	"time"

	"go.yaml.in/yaml/v3"
)

// node is the scalar that text is as the value of a key.
func node(t *testing.T, text string) *yaml.Node {
	t.Helper()
	var doc yaml.Node
	if err := yaml.Unmarshal([]byte("a: "+text), &doc); err != nil {
		t.Fatal(err)
	}
	return doc.Content[0].Content[1]
}

const tenYears = 10 * 365 * 24 * time.Hour

// How a scalar is written in YAML, what each of the two readers before this package made of it (that of experiments and
// profiles, and that of the load blocks of tools and of flags), and what all make of it now; "-" was an error.
func TestAScalarMeansTheSameEverywhere(t *testing.T) {
	boolean := func(n *yaml.Node) (any, error) { return Bool(n) }
	integer := func(n *yaml.Node) (any, error) { return Int(n) }
	number := func(n *yaml.Node) (any, error) { return Number(n) }
	seed := func(n *yaml.Node) (any, error) { return Whole(n) }
	duration := func(n *yaml.Node) (any, error) { return Duration(n, tenYears) }
	word := func(n *yaml.Node) (any, error) { return Word(n, []string{"constant", "poisson"}) }
	multiple := func(n *yaml.Node) (any, error) {
		times, perLoad, err := Multiple(n)
		return fmt.Sprint(times, perLoad), err
	}
	for _, row := range []struct {
		name                  string
		read                  func(*yaml.Node) (any, error)
		text                  string
		experiment, tool, now string
	}{
		{"a truth in quotes", boolean, `'No'`, "false", "false", "false"},
		{"a truth in capitals and between blanks", boolean, `" TRUE "`, "true", "true", "true"},
		{"a truth in mixed case", boolean, `yEs`, "-", "true", "true"},
		{"off", boolean, `Off`, "false", "false", "false"},
		{"on in quotes", boolean, `"on"`, "-", "true", "true"},
		{"1", boolean, `1`, "-", "true", "true"},
		{"0 in quotes", boolean, `"0 "`, "false", "false", "false"},
		{"y is no truth", boolean, `y`, "-", "-", "-"},
		{"2 is no truth", boolean, `2`, "-", "-", "-"},

		{"an integer between blanks", integer, `" 3 "`, "3", "3", "3"},
		{"hexadecimal", integer, `0x10`, "16", "-", "16"},
		{"octal, as in YAML 1.1", integer, `020`, "16", "20", "16"},
		{"digits in groups", integer, `1_000`, "1000", "-", "1000"},
		{"a float without a fraction", integer, `2.0`, "2", "2", "2"},
		{"the same in quotes", integer, `"1e3"`, "-", "1000", "1000"},
		{"a fraction is no integer", integer, `2.7`, "-", "-", "-"},
		{"more than 32 bits", integer, `9999999999`, "-", "-", "-"},
		{"a seed of 64 bits", seed, `9223372036854775807`, "9223372036854775807", "9223372036854775807",
			"9223372036854775807"},
		{"a hexadecimal seed", seed, `0x10`, "16", "-", "16"},

		{"a number between blanks", number, `" 0.5 "`, "0.5", "0.5", "0.5"},
		{"a number in YAML's spelling of integers", number, `0o20`, "16", "-", "16"},
		{"what is not finite is no number", number, `.inf`, "-", "-", "-"},
		{"a number of nothing", number, `1e308`, "-", "-", "-"},

		{"a duration between blanks", duration, `" 1h30m "`, "1h30m0s", "1h30m0s", "1h30m0s"},
		{"digits before the point", duration, `1.s`, "1s", "-", "1s"},
		{"a duration without a unit", duration, `90`, "-", "-", "-"},
		{"a duration with a sign", duration, `-3h`, "-", "-", "-"},
		{"more than ten years", duration, `999999h`, "999999h0m0s", "-", "-"},

		{"a word in capitals", word, `Poisson`, "-", "poisson", "poisson"},
		{"a word between blanks", word, `" poisson "`, "poisson", "poisson", "poisson"},
		{"a word with a typo", word, `poison`, "-", "-", "-"},

		{"a multiple of the load", multiple, `20*Concurrency`, "20 true", "20 true", "20 true"},
		{"the same with blanks inside", multiple, `"20 * concurrency"`, "-", "20 true", "20 true"},
		{"a hexadecimal multiple", multiple, `0x10*concurrency`, "16 true", "-", "16 true"},
		{"a multiple of something else", multiple, `20*streams`, "-", "-", "-"},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, err := row.read(node(t, row.text))
			text := fmt.Sprint(got)
			if err != nil {
				text = "-"
			}
			if text != row.now {
				t.Errorf("%s: got %s (%v), want %s", row.text, text, err, row.now)
			}
			if row.now == "-" && row.experiment != "-" && row.tool != "-" {
				t.Errorf("%s: both readers took it", row.text)
			}
		})
	}
}

func TestWhatDoesNotFitIsNamed(t *testing.T) {
	least, most, none := 2.0, 5.0, 0.0
	for _, row := range []struct {
		name string
		got  error
		want string
	}{
		{"a truth", second(Bool(node(t, "maybe"))), `want true or false, found "maybe"`},
		{"an integer", second(Int(node(t, "[1]"))), `want an integer, found a list`},
		{"an integer that is too large", second(Int(node(t, "3000000000"))), `want at most 2147483647, found "3000000000"`},
		{"a number", second(Number(node(t, "{a: 1}"))), `want a number, found a mapping`},
		{"a number that is too large", second(Number(node(t, "1e99"))), `want at most 1000000000000, found "1e99"`},
		{"text", second(Text(node(t, "[a]"))), `want text, found a list`},
		{"a duration without a unit", second(Duration(node(t, "90"), tenYears)),
			`want a duration with a unit (h, m, s, ms), found "90"; did you mean "90s"?`},
		{"a duration", second(Duration(node(t, "3d"), tenYears)),
			`want a duration such as 90s or 1h30m (units h, m, s, ms), found "3d"`},
		{"a duration that is too long", second(Duration(node(t, "99999h"), tenYears)), `want at most 87600h, found "99999h"`},
		{"seconds", second(Seconds(node(t, "-5"), tenYears)),
			`want a duration such as 90s or 1h30m (units h, m, s, ms), found "-5"`},
		{"a word", second(Word(node(t, "poison"), []string{"constant", "poisson"})),
			`want one of "constant", "poisson", found "poison" (did you mean "poisson"?)`},
		{"the only word", second(Word(node(t, "x"), []string{"trace"})), `want "trace", found "x"`},
		{"a range", Range{Min: &least, Max: &most}.Check(node(t, "6"), 6), `want 2 to 5, found "6"`},
		{"a lower bound", Range{Min: &least}.Check(node(t, "1"), 1), `want at least 2, found "1"`},
		{"an upper bound", Range{Max: &most}.Check(node(t, "6"), 6), `want at most 5, found "6"`},
		{"a number above another", Range{Above: &none}.Check(node(t, "0"), 0), `want a number above 0, found "0"`},
	} {
		t.Run(row.name, func(t *testing.T) {
			if row.got == nil || row.got.Error() != row.want {
				t.Errorf("got  %v\nwant %s", row.got, row.want)
			}
		})
	}
}

func second[T any](_ T, err error) error { return err }

func TestADurationHasAUnit(t *testing.T) {
	for text, want := range map[string]bool{"0s": true, "1h30m": true, "0": false, `"0"`: false, "90": false,
		"s": false, "[1s]": false} {
		if got := IsDuration(node(t, text)); got != want {
			t.Errorf("%s: got %v, want %v", text, got, want)
		}
	}
}

func TestBlanksSayNothing(t *testing.T) {
	for text, want := range map[string]bool{"": true, "~": true, `""`: true, `"  "`: true, "null": true,
		`"null"`: false, "0": false, "[]": false} {
		if got := Blank(node(t, text)); got != want {
			t.Errorf("%q: got %v, want %v", text, got, want)
		}
	}
}
