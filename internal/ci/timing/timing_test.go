package timing

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bflow.dev/bflow/internal/ci/step"
)

// said is what `go test -json` prints of a package with a test of each kind, beside lines that are no events.
const said = `
# example.test/broken
not even JSON
{"Action":"start","Package":"example.test/m/load"}
{"Action":"run","Package":"example.test/m/load","Test":"TestSlow"}
{"Action":"run","Package":"example.test/m/load","Test":"TestSlow/a_row"}
{"Action":"pass","Package":"example.test/m/load","Test":"TestSlow/a_row","Elapsed":2.5}
{"Action":"pass","Package":"example.test/m/load","Test":"TestSlow","Elapsed":3.5}
{"Action":"run","Package":"example.test/m/load","Test":"TestBusy"}
{"Action":"output","Package":"example.test/m/load","Test":"TestBusy","Output":"=== RUN   TestBusy\n"}
{"Action":"output","Package":"example.test/m/load","Test":"TestBusy","Output":"    pace_test.go:12: host too busy: its thread waited 40 ms of 100 ms for a core\n"}
{"Action":"output","Package":"example.test/m/load","Test":"TestBusy","Output":"--- SKIP: TestBusy (0.10s)\n"}
{"Action":"skip","Package":"example.test/m/load","Test":"TestBusy","Elapsed":0.1}
{"Action":"run","Package":"example.test/m/load","Test":"TestWrong"}
{"Action":"fail","Package":"example.test/m/load","Test":"TestWrong","Elapsed":0.2}
{"Action":"run","Package":"example.test/m/load","Test":"TestCutOff"}
{"Action":"fail","Package":"example.test/m/load","Elapsed":9}
`

func TestTestsAreReadFromTheirEvents(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "unit-tests.17.json", said)
	write(t, dir, "race.json", `{"Action":"run","Package":"example.test/m/load","Test":"TestSlow"}
{"Action":"pass","Package":"example.test/m/load","Test":"TestSlow","Elapsed":7}
{"Action":"run","Package":"example.test/m/load","Test":"TestSlow"}
{"Action":"fail","Package":"example.test/m/load","Test":"TestSlow","Elapsed":8}`)
	got, err := ReadTests(dir)
	if err != nil {
		t.Fatal(err)
	}
	const pkg = "example.test/m/load"
	want := []Test{
		{"race", pkg, "TestSlow", "pass", 7 * time.Second, ""},
		{"race", pkg, "TestSlow", "fail", 8 * time.Second, ""}, // the second of -count 2
		{"unit tests", pkg, "TestSlow", "pass", 3500 * time.Millisecond, ""},
		{"unit tests", pkg, "TestSlow/a_row", "pass", 2500 * time.Millisecond, ""},
		{"unit tests", pkg, "TestBusy", "skip", 100 * time.Millisecond,
			"host too busy: its thread waited 40 ms of 100 ms for a core"},
		{"unit tests", pkg, "TestWrong", "fail", 200 * time.Millisecond, ""},
		{"unit tests", pkg, "TestCutOff", "fail", 0, ""},
	}
	if len(got) != len(want) {
		t.Fatalf("read %+v", got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("test %d is %+v, want %+v", i, got[i], want[i])
		}
	}
}

func TestTheTableHasStepsSlowestTestsAndWhatGaveNoVerdict(t *testing.T) {
	var out bytes.Buffer
	if err := sample().Write(&out); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"build 0 12 1.5 passed",
		"demo 12 75 2.0 failed",
		"all 0 90 0.3 2 CPUs",
		"load.TestSlow 3.5 unit tests",
		"skipped in unit tests: load.TestBusy: host too busy: no core",
		"2 passed, 1 failed, 1 skipped",
	} {
		if !strings.Contains(words(out.String()), line) {
			t.Errorf("the table lacks %q:\n%s", line, out.String())
		}
	}
	if strings.Index(out.String(), "TestSlow") > strings.Index(out.String(), "TestWrong") {
		t.Errorf("the slowest test is not the first:\n%s", out.String())
	}
}

func TestAReportIsSavedAndRead(t *testing.T) {
	file := filepath.Join(t.TempDir(), "times.json")
	if err := sample().Save(file); err != nil {
		t.Fatal(err)
	}
	got, err := Open(file)
	if err != nil || len(got.Steps) != 2 || len(got.Tests) != 4 || got.Commit != "c1" {
		t.Errorf("read %+v, %v", got, err)
	}
	if err := sample().Save(filepath.Join(file, "under-a-file")); err == nil {
		t.Error("it was saved below a file")
	}
	for name, text := range map[string]string{"half": `{"version":1,"steps":[`, "other": `{"version":99}`} {
		if _, err := Open(write(t, t.TempDir(), name, text)); err == nil {
			t.Errorf("a file that is %s was read as times", name)
		}
	}
}

func TestTwoReportsAreComparedByStepsTestsAndNames(t *testing.T) {
	before, after := sample(), sample()
	after.Steps[1].Took = 25 * time.Second
	after.Took = 45 * time.Second
	after.Tests[0].Took = 7 * time.Second
	after.Tests[1].Name = "TestSlow/another_row"
	var out bytes.Buffer
	if err := Compare(&out, before, after); err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{
		"demo 75.0 25.0 0.33", "build 12.0 12.0 1.00", "all 90.0 45.0 0.50", "load.TestSlow 3.5 7.0 2.00",
		"tests and rows: 4 before, 4 after", "gone: load.TestSlow/a_row", "new: load.TestSlow/another_row",
	} {
		if !strings.Contains(words(out.String()), line) {
			t.Errorf("the comparison lacks %q:\n%s", line, out.String())
		}
	}
}

func sample() Report {
	const pkg = "example.test/m/load"
	return Report{
		Commit: "c1", Took: 90 * time.Second, CPUs: 2, Load: 0.3,
		Steps: []step.Result{
			{Name: "build", State: step.Passed, Took: 12 * time.Second, Load: 1.5},
			{Name: "demo", State: step.Failed, Began: 12 * time.Second, Took: 75 * time.Second, Load: 2},
		},
		Tests: []Test{
			{"unit tests", pkg, "TestSlow", "pass", 3500 * time.Millisecond, ""},
			{"unit tests", pkg, "TestSlow/a_row", "pass", 2500 * time.Millisecond, ""},
			{"unit tests", pkg, "TestBusy", "skip", 100 * time.Millisecond, "host too busy: no core"},
			{"unit tests", pkg, "TestWrong", "fail", 200 * time.Millisecond, ""},
		},
	}
}

// words is a text with one blank between any two words of a line.
func words(text string) string {
	var lines []string
	for line := range strings.Lines(text) {
		lines = append(lines, strings.Join(strings.Fields(line), " "))
	}
	return strings.Join(lines, "\n")
}

func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	name = filepath.Join(dir, name)
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return name
}
