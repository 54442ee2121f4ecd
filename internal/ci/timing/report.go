package timing

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"text/tabwriter"
	"time"

	"bflow.dev/bflow/internal/ci/step"
)

// version is that of the file.
const version = 1

// Report is what one run of the checks took.
type Report struct {
	Version int           `json:"version"`
	Commit  string        `json:"commit"`
	Began   time.Time     `json:"began"`
	Took    time.Duration `json:"took_ns"`
	CPUs    int           `json:"cpus"`
	Load    float64       `json:"load"` // the load average over a minute before the first step
	Steps   []step.Result `json:"steps"`
	Tests   []Test        `json:"tests"`
}

// Write prints the tables: steps, slowest tests, tests that gave no verdict.
func (r Report) Write(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintf(w, "step\tbegan\tseconds\tload\tstate\t\n")
	for _, s := range r.Steps {
		fmt.Fprintf(w, "%s\t%.0f\t%.0f\t%.1f\t%s\t\n", s.Name, s.Began.Seconds(), s.Took.Seconds(), s.Load, s.State)
	}
	fmt.Fprintf(w, "all\t0\t%.0f\t%.1f\t%d CPUs\t\n", r.Took.Seconds(), r.Load, r.CPUs)
	fmt.Fprintf(w, "\t\t\t\t\t\nslowest tests\tseconds\tstep\t\t\t\n")
	for _, t := range Slowest(r.Tests, 20) {
		fmt.Fprintf(w, "%s\t%.1f\t%s\t\t\t\n", t.title(), t.Took.Seconds(), t.Step)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return r.verdicts(out)
}

// verdicts counts the tests and names those that passed no judgement.
func (r Report) verdicts(out io.Writer) error {
	count := map[string]int{}
	var err error
	for _, t := range r.Tests {
		count[t.Result]++
		if t.Result == "skip" {
			_, e := fmt.Fprintf(out, "skipped in %s: %s: %s\n", t.Step, t.title(), t.Said)
			err = errors.Join(err, e)
		}
	}
	_, e := fmt.Fprintf(out, "%d passed, %d failed, %d skipped\n", count["pass"], count["fail"], count["skip"])
	return errors.Join(err, e)
}

// title is the folder of a test's package and its name.
func (t Test) title() string {
	_, dir, _ := strings.Cut(t.Package, "/")
	_, dir, _ = strings.Cut(dir, "/")
	return dir + "." + t.Name
}

// Save writes the report to a file, whole or not at all.
func (r Report) Save(file string) error {
	r.Version = version
	text, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return fmt.Errorf("saving the times: %w", err)
	}
	tmp, err := os.CreateTemp(filepath.Dir(file), ".times-*")
	if err != nil {
		return fmt.Errorf("saving the times: %w", err)
	}
	defer os.Remove(tmp.Name())
	_, err = tmp.Write(append(text, '\n'))
	if err := errors.Join(err, tmp.Close()); err != nil {
		return fmt.Errorf("saving the times: %w", err)
	}
	if err := os.Rename(tmp.Name(), file); err != nil {
		return fmt.Errorf("saving the times: %w", err)
	}
	return nil
}

// Open reads a report that Save has written.
func Open(file string) (Report, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return Report{}, fmt.Errorf("reading times: %w", err)
	}
	var r Report
	if err := json.Unmarshal(text, &r); err != nil {
		return Report{}, fmt.Errorf("reading times: %q holds none: %w", file, err)
	}
	if r.Version != version {
		return Report{}, fmt.Errorf("reading times: %q is of version %d, not %d", file, r.Version, version)
	}
	return r, nil
}
