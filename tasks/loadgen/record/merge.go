package record

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"bflow.dev/bflow/internal/durable"
	"bflow.dev/bflow/report"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/tasks/step"
)

// Merge makes one measurement directory out of those that the shards of one load have written, each with the outcomes
// that Keep left there: the numbers are computed from all outcomes together, so that they are those of an undivided
// load. Stamps are moved to the anchor of the first shard by the wall times of the anchors.
//
// conclude is called with every stage, its result and the results of the shards, to judge it; nil keeps the checks of
// the shards, the worst of each name. keep says what is written beside rows and values, as for the shards.
func Merge(
	out string, dirs []string, keep runplan.Record,
	conclude func(in *Stage, r *report.StageResult, shards []report.StageResult),
) error {
	if len(dirs) == 0 {
		return errors.New("merging shards: there are none")
	}
	m := merger{out: out, dirs: dirs, conclude: conclude, sources: map[string]int{}}
	if conclude == nil {
		m.conclude = mergeChecks
	}
	err := m.read()
	if err == nil {
		err = m.open(keep)
	}
	if err == nil {
		err = errors.Join(m.mergeStages(), m.close())
	}
	if err != nil {
		return fmt.Errorf("merging shards into %q: %w", out, err)
	}
	return nil
}

type merger struct {
	out      string
	dirs     []string
	conclude func(in *Stage, r *report.StageResult, shards []report.StageResult)
	loads    []report.LoadGen
	results  [][]report.StageResult // of each shard
	header   report.Header
	files    *Files
	sources  map[string]int
	kernel   int
	user     int
}

// read reads what the shards say of themselves.
func (m *merger) read() error {
	for _, dir := range m.dirs {
		var load report.LoadGen
		if err := step.ReadJSON(filepath.Join(dir, contract.FileLoadGen), &load); err != nil {
			return err
		}
		results, err := report.ReadStages(filepath.Join(dir, contract.FileStages))
		if err != nil {
			return err
		}
		m.loads, m.results = append(m.loads, load), append(m.results, results)
	}
	first, err := report.OpenRows(filepath.Join(m.dirs[0], contract.FileRequests))
	if err != nil {
		return err
	}
	m.header = first.Header
	return first.Close()
}

func (m *merger) open(keep runplan.Record) (err error) {
	if err := durable.MkdirAll(m.out); err != nil {
		return err
	}
	if err := durable.Replace(filepath.Join(m.out, contract.FileStages), nil); err != nil {
		return err
	}
	keep.Texts = 0 // the shards have them
	m.files, err = OpenFiles(m.out, keep, nil)
	return err
}

// mergeStages merges stage by stage, in the order of the first shard.
func (m *merger) mergeStages() error {
	for i := range m.results[0] {
		r, err := m.stage(m.results[0][i].Sample, m.results[0][i].Stage)
		if err == nil && r == nil {
			r = &m.results[0][i] // skipped
		}
		if err == nil {
			err = report.AppendStage(filepath.Join(m.out, contract.FileStages), r)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// stage merges one stage; nil for one that was skipped.
func (m *merger) stage(sample, stage int) (*report.StageResult, error) {
	k, err := openKept(m.dirs, sample, stage, m.header.AnchorUnixNS)
	if k == nil {
		return nil, err
	}
	defer k.close()
	sum, err := summarize(k.contents, &k.stage, filepath.Join(m.out, "stage"), m.files.Outputs)
	if err != nil {
		return nil, err
	}
	m.kernel, m.user = m.kernel+sum.Kernel, m.user+sum.User
	for s, n := range sum.SourceCounts {
		m.sources[s] += n
	}
	shards := m.shards(sample, stage)
	r := &sum.Result
	r.Measurement, r.Ended, r.Client = shards[0].Measurement, shards[0].Ended, sumClients(shards)
	for _, s := range shards {
		if s.Interrupted {
			r.Interrupted, r.Ended = true, s.Ended
		}
	}
	m.conclude(&k.stage, r, shards)
	return r, nil
}

// shards are the results that the shards have of one stage.
func (m *merger) shards(sample, stage int) []report.StageResult {
	var out []report.StageResult
	for _, results := range m.results {
		for _, r := range results {
			if r.Sample == sample && r.Stage == stage {
				out = append(out, r)
			}
		}
	}
	return out
}

// mergeChecks keeps, of the checks of one name, one that did not pass where there is one.
func mergeChecks(_ *Stage, r *report.StageResult, shards []report.StageResult) {
	for _, s := range shards {
		for _, c := range s.Checks {
			i := slices.IndexFunc(r.Checks, func(have report.Check) bool { return have.Name == c.Name })
			switch {
			case i < 0:
				r.Checks = append(r.Checks, c)
			case r.Checks[i].OK && !c.OK:
				r.Checks[i] = c
			}
		}
	}
}

// close finishes the files.
func (m *merger) close() error {
	load := m.load()
	h := m.header
	h.TokenCountSource, h.Clock, h.Interrupted = load.TokenCountSource, Clock(m.kernel, m.user), load.Interrupted
	err := m.files.Finish(h)
	scrapes := filepath.Join(m.dirs[0], "scrapes")
	if _, missing := os.Stat(scrapes); err == nil && !errors.Is(missing, fs.ErrNotExist) {
		err = os.CopyFS(filepath.Join(m.out, "scrapes"), os.DirFS(scrapes))
	}
	// it vouches for the rest
	return errors.Join(err, durable.SyncTree(m.out), durable.WriteJSON(filepath.Join(m.out, contract.FileLoadGen), load))
}

// load is loadgen.json of the whole.
func (m *merger) load() report.LoadGen {
	all := m.loads[0]
	all.TokenCountSource = Source(m.sources)
	for _, l := range m.loads[1:] {
		all.StartNS, all.EndNS = min(all.StartNS, l.StartNS), max(all.EndNS, l.EndNS)
		all.Complete, all.Interrupted = all.Complete && l.Complete, all.Interrupted || l.Interrupted
		if all.Error == "" {
			all.Error = l.Error
		}
		for _, note := range l.Notes {
			if !slices.Contains(all.Notes, note) {
				all.Notes = append(all.Notes, note)
			}
		}
	}
	return all
}
