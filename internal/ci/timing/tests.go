package timing

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// Test is a test or a row of one, of one package, in one step. Result is "pass", "fail" or "skip"; Said is what one
// that was skipped gave as its reason.
type Test struct {
	Step    string        `json:"step"`
	Package string        `json:"package"`
	Name    string        `json:"name"`
	Result  string        `json:"result"`
	Took    time.Duration `json:"took_ns"`
	Said    string        `json:"said,omitempty"`
}

// event is a line of `go test -json` (go doc test2json).
type event struct {
	Action, Package, Test, Output string
	Elapsed                       float64 // seconds
}

// ReadTests reads the files that steps have left in a folder, one STEP.json or STEP.K.json for each call of go test. A
// line that is no event (a build that failed prints some) is passed over; a test that never ended counts as failed.
func ReadTests(folder string) (tests []Test, err error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.json"))
	if err != nil {
		return nil, fmt.Errorf("looking for the events of tests: %w", err)
	}
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			return nil, fmt.Errorf("reading the events of tests: %w", err)
		}
		step, _, _ := strings.Cut(filepath.Base(name), ".")
		read, err := decode(f, strings.ReplaceAll(step, "-", " "))
		f.Close()
		if err != nil {
			return nil, fmt.Errorf("reading the events of tests in %q: %w", name, err)
		}
		tests = append(tests, read...)
	}
	return tests, nil
}

func decode(in io.Reader, step string) ([]Test, error) {
	type key struct{ pkg, name string }
	at := map[key]int{}
	var tests []Test
	for lines := bufio.NewReader(in); ; {
		line, err := lines.ReadBytes('\n')
		var e event
		if len(bytes.TrimSpace(line)) > 0 && json.Unmarshal(line, &e) == nil && e.Test != "" {
			k := key{e.Package, e.Test}
			i, known := at[k]
			if !known || e.Action == "run" && tests[i].Result != unended { // -count repeats it
				i, at[k] = len(tests), len(tests)
				tests = append(tests, Test{Step: step, Package: e.Package, Name: e.Test, Result: unended})
			}
			tests[i].see(e)
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return nil, err
		}
	}
	for i := range tests {
		if tests[i].Result == unended {
			tests[i].Result = "fail"
		}
		if tests[i].Result != "skip" {
			tests[i].Said = ""
		}
	}
	return tests, nil
}

const unended = "unended"

func (t *Test) see(e event) {
	switch e.Action {
	case "pass", "fail", "skip":
		t.Result, t.Took = e.Action, time.Duration(e.Elapsed*float64(time.Second))
	case "output":
		if s := strings.TrimSpace(e.Output); !strings.HasPrefix(s, "===") && !strings.HasPrefix(s, "---") && s != "" {
			t.Said = sentence(s)
		}
	}
}

// sentence is a line of a log without the file that wrote it.
func sentence(line string) string {
	if file, rest, ok := strings.Cut(line, ": "); ok && strings.Contains(file, ".go:") {
		return rest
	}
	return line
}

// isRow reports whether a test is a row of another.
func (t Test) isRow() bool { return strings.Contains(t.Name, "/") }

// Slowest are the n tests that took the longest, rows of tests left out.
func Slowest(tests []Test, n int) []Test {
	whole := slices.DeleteFunc(slices.Clone(tests), Test.isRow)
	slices.SortStableFunc(whole, func(a, b Test) int { return int(b.Took - a.Took) })
	return whole[:min(n, len(whole))]
}
