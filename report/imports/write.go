package imports

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sync/errgroup"

	"bflow.dev/bflow/internal/durable"
	"bflow.dev/bflow/report"
	"bflow.dev/bflow/report/tools"
	"bflow.dev/bflow/results/checksums"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
)

// Write makes runDir, which must not exist, the directory of a run named name: plan, source files, and measurement 0.
// Report and page are made from it as from any other; kept are the source files in it, with their sums. A run that
// fails or whose ctx ends is a part: who called removes it.
func Write(ctx context.Context, runDir, name string, in *tools.Imported, docs []tools.Document) (
	kept []checksums.File, _ error) {
	plan, err := Plan(name, in)
	if err != nil {
		return nil, err
	}
	if err := durable.MkdirAll(filepath.Dir(runDir)); err != nil {
		return nil, fmt.Errorf("making the run directory: %w", err)
	}
	if err := os.Mkdir(runDir, 0o755); err != nil { // not MkdirAll: it must be new
		return nil, fmt.Errorf("making the run directory: %w; choose another name with --name", err)
	}
	data, err := runplan.Marshal(plan)
	if err != nil {
		return nil, err
	}
	if err := durable.WriteFile(filepath.Join(runDir, contract.FilePlan), data); err != nil {
		return nil, fmt.Errorf("writing the plan: %w", err)
	}
	names := copyNames(in, docs)
	// The copy is mostly waited for, and the measurement computed.
	both, ctx := errgroup.WithContext(ctx)
	both.Go(func() (err error) {
		kept, err = keep(ctx, runDir, names, docs)
		return err
	})
	both.Go(func() error {
		return WriteMeasurement(ctx, report.MeasurementDir(runDir, 0),
			report.Header{PlanHash: plan.Hash, Run: filepath.Base(runDir), Attempt: 1}, in)
	})
	err = both.Wait()
	return kept, err
}

// Plan is what is known of the plan of an imported run: the server, the tool and its stages.
func Plan(name string, in *tools.Imported) (*runplan.RunPlan, error) {
	m := runplan.Measurement{
		Name: in.Tool, Tool: in.Tool, Runner: runplan.RunnerExternal, API: in.API, Data: in.Data, Samples: 1,
	}
	for _, s := range in.Stages {
		m.Stages = append(m.Stages, s.Planned)
	}
	p := &runplan.RunPlan{APIVersion: runplan.APIVersion, Kind: runplan.Kind, Name: name, Experiment: name, Index: 1,
		Deployment: runplan.Deployment{Model: runplan.Model{Name: in.Model},
			Endpoint: &runplan.Endpoint{BaseURL: withoutUser(in.Endpoint)}},
		Labels: map[string]string{"imported_from": in.Tool}, Measurements: []runplan.Measurement{m},
		Target: runplan.Target{Name: "local"}, Queue: runplan.Queue{Isolation: "shared"},
		Execution: runplan.Execution{OnInvalid: "mark"}}
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

// copyNames are the names of the copies of the files, "" for one that is not kept. It notes what they do not hold.
func copyNames(in *tools.Imported, docs []tools.Document) []string {
	names := make([]string, len(docs))
	for i := range docs {
		name := filepath.Base(docs[i].Path)
		if slices.ContainsFunc(docs[:i], func(d tools.Document) bool { return filepath.Base(d.Path) == name }) {
			name = fmt.Sprintf("%d-%s", i, name)
		}
		switch {
		case docs[i].Broken != nil:
			in.Note("%s: it cannot be read, so that no copy is kept: it may hold secrets", name)
			continue
		case docs[i].Hidden > 0:
			in.Note("%s: %d values or comments that may be secret were taken out of the copy that is kept", name, docs[i].Hidden)
		}
		names[i] = name
	}
	return names
}

// keep copies the files that have a name, without secrets.
func keep(ctx context.Context, runDir string, names []string, docs []tools.Document) (
	kept []checksums.File, err error) {
	if err := durable.MkdirAll(filepath.Join(runDir, contract.DirSource)); err != nil {
		return nil, fmt.Errorf("keeping the source: %w", err)
	}
	for i, name := range names {
		if name == "" {
			continue
		}
		one, err := keepOne(ctx, runDir, contract.DirSource+"/"+name, &docs[i])
		if err != nil {
			return nil, fmt.Errorf("keeping the source: %w", err)
		}
		kept = append(kept, one)
	}
	return kept, nil
}

// keepOne copies a document to a path of the run. What is gigabytes is summed as it is written, and not read again.
func keepOne(ctx context.Context, runDir, path string, doc *tools.Document) (checksums.File, error) {
	f, err := durable.Create(filepath.Join(runDir, filepath.FromSlash(path)))
	if err != nil {
		return checksums.File{}, err
	}
	defer f.Discard()
	f.Unread = true
	summed := checksums.NewWriter(f)
	if err := doc.Write(ctx, summed); err != nil {
		return checksums.File{}, err
	}
	return summed.File(path), f.Commit()
}

// WriteMeasurement writes the files of a measurement into dir, as load-gen does: rows, stages, distributions,
// loadgen.json. h says which run it is; tool, clock and sources are filled in.
func WriteMeasurement(ctx context.Context, dir string, h report.Header, in *tools.Imported) error {
	if err := durable.MkdirAll(dir); err != nil {
		return fmt.Errorf("making the measurement's folder: %w", err)
	}
	h.AnchorUnixNS, h.Tool, h.ToolVersion = in.AnchorUnixNS, in.Tool, in.Version
	h.TokenCountSource, h.Clock = in.TokenCountSource, "user"
	load, sorted, err := writeStages(ctx, dir, h, in)
	if err != nil {
		return err
	}
	defer sorted.close()
	rows, err := report.CreateRows(filepath.Join(dir, contract.FileRequests))
	if err != nil {
		return err
	}
	// Without rows the file has its header alone, which says the tool and its version.
	if err := errors.Join(sorted.write(ctx, rows), rows.Finish(h)); err != nil {
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

// writeStages writes stages and distributions and returns what is to be said of the load, and its rows.
func writeStages(
	ctx context.Context, dir string, h report.Header, in *tools.Imported,
) (*report.LoadGen, *rowSorter, error) {
	load := &report.LoadGen{Schema: report.LoadGenSchema, Measurement: h.Measurement, Attempt: h.Attempt,
		Endpoint: withoutUser(in.Endpoint),
		Complete: true, TokenCountSource: in.TokenCountSource, Notes: in.Notes}
	values, err := report.CreateHistograms(filepath.Join(dir, contract.FileHistograms))
	if err != nil {
		return nil, nil, err
	}
	sorted, err := newRowSorter(dir)
	if err != nil {
		return nil, nil, errors.Join(err, values.Close())
	}
	for i := range in.Stages {
		var result *report.StageResult
		if result, err = conclude(ctx, in, i, sorted, values); err != nil {
			break
		}
		result.Measurement = h.Measurement
		if load.StartNS == 0 || result.StartNS < load.StartNS {
			load.StartNS = result.StartNS
		}
		load.EndNS = max(load.EndNS, result.DrainEndNS)
		if err = report.AppendStage(filepath.Join(dir, contract.FileStages), result); err != nil {
			break
		}
	}
	if err = errors.Join(err, values.Close()); err != nil {
		sorted.close()
	}
	return load, sorted, err
}
