package fence

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// readers are the folders that read what people write in YAML and in flags, with those below them.
var readers = []string{
	"generator/plan", "generator/profiles", "generator/spec", "load", "platform", "tasks/loadgen/commandline",
}

// parsesText are the files of readers that turn text into values without package scalar, each with its reason.
var parsesText = map[string]string{
	"generator/spec/path.go":                    "an index of a path",
	"generator/spec/syntax.go":                  "a line that the YAML library names",
	"generator/spec/codec.go":                   "a bound in a struct tag",
	"generator/spec/experiment_rules.go":        "parts of a list of ranges, 100-150",
	"generator/spec/special.go":                 "an amount as Kubernetes writes it, for which load-gen has no use",
	"generator/plan/maxlen.go":                  "an argument of vLLM, with its own units",
	"platform/llmd.go":                          "parts of a version",
	"platform/kubernetes.go":                    "an amount of a plan, as Kubernetes reads it",
	"load/tool/value.go":                        "an index of a path",
	"load/tool/guidellm/typed.go":               "parts of a version",
	"load/tool/inferenceperf/results_folder.go": "the number in the name of a file",
	"load/tool/inferenceperf/results_stage.go":  "the status of HTTP that a label begins with",
	"load/tool/vllmbench/results_format.go":     "a number of JSON that may be a text",
	"load/tool/vllmbench/results_write.go":      "a rate in the name of a file",
}

// TestScalarsAreReadInOnePlace: where two packages read scalars, 'No' comes to mean two things.
func TestScalarsAreReadInOnePlace(t *testing.T) {
	onlyIn(t, readers, parsing, parsesText,
		"this turns text into a value by rules of its own: use package scalar, or say why not in parsesText")
}

// parsing are the functions below n that turn text into values.
func parsing(n ast.Node) (found []ast.Node) {
	ast.Inspect(n, func(n ast.Node) bool {
		s, ok := n.(*ast.SelectorExpr)
		switch {
		case !ok:
		case of(s, "strconv", "ParseBool", "ParseFloat", "ParseInt", "ParseUint", "Atoi"),
			of(s, "time", "ParseDuration"), of(s, "resource", "ParseQuantity"):
			found = append(found, s)
		}
		return true
	})
	return found
}

func TestAScalarReadByOtherRulesIsSeen(t *testing.T) {
	for text, want := range map[string]int{
		"strconv.ParseBool(n.Value)":   1,
		"time.ParseDuration(n.Value)":  1,
		"scalar.Bool(n)":               0,
		"strconv.Itoa(i)":              0,
		"resource.ParseQuantity(text)": 1,
	} {
		expr, err := parser.ParseExpr(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := parsing(expr); len(got) != want {
			t.Errorf("%s: %d found, want %d", text, len(got), want)
		}
	}
}

// TestARuleIsSaidInOnePlace: a sentence of two packages is a rule of two packages, and one of them will change alone.
// What both need to say is in a package below them.
func TestARuleIsSaidInOnePlace(t *testing.T) {
	said := map[string]string{} // sentence -> its package
	folders := []string{"internal/problem", "internal/scalar", "tasks/loadgen", "tasks/loadgen/search"}
	for _, reader := range readers {
		for _, pkg := range list(t, "{{.ImportPath}}", "./"+reader+"/...") {
			folders = append(folders, strings.TrimPrefix(pkg, module))
		}
	}
	for _, folder := range folders {
		for _, text := range sentences(t, folder) {
			if other, ok := said[text]; ok && other != folder {
				t.Errorf("%s and %s both say %q: say it in one place", other, folder, text)
			}
			said[text] = folder
		}
	}
	if len(said) < 300 {
		t.Errorf("%d sentences are few: are they looked for where they are?", len(said))
	}
}

// sentences are the string literals of at least three words in a package; a part of a longer sentence counts as one.
func sentences(t *testing.T, folder string) (all []string) {
	t.Helper()
	files, err := filepath.Glob("../../" + folder + "/*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("no files in %s: %v", folder, err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		source, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, source, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if field, ok := n.(*ast.Field); ok && field.Tag != nil {
				return false // a meaning, no rule
			}
			if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
				if text, err := strconv.Unquote(lit.Value); err == nil && len(strings.Fields(text)) >= 3 {
					all = append(all, strings.TrimSpace(text))
				}
			}
			return true
		})
	}
	return all
}
