package fence

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// privateWords say nothing to whoever reads them for the first time. No package, type, function or method has one of
// them as its name.
var privateWords = []string{"told", "refused", "farewell", "noway", "stuck", "aside", "away", "seen"}

const (
	mostQueuePackages = 25
	mostMethods       = 40 // of a type, without those of embedded ones
	mostAssigned      = 3  // variables of a parallel assignment
)

func TestNamesAreUnderstood(t *testing.T) {
	at, found := token.NewFileSet(), map[string][]string{}
	for dir, files := range parseAll(t, at) {
		found[dir] = judgeNames(at, files)
	}
	reportRules(t, found)
}

// reportRules fails for what was found in folders.
func reportRules(t *testing.T, found map[string][]string) {
	t.Helper()
	for _, dir := range slices.Sorted(maps.Keys(found)) {
		for _, wrong := range found[dir] {
			t.Errorf("%s: %s", dir, wrong)
		}
	}
}

func TestTheQueueHasFewPackages(t *testing.T) {
	if all := list(t, "{{.ImportPath}}", "./queue/..."); len(all) > mostQueuePackages {
		t.Errorf("%d packages, want %d at most: merge those with one purpose", len(all), mostQueuePackages)
	}
}

// parseAll returns the Go files of every folder of the module, tests among them.
func parseAll(t *testing.T, at *token.FileSet) map[string][]*ast.File {
	t.Helper()
	folders := map[string][]*ast.File{}
	eachGoFile(t, func(path string) error {
		file, err := parser.ParseFile(at, filepath.Join(root, path), nil, parser.SkipObjectResolution)
		folders[filepath.Dir(path)] = append(folders[filepath.Dir(path)], file)
		return err
	})
	return folders
}

// eachGoFile calls f with the path of every Go file of the module that somebody has written.
func eachGoFile(t *testing.T, f func(path string) error) {
	t.Helper()
	n := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		switch name := d.Name(); {
		case err != nil:
			return err
		case d.IsDir() && path != root && (name == "testdata" || strings.HasPrefix(name, ".")):
			return fs.SkipDir
		case d.IsDir() || !strings.HasSuffix(name, ".go"):
			return nil
		}
		n++
		path, err = filepath.Rel(root, path)
		if err != nil {
			return err
		}
		return f(path)
	})
	if err != nil || n < 1000 {
		t.Fatalf("after %d files: %v", n, err)
	}
}

// judgeNames says what is wrong in the files of one package and its tests.
func judgeNames(at *token.FileSet, files []*ast.File) (wrong []string) {
	words, methods, ofType := map[string]bool{}, map[string]bool{}, map[string]int{}
	for _, file := range files {
		words[strings.TrimSuffix(file.Name.Name, "_test")] = true
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.TypeSpec:
				words[n.Name.Name] = true
			case *ast.InterfaceType:
				for _, name := range namesOf(n.Methods) {
					words[name], methods[name] = true, true
				}
			case *ast.FuncDecl:
				words[n.Name.Name] = true
				if n.Recv != nil {
					methods[n.Name.Name] = true
					ofType[receiver(n.Recv.List[0].Type)]++
				}
			case *ast.AssignStmt:
				if len(n.Lhs) > mostAssigned && len(n.Rhs) > 1 {
					wrong = append(wrong, fmt.Sprintf("%s: %d variables are assigned at once", at.Position(n.Pos()), len(n.Lhs)))
				}
			}
			return true
		})
	}
	for _, name := range slices.Sorted(maps.Keys(words)) {
		if slices.Contains(privateWords, strings.ToLower(name)) {
			wrong = append(wrong, fmt.Sprintf("%q says nothing to a stranger: name it by what it is or does", name))
		}
	}
	for name, n := range ofType {
		if n > mostMethods {
			wrong = append(wrong, fmt.Sprintf("type %s has %d methods, want %d at most", name, n, mostMethods))
		}
	}
	return append(wrong, tensePairs(slices.Sorted(maps.Keys(methods)))...)
}

// namesOf are the names of the methods that an interface lists itself.
func namesOf(methods *ast.FieldList) (names []string) {
	for _, field := range methods.List {
		for _, name := range field.Names {
			names = append(names, name.Name)
		}
	}
	return names
}

// receiver is the name of the type of a receiver.
func receiver(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.StarExpr:
		return receiver(e.X)
	case *ast.IndexExpr:
		return receiver(e.X)
	case *ast.IndexListExpr:
		return receiver(e.X)
	case *ast.Ident:
		return e.Name
	}
	return ""
}

// pairsOfOthers are names of testing.TB, which have to be as they are.
var pairsOfOthers = []string{"Fail", "Failed", "Skip", "Skipped"}

// tensePairs finds methods that differ by the tense of a word alone, such as start and started: which of them acts, and
// which says what has been done, nobody can guess.
func tensePairs(methods []string) (wrong []string) {
	by := map[string]string{}
	for _, name := range methods {
		if slices.Contains(pairsOfOthers, name) {
			continue
		}
		var stems []string
		for _, word := range wordsOf(name) {
			stems = append(stems, stem(word))
		}
		key := strings.Join(stems, " ")
		if other, ok := by[key]; ok && !strings.EqualFold(other, name) {
			wrong = append(wrong, fmt.Sprintf("methods %s and %s differ by their tense alone", other, name))
		}
		by[key] = name
	}
	return wrong
}

// wordsOf splits a name where its case changes, in lower case.
func wordsOf(name string) (words []string) {
	runes, from := []rune(name), 0
	for i := 1; i <= len(runes); i++ {
		if i == len(runes) || beginsWord(runes, i) {
			words, from = append(words, strings.ToLower(string(runes[from:i]))), i
		}
	}
	return words
}

// beginsWord says whether a word begins at i: at an upper case letter, of several in a row at the last where a lower
// one follows.
func beginsWord(runes []rune, i int) bool {
	if !unicode.IsUpper(runes[i]) {
		return false
	}
	return !unicode.IsUpper(runes[i-1]) || i+1 < len(runes) && unicode.IsLower(runes[i+1])
}

// stem is the same for all tenses of a verb: good enough to compare two words, and no word itself.
func stem(word string) string {
	if verb, ok := irregular()[word]; ok {
		return strings.TrimRight(verb, "e")
	}
	for _, ending := range []string{"ing", "ied", "ed"} {
		root, ok := strings.CutSuffix(word, ending)
		if !ok || len(root) < 2 || !strings.ContainsAny(root, "aeiouy") {
			continue
		}
		if ending == "ied" {
			return root + "y"
		}
		n := len(root)
		if n > 3 && root[n-1] == root[n-2] && !strings.ContainsRune("sl", rune(root[n-1])) { // running, stopped
			root = root[:n-1]
		}
		return strings.TrimRight(root, "e")
	}
	return strings.TrimRight(word, "e")
}

// irregular are the forms of verbs that no rule makes. The third person in -s is none: it looks like a plural.
func irregular() map[string]string {
	forms := map[string]string{}
	for _, line := range strings.Split(`be is are was were been being
begin began begun
bind bound
break broke broken
bring brought
build built
choose chose chosen
come came
do does did done
draw drew drawn
fall fell fallen
feel felt
find found
get got
give gave given
go goes went gone
grow grew grown
hang hung
have has had
hear heard
hide hid hidden
hold held
keep kept
know knew known
leave left
lose lost
make made
mean meant
meet met
pay paid
rise rose risen
run ran
say said
see saw seen
seek sought
send sent
show shown
speak spoke spoken
spend spent
stand stood
take took taken
tell told
think thought
throw threw thrown
wind wound
write wrote written`, "\n") {
		words := strings.Fields(line)
		for _, form := range words[1:] {
			forms[form] = words[0]
		}
	}
	return forms
}

func TestEachRuleOfNamesFindsWhatItIsFor(t *testing.T) {
	many := "package x; type T struct{}; type E struct{ T }\n"
	for i := range mostMethods + 1 {
		many += fmt.Sprintf("func (t *T) M%c%c() {}\n", 'a'+i/26, 'a'+i%26)
	}
	for _, row := range []struct{ name, source, want string }{
		{"a package", "package aside", `"aside" says nothing`},
		{"the package of a test", "package stuck_test", `"stuck" says nothing`},
		{"a type", "package x; type noWay struct{}", `"noWay" says nothing`},
		{"a type in a function", "package x; func f() { type Seen int }", `"Seen" says nothing`},
		{"a function", "package x; func Farewell() {}", `"Farewell" says nothing`},
		{"a method", "package x; type T int; func (T) told() {}", `"told" says nothing`},
		{"a method of an interface", "package x; type I interface{ Refused() bool }", `"Refused" says nothing`},
		{"a variable may have the name", "package x; func f(away bool) { seen := away; _ = seen }", ""},
		{"a longer name is another", "package x; func isSeen() {}", ""},
		{"two types", "package x; type A int; type B int; func (A) Start() {}; func (B) started() {}",
			"methods Start and started differ"},
		{"an interface", "package x; type I interface{ lose(); losing() }", "methods lose and losing differ"},
		{"a function is no method", "package x; type A int; func (A) start() {}; func started() {}", ""},
		{"exported or not is no tense", "package x; type A int; func (A) Enter() {}; func (A) enter() {}", ""},
		{"four variables at once", "package x; func f() { a, b, c, d := 1, 2, 3, 4; _, _, _, _ = a, b, c, d }",
			"4 variables are assigned at once"},
		{"three are few enough", "package x; func f() { a, b, c := 1, 2, 3; _, _, _ = a, b, c }", ""},
		{"what a call returns has no other way", "package x; func f() { a, b, c, d := g() }", ""},
		{"a type with many methods", many, "type T has 41 methods"},
	} {
		t.Run(row.name, func(t *testing.T) {
			at := token.NewFileSet()
			file, err := parser.ParseFile(at, "x.go", row.source, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			wrong := judgeNames(at, []*ast.File{file})
			if row.want == "" && len(wrong) > 0 || row.want != "" && (len(wrong) == 0 || !strings.Contains(wrong[0], row.want)) {
				t.Errorf("got %q, want %q", wrong, row.want)
			}
		})
	}
}

func TestWhichWordsDifferByTheirTense(t *testing.T) {
	for _, row := range []struct {
		a, b string
		pair bool
	}{
		{"start", "started", true}, {"lose", "losing", true}, {"settle", "settled", true}, {"apply", "applied", true},
		{"stop", "stopped", true}, {"run", "running", true}, {"goOn", "goesOn", true}, {"goOn", "wentOn", true},
		{"do", "done", true}, {"hold", "held", true}, {"lost", "lose", true}, {"send", "sent", true}, {"tell", "told", true},
		{"saw", "seen", true}, {"begin", "begun", true}, {"Watch", "watched", true}, {"openFile", "openedFile", true},
		{"miss", "missed", true}, {"add", "adding", true},
		{"account", "accounts", false}, {"run", "runs", false}, {"start", "restarted", false}, {"start", "isStarted", false},
		{"open", "openFile", false}, {"next", "nested", false}, {"string", "str", false}, {"ID", "Identified", false},
	} {
		if pair := len(tensePairs([]string{row.a, row.b})) > 0; pair != row.pair {
			t.Errorf("%s and %s: %v, want %v", row.a, row.b, pair, row.pair)
		}
	}
}
