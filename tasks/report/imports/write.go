package imports

import (
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"

	"bflow.dev/bflow/tasks/contract"
	"bflow.dev/bflow/tasks/durable"
	"bflow.dev/bflow/tasks/report"
	"bflow.dev/bflow/tasks/report/tools"
	"bflow.dev/bflow/tasks/runplan"
)

// Write makes runDir, which must not exist, the directory of a run named name: plan, source files, and measurement 0.
// Report and page are made from it as from any other.
func Write(runDir, name string, in *tools.Imported, docs []tools.Document) error {
	plan, err := Plan(name, in)
	if err != nil {
		return err
	}
	if err := durable.MkdirAll(filepath.Dir(runDir)); err != nil {
		return fmt.Errorf("making the run directory: %w", err)
	}
	if err := os.Mkdir(runDir, 0o755); err != nil { // not MkdirAll: it must be new
		return fmt.Errorf("making the run directory: %w; name another run with --name", err)
	}
	if err := keep(filepath.Join(runDir, contract.DirSource), in, docs); err != nil {
		return err
	}
	data, err := runplan.Marshal(plan)
	if err != nil {
		return err
	}
	if err := durable.WriteFile(filepath.Join(runDir, contract.FilePlan), data); err != nil {
		return fmt.Errorf("writing the plan: %w", err)
	}
	return WriteMeasurement(report.MeasurementDir(runDir, 0), report.Header{PlanHash: plan.Hash, Run: filepath.Base(runDir), Attempt: 1}, in)
}

// Plan is what is known of the plan of an imported run: the server, the tool and its stages.
func Plan(name string, in *tools.Imported) (*runplan.RunPlan, error) {
	m := runplan.Measurement{Name: in.Tool, Tool: in.Tool, Runner: runplan.RunnerExternal, API: in.API, Data: in.Data, Samples: 1}
	for _, s := range in.Stages {
		m.Stages = append(m.Stages, s.Planned)
	}
	p := &runplan.RunPlan{APIVersion: runplan.APIVersion, Kind: runplan.Kind, Name: name, Experiment: name, Index: 1,
		Deployment: runplan.Deployment{Model: runplan.Model{Name: in.Model}, Endpoint: &runplan.Endpoint{BaseURL: withoutUser(in.Endpoint)}},
		Labels:     map[string]string{"imported_from": in.Tool}, Measurements: []runplan.Measurement{m},
		Target: runplan.Target{Name: "local"}, Queue: runplan.Queue{Isolation: "shared"}, Execution: runplan.Execution{OnInvalid: "mark"}}
	if in.Version != "" {
		p.Labels["imported_version"] = in.Version
	}
	return p, runplan.Identify(p)
}

// withoutUser removes credentials from a URL; what is no URL is left out whole.
func withoutUser(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	u.User, u.RawQuery = nil, ""
	return u.String()
}

// keep copies the files, which hold no secrets; two of one name are numbered.
func keep(dir string, in *tools.Imported, docs []tools.Document) error {
	if err := durable.MkdirAll(dir); err != nil {
		return fmt.Errorf("keeping the source: %w", err)
	}
	for i, doc := range docs {
		name := filepath.Base(doc.Path)
		if slices.ContainsFunc(docs[:i], func(d tools.Document) bool { return filepath.Base(d.Path) == name }) {
			name = fmt.Sprintf("%d-%s", i, name)
		}
		switch {
		case doc.Broken != nil:
			in.Note("%s: it cannot be read, so that no copy is kept: it may hold secrets", name)
			continue
		case doc.Hidden > 0:
			in.Note("%s: %d values or comments that may be secret were taken out of the copy that is kept", name, doc.Hidden)
		}
		if err := durable.WriteFile(filepath.Join(dir, name), doc.Data); err != nil {
			return fmt.Errorf("keeping the source: %w", err)
		}
	}
	return nil
}

// WriteMeasurement writes the files of a measurement into dir, as load-gen does: rows, stages, distributions,
// loadgen.json. h says which run it is; tool, clock and sources are filled in.
func WriteMeasurement(dir string, h report.Header, in *tools.Imported) error {
	if err := durable.MkdirAll(dir); err != nil {
		return fmt.Errorf("making the measurement's folder: %w", err)
	}
	h.AnchorUnixNS, h.Tool, h.ToolVersion, h.TokenCountSource, h.Clock = in.AnchorUnixNS, in.Tool, in.Version, in.TokenCountSource, "user"
	values, err := report.CreateHistograms(filepath.Join(dir, contract.FileHistograms))
	if err != nil {
		return err
	}
	load := report.LoadGen{Schema: report.LoadGenSchema, Measurement: h.Measurement, Attempt: h.Attempt, Endpoint: withoutUser(in.Endpoint),
		Complete: true, TokenCountSource: in.TokenCountSource, Notes: in.Notes}
	for i := range in.Stages {
		result, dists := conclude(in, i)
		result.Measurement = h.Measurement
		if load.StartNS == 0 || result.StartNS < load.StartNS {
			load.StartNS = result.StartNS
		}
		load.EndNS = max(load.EndNS, result.DrainEndNS)
		for _, name := range sortedNames(dists) {
			if err := values.Write(report.DistributionKey{Stage: i, Metric: name}, dists[name]); err != nil {
				return err
			}
		}
		if err := report.AppendStage(filepath.Join(dir, contract.FileStages), result); err != nil {
			return err
		}
	}
	if err := values.Close(); err != nil {
		return err
	}
	if err := writeRows(filepath.Join(dir, contract.FileRequests), h, in); err != nil {
		return err
	}
	data, err := json.Marshal(load)
	if err != nil {
		return fmt.Errorf("encoding loadgen.json: %w", err)
	}
	if err := durable.SyncTree(dir); err != nil {
		return err
	}
	return durable.WriteFile(filepath.Join(dir, contract.FileLoadGen), data) // it vouches for the rest
}

// writeRows writes all rows in order of their intended sends. Without rows the file has its header alone, which says
// the tool and its version.
func writeRows(path string, h report.Header, in *tools.Imported) error {
	var rows []report.Row
	for i := range in.Stages {
		for _, r := range in.Stages[i].Rows {
			r.Stage = i
			rows = append(rows, r)
		}
	}
	slices.SortStableFunc(rows, func(a, b report.Row) int {
		switch {
		case a.TIntended < b.TIntended:
			return -1
		case a.TIntended > b.TIntended:
			return 1
		}
		return 0
	})
	w, err := report.CreateRows(path)
	if err != nil {
		return err
	}
	for i := range rows {
		if err := w.Write(&rows[i]); err != nil {
			return err
		}
	}
	return w.Finish(h)
}

func sortedNames[V any](m map[string]V) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
