package spec

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"bflow.dev/bflow/internal/scalar"
)

const header = "apiVersion: benchflow.io/v1alpha1\nkind: Experiment\nmetadata: {name: t}\n"

// The four examples that the format's description ends with load without a word.
func TestExamplesLoad(t *testing.T) {
	set, found := Load(Options{CheckAll: true}, "testdata/examples")
	if len(found) > 0 {
		t.Fatalf("want no problems, got\n%s", found.Error())
	}
	if len(set.Experiments) != 4 || len(set.Catalogue.Profiles()) != 3 {
		t.Errorf("want 4 experiments and 3 profiles, got %d and %d", len(set.Experiments), len(set.Catalogue.Profiles()))
	}
}

// The example of this project's additions loads beside the small catalogue.
func TestOwnExampleLoads(t *testing.T) {
	_, found := Load(Options{Shipped: shippedFS()}, "testdata/own.yaml")
	if len(found) > 0 {
		t.Error(found.Error())
	}
}

func TestDocuments(t *testing.T) {
	good := makeDocument(KindExperiment, "namespace: perf")
	for _, row := range []struct{ name, text, want string }{
		{"several documents of any kind", good + "---\n" + strings.Replace(makeDocument(KindDeployment, "gateway: istio"),
			"{name: t}", "{name: extra}", 1) + "---\n", ""},
		{"the other spelling of the version", strings.Replace(good, "benchflow.io", "bflow.dev", 1), ""},
		{"no version is a warning", strings.Replace(good, "apiVersion: benchflow.io/v1alpha1\n", "", 1),
			"t.yaml:1:1: apiVersion: apiVersion is missing; write benchflow.io/v1alpha1"},
		{"another version", strings.Replace(good, "v1alpha1", "v2", 1),
			`t.yaml:1:13: apiVersion: want "benchflow.io/v1alpha1" or "bflow.dev/v1alpha1", found "benchflow.io/v2"`},
		{"the spelling of old plans", strings.Replace(good, "apiVersion", "api_version", 1),
			`t.yaml:1:1: api_version: unknown field "api_version" (did you mean "apiVersion"?)`},
		{"a kind is required", strings.Replace(good, "kind: Experiment\n", "", 1),
			"t.yaml:1:1: kind: required field is missing; want one of Experiment, DeploymentProfile, BenchmarkProfile, " +
				"MetricsProfile, RunPlan"},
		{"a kind with a typo", strings.Replace(good, "Experiment", "Experimnet", 1),
			`t.yaml:2:7: kind: unknown kind "Experimnet" (did you mean "Experiment"?)`},
		{"another kind", strings.Replace(good, "Experiment", "Pod", 1),
			`t.yaml:2:7: kind: unknown kind "Pod", want one of Experiment, DeploymentProfile, BenchmarkProfile, ` +
				`MetricsProfile, RunPlan`},
		{"a name is required", strings.Replace(good, "{name: t}", "{}", 1),
			"t.yaml:3:11: metadata.name: required field is missing"},
		{"a numeric name is text", strings.Replace(good, "{name: t}", "{name: 42, labels: {team: search}}", 1), ""},
		{"labels are legal", strings.Replace(good, "{name: t}", "{name: t, labels: {team: a b}}", 1),
			`t.yaml:3:36: metadata.labels.team: want at most 63 letters, digits, and inner -, _ or ., found "a b"`},
		{"a document is a mapping", "[1, 2]",
			"t.yaml:1:1: want a mapping with apiVersion, kind, metadata and spec, found a list"},
		{"a spec is a mapping", header + "spec: 5\n", `t.yaml:4:7: spec: want a mapping, found "5"`},
		{"an empty file", "# nothing\n", "t.yaml: want a document with apiVersion, kind, metadata and spec, found nothing"},
		{"a profile without a name",
			"apiVersion: benchflow.io/v1alpha1\nkind: MetricsProfile\nmetadata: {}\nspec: {prometheus_url: " +
				"\"https://x.example\"}\n", "t.yaml:3:11: metadata.name: required field is missing"},
		{"syntax ends a file, what came before is still read", header + "spec: {zebra: 1}\n---\na: [\n",
			"t.yaml:4:7: spec.deployment_profile: required field is missing\n" +
				"t.yaml:4:7: spec.model: required field is missing\nt.yaml:4:7: spec.benchmark_profile: required field is " +
				"missing; name a BenchmarkProfile or write a load block\n" +
				"t.yaml:4:8: spec.zebra: unknown field \"zebra\"\nt.yaml:7:1: reading YAML: did not find expected node content"},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, found := LoadBytes(Options{Shipped: shippedFS(), CheckAll: true}, "t.yaml", []byte(row.text))
			for _, want := range strings.Split(row.want, "\n") {
				if !strings.Contains(found.Error(), want) || row.want == "" && len(found) > 0 ||
					strings.Count(found.Error(), "\n") != strings.Count(row.want, "\n") {
					t.Fatalf("got\n%s\nwant\n%s", found.Error(), row.want)
				}
			}
		})
	}
}

func TestLimits(t *testing.T) {
	nested := strings.Repeat("{a: ", 38) + "1" + strings.Repeat("}", 38)
	many := "[" + strings.Repeat("1,", 1000) + "1]"
	queries := "queries: {"
	for i := range 501 {
		queries += "q" + scalar.Plain(float64(i)) + ": x, "
	}
	for _, row := range []struct{ name, kind, fragment, want string }{
		{"a file of more than 1 MiB", KindExperiment, "# " + strings.Repeat("x", 1<<20),
			"t.yaml: want a file of at most 1 MiB, found 1048742 bytes"},
		{"nesting of 40 levels is fine", KindBenchmark, "guidellm: " + nested, ""},
		{"nesting of 41 levels", KindBenchmark, "guidellm: {a: " + nested + "}", "want at most 40 levels of nesting"},
		{"a list of 1001", KindBenchmark, "guidellm: {a: " + many + "}",
			"t.yaml:5:17: spec.guidellm.a: want at most 1000 entries, found 1001"},
		{"10,000 values that aliases make", KindBenchmark,
			"guidellm: {a: &a [" + strings.Repeat("1,", 900) + "1], b: &b [*a, *a, *a, *a], c: [*b, *b, *b]}",
			"want at most 10000 values in a document after alias expansion; this is one more"},
		{"aliases that double each time", KindBenchmark, "guidellm: {a0: &a0 [x, x]" + doubling(60) + "}",
			"want at most 10000 values in a document after alias expansion; this is one more"},
		{"501 queries", KindMetrics, queries + "}", "t.yaml:5:12: spec.queries: want at most 500 entries, found 501"},
		{"an endpoint-picker configuration of more than 64 KiB", KindDeployment,
			"platform: llm-d\nmode: inference-scheduling\noptions: {epp_config: \"" + strings.Repeat("x", 65537) + "\"}",
			"t.yaml:7:25: spec.options.epp_config: want at most 64 KiB, found 65537 bytes"},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, found := loadRow(row.kind, row.fragment)
			if !strings.Contains(found.Error(), row.want) || row.want == "" && len(found) > 0 {
				t.Errorf("got %.400s\nwant %s", found.Error(), row.want)
			}
			if n := strings.Count(found.Error(), "10000 values"); n > 1 {
				t.Errorf("the limit is reported %d times", n)
			}
		})
	}
}

// doubling is a chain of lists, each holding the one before twice.
func doubling(n int) string {
	text := ""
	for i := range n {
		text += ", a" + scalar.Plain(float64(i+1)) + ": &a" + scalar.Plain(float64(i+1)) + " [*a" + scalar.Plain(float64(i)) +
			", *a" + scalar.Plain(float64(i)) + "]"
	}
	return text
}

func TestLenientReadingWarnsOfUnknownKeys(t *testing.T) {
	set, found := LoadBytes(Options{Shipped: shippedFS(), Lenient: true}, "t.yaml",
		[]byte(makeDocument(KindExperiment, "stagse: 1\nnamespace: perf")))
	if err := found.Err(); err != nil || len(found) != 1 || set.Experiments[0].Spec.Namespace != "perf" {
		t.Fatalf("want one warning, got %v", found)
	}
	want := `t.yaml:5:3: spec.stagse: unknown field "stagse" (did you mean "stages"?); ignored`
	if found[0].Error() != want {
		t.Errorf("got %s\nwant %s", found[0].Error(), want)
	}
}

func TestUnreadableFilesAreNamed(t *testing.T) {
	_, found := Load(Options{ProfileDirs: []string{"testdata/none"}}, "testdata/none.yaml")
	want := "testdata/none: reading profiles: stat .: no such file or directory\ntestdata/none.yaml: reading file: " +
		"no such file or directory"
	if got := found.Error(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestAFolderMayHoldOtherFiles(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "deep", "pod.yaml"), "apiVersion: v1\nkind: Pod\n---\ntitle: x\n---\n"+profile("a", "n"))
	write(t, filepath.Join(dir, "typo.yaml"), "kind: Experimnt\n")
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	set, found := Load(Options{CheckAll: true}, link)
	if want := link +
		`/typo.yaml:1:7: kind: unknown kind "Experimnt" (did you mean "Experiment"?)`; found.Error() != want {
		t.Errorf("got %s, want %s", found.Error(), want)
	}
	if refs := set.Catalogue.Profiles(); len(refs) != 1 || refs[0].Name != "a" {
		t.Errorf("want profile a, got %v", refs)
	}
	empty := t.TempDir()
	if _, found := Load(Options{}, empty); found.Error() != empty+": reading folder: it contains no *.yaml file" {
		t.Errorf("got %s", found.Error())
	}
}

func TestStandardInputIsAskedOfTheCaller(t *testing.T) {
	read := func(name string) ([]byte, error) { return []byte(makeDocument(KindExperiment, "zebra: 1")), nil }
	_, found := Load(Options{Shipped: shippedFS(), ReadFile: read}, "-")
	if want := `-:5:3: spec.zebra: unknown field "zebra"`; found.Error() != want {
		t.Errorf("got %s, want %s", found.Error(), want)
	}
}

// profile is a DeploymentProfile that its namespace tells apart.
func profile(name, namespace string) string {
	return strings.Replace(makeDocument(KindDeployment, "namespace: "+namespace), "{name: t}", "{name: "+name+"}", 1)
}

func TestStrongerFoldersHideWeakerProfiles(t *testing.T) {
	first, second := t.TempDir(), t.TempDir()
	write(t, filepath.Join(first, "a", "b.yaml"), profile("plain", "first")+"---\n"+profile("two", "first"))
	write(t, filepath.Join(second, "c.yaml"), profile("two", "second")+"---\n"+profile("three", "second")+
		"---\nkind: Other\n")
	write(t, filepath.Join(second, "not-yaml.txt"), "{")
	exp := makeDocument(KindExperiment, "deployment_profile: [plain, two, three]") + "---\n" + profile("three", "beside")
	set, found := LoadBytes(Options{Shipped: shippedFS(), ProfileDirs: []string{first, second}}, "t.yaml", []byte(exp))
	if len(found) > 0 {
		t.Fatal(found.Error())
	}
	for name, want := range map[string]string{"plain": "first", "two": "second", "three": "beside"} {
		p, _ := set.Catalogue.Deployment(name, &set.Experiments[0].Doc, "spec.deployment_profile")
		if p.Spec.Namespace != want {
			t.Errorf("%s: want the profile of %q, got that of %q", name, want, p.Spec.Namespace)
		}
	}
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestOneNameTwiceInAFolderIsAnError(t *testing.T) {
	fs := fstest.MapFS{"a.yaml": {Data: []byte(profile("x", "one"))}, "b.yaml": {Data: []byte(profile("x", "two"))}}
	_, found := LoadBytes(Options{Shipped: fs, CheckAll: true}, "t.yaml",
		[]byte(profile("y", "z")+"---\n"+profile("y", "z")))
	want := `shipped/b.yaml:3:18: metadata.name: duplicate DeploymentProfile "x", first at shipped/a.yaml:3:18` + "\n" +
		`t.yaml:11:18: metadata.name: duplicate DeploymentProfile "y", first at t.yaml:3:18`
	if got := found.Error(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestOnlyProfilesReferredToMustBeValid(t *testing.T) {
	fs := shippedFS()
	fs["bad.yaml"] = &fstest.MapFile{Data: []byte(profile("bad", "NOT VALID"))}
	fs["broken.yaml"] = &fstest.MapFile{Data: []byte("a: [")}
	exp := []byte(makeDocument(KindExperiment, "namespace: perf"))
	if _, found := LoadBytes(Options{Shipped: fs}, "t.yaml", exp); found.Err() != nil {
		t.Errorf("want no errors, got %v", found.Err())
	}
	if _, found := LoadBytes(Options{Shipped: fs, CheckAll: true}, "t.yaml", exp); len(found.Errors()) != 2 {
		t.Errorf("checking all, want 2 errors, got %v", found.Err())
	}
}

func TestAnUnknownProfileNamesTheClosest(t *testing.T) {
	fs := shippedFS()
	for _, name := range []string{"tiered-32g", "tiered-64g", "other"} {
		fs[name+".yaml"] = &fstest.MapFile{Data: []byte(profile(name, "n"))}
	}
	_, found := LoadBytes(Options{Shipped: fs}, "sweep.yaml",
		[]byte(makeDocument(KindExperiment, "deployment_profile:\n  - plain\n  - tiered-24g")))
	want := `sweep.yaml:7:7: spec.deployment_profile[1]: no DeploymentProfile named "tiered-24g"; closest: ` +
		`"tiered-32g", "tiered-64g" (4 in the catalogue)`
	if got := found.Error(); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
