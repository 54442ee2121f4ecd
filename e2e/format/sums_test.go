package format

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"

	"bflow.dev/bflow/generator/plan"
	"bflow.dev/bflow/generator/spec"
	"bflow.dev/bflow/report/assemble"
	"bflow.dev/bflow/report/reporttest"
)

var update = flag.Bool("update", false, "write testdata/sums.txt anew")

const (
	sumsFile       = "testdata/sums.txt"        // KEY SUM, a line each, sorted; of hashes the hash itself
	deviationsFile = "testdata/deviations.yaml" // KEY: why it differs from sums.txt
)

// golden are files that other tests hold the output of bflow to.
func golden() []string {
	return []string{
		"../../generator/plan/testdata/*.output.json", "../../generator/compile/testdata/*.yaml",
		"../../load/testdata/[^r]*.output.json", // but for those of rejected loads, which are words
		"../../tasks/provision/cluster/testdata/render/*.output.yaml",
		"../../report/export/testdata/golden/*/*", "../../report/export/testdata/golden/*/*/*",
	}
}

// TestWhatProgramsReadIsWhatItWas: plans and their hashes, compiled YAML, reports and exports do not change by
// accident, nor with a change of structure. What changes on purpose is a row of testdata/deviations.yaml with its
// reason; a plan hash only of a plan that nothing could run before, so that no two runs are compared by it.
func TestWhatProgramsReadIsWhatItWas(t *testing.T) {
	got := sums{}
	got.addRows(t)
	got.addExamples(t)
	got.addReports(t)
	for _, pattern := range golden() {
		got.addFiles(t, pattern)
	}
	if *update {
		got.write(t)
	}
	want, excused := readSums(t), readDeviations(t)
	for _, key := range slices.Sorted(maps.Keys(want)) {
		_, may := excused[key]
		switch same := got[key] == want[key]; {
		case same && may:
			t.Errorf("%s is as it was: take its row out of %s", key, deviationsFile)
		case !same && may && strings.HasPrefix(key, "hash ") && !strings.HasPrefix(excused[key], neverRun):
			t.Errorf("%s: a plan hash is what others compare runs by, and %s excuses another one only of a plan %q", key,
				deviationsFile, neverRun)
		case !same && !may:
			t.Errorf("%s is not as it was; if that is meant, give the reason in %s", key, deviationsFile)
		}
		delete(excused, key)
	}
	for key := range excused {
		t.Errorf("%s names %q, of which %s has no sum", deviationsFile, key, sumsFile)
	}
}

// neverRun begins the reason for another plan hash.
const neverRun = "that nothing could run before"

// sums are those of all outputs, by a name that tells where it comes from.
type sums map[string]string

func (s sums) add(key string, data []byte) { s[key] = fmt.Sprintf("%x", sha256.Sum256(data)) }

// addPlans adds what a file resolves to, unless it has errors.
func (s sums) addPlans(t *testing.T, key string, o outcome) {
	t.Helper()
	if o.problems.Err() != nil || len(o.plans) == 0 {
		return
	}
	var hashes []string
	for _, p := range o.plans {
		hashes = append(hashes, p.Hash)
	}
	s["hash "+key] = strings.Join(hashes, ",")
	text, err := json.Marshal(o.plans)
	if err != nil {
		t.Fatal(err)
	}
	s.add("plan "+key, text)
	s.add("compiled "+key, o.compiled(t).Bytes())
}

func (s sums) addRows(t *testing.T) {
	t.Helper()
	files, err := filepath.Glob("testdata/*.rows.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		for i, r := range readRows(t, file) {
			s.addPlans(t, fmt.Sprintf("%s[%d]", filepath.Base(file), i), r.resolve())
		}
	}
}

func (s sums) addExamples(t *testing.T) {
	t.Helper()
	files, err := filepath.Glob("../../examples/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range append(files, "testdata/examples.yaml", "testdata/additions.yaml") {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		s.addPlans(t, filepath.Base(file), resolve(spec.Options{}, plan.Options{Submitted: true}, file, text))
	}
}

// addReports adds the reports of recorded runs: a healthy one, one of two samples that fails now and then, one whose
// engine started again.
func (s sums) addReports(t *testing.T) {
	t.Helper()
	for name, run := range map[string]reporttest.Run{
		"healthy": {}, "failing": {Samples: 2, Failing: .1}, "restarted": {Restart: true}, "cut": {Stages: 2},
	} {
		dir := filepath.Join(t.TempDir(), name) // whose name is that of the run
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
		reporttest.WriteTo(t, dir, run)
		r, err := assemble.Report(dir)
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		s.add("report "+name, text)
	}
}

// addFiles adds the golden files of a pattern, by their paths in the repository.
func (s sums) addFiles(t *testing.T, pattern string) {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no golden files are %s: %v", pattern, err)
	}
	for _, file := range files {
		info, err := os.Stat(file)
		if err != nil {
			t.Fatal(err)
		}
		if info.IsDir() {
			continue
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		s.add("file "+strings.TrimPrefix(filepath.ToSlash(file), "../../"), data)
	}
}

func (s sums) write(t *testing.T) {
	t.Helper()
	var b bytes.Buffer
	for _, key := range slices.Sorted(maps.Keys(s)) {
		fmt.Fprintf(&b, "%s %s\n", strings.ReplaceAll(key, " ", "\t"), s[key])
	}
	if err := os.WriteFile(sumsFile, b.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

func readSums(t *testing.T) sums {
	t.Helper()
	text, err := os.ReadFile(sumsFile)
	if err != nil {
		t.Fatal(err)
	}
	all := sums{}
	for line := range strings.Lines(string(text)) {
		key, sum, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		all[strings.ReplaceAll(key, "\t", " ")] = sum
	}
	return all
}

func readDeviations(t *testing.T) map[string]string {
	t.Helper()
	text, err := os.ReadFile(deviationsFile)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	if err := yaml.Unmarshal(text, &all); err != nil {
		t.Fatalf("reading %s: %v", deviationsFile, err)
	}
	for key, reason := range all {
		if strings.TrimSpace(reason) == "" {
			t.Errorf("%s: %q has no reason", deviationsFile, key)
		}
	}
	return all
}
