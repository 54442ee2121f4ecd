package product

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"bflow.dev/bflow/internal/eventually"
	"bflow.dev/bflow/report"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/sim"
	"bflow.dev/bflow/tasks/step"
)

// Run is the directory of a run.
type Run struct {
	t   testing.TB
	Dir string
}

// Every returns the runs in the folder root, in the order of their names.
func Every(t testing.TB, root string) []Run {
	t.Helper()
	entries, err := os.ReadDir(root)
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	var runs []Run
	for _, e := range entries {
		if e.IsDir() {
			runs = append(runs, Run{t, filepath.Join(root, e.Name())})
		}
	}
	return runs
}

// ID is the name of the run.
func (r Run) ID() string { return filepath.Base(r.Dir) }

// Path is that of a file of the run directory.
func (r Run) Path(name string) string { return filepath.Join(r.Dir, name) }

// Has says whether the run directory holds a file.
func (r Run) Has(name string) bool {
	_, err := os.Stat(r.Path(name))
	return err == nil
}

// Measurement is the path of a file of measurement 0.
func (r Run) Measurement(name string) string {
	return r.Path(filepath.Join(contract.DirMeasurement, "0", name))
}

// Rows are the requests as load-gen has written them down, of measurement 0.
func (r Run) Rows() (report.Header, []report.Row) {
	r.t.Helper()
	h, rows, err := report.ReadRows(r.Measurement(contract.FileRequests))
	if err != nil {
		r.t.Fatal(err)
	}
	return h, rows
}

// Truth are the requests as the engine has written them down. The log may be read while it grows.
func (r Run) Truth() []sim.Record {
	r.t.Helper()
	data, err := os.ReadFile(r.Path("deployment/truth.jsonl"))
	if err != nil && !os.IsNotExist(err) {
		r.t.Fatal(err)
	}
	var all []sim.Record
	for line := range bytes.Lines(data) {
		var rec sim.Record
		if !bytes.HasSuffix(line, []byte("\n")) {
			break
		}
		if err := json.Unmarshal(line, &rec); err != nil {
			r.t.Fatal(err)
		}
		all = append(all, rec)
	}
	return all
}

// Report is report.json.
func (r Run) Report() *report.Report {
	r.t.Helper()
	rep, err := report.Read(r.Dir)
	if err != nil {
		r.t.Fatal(err)
	}
	return rep
}

// Endpoint is the base URL of the engine.
func (r Run) Endpoint() string {
	r.t.Helper()
	var end struct{ URL string }
	if err := step.ReadJSON(r.Path(contract.FileEndpoint), &end); err != nil {
		r.t.Fatal(err)
	}
	return end.URL
}

// AwaitLoad waits until the only run of p has had n requests of its load answered, and returns it.
func (p *Product) AwaitLoad(n int) Run {
	p.t.Helper()
	var run Run
	eventually.Nil(p.t, strconv.Itoa(n)+" answered requests", func() error {
		runs := p.Every()
		if len(runs) == 0 {
			return errors.New("no run")
		}
		run = runs[len(runs)-1]
		if have := len(answered(run)); have < n {
			return fmt.Errorf("%d requests of %s", have, run.ID())
		}
		return nil
	})
	return run
}

// Inject puts faults in force at the engine, from now on.
func (r Run) Inject(faults ...runplan.Fault) {
	r.t.Helper()
	body, err := json.Marshal(faults)
	if err != nil {
		r.t.Fatal(err)
	}
	resp, err := http.Post(r.Endpoint()+"/sim/faults", "application/json", bytes.NewReader(body))
	if err != nil {
		if faults[0].Kind == runplan.FaultCrash { // it may be gone before it answers
			return
		}
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		r.t.Fatalf("injecting %v: %s", faults, resp.Status)
	}
}

// FindingsOfThisMachine are reasons why a stage is invalid that say nothing of the engine: the machine of a test may be
// busy.
func FindingsOfThisMachine() []string {
	return []string{"schedule_missed", "client_limited", "clock_step", "path_delay"}
}

// OfThisMachine says whether a reason is one of them.
func OfThisMachine(reason string) bool { return slices.Contains(FindingsOfThisMachine(), reason) }
