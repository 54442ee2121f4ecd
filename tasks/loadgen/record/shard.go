package record

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"bflow.dev/bflow/internal/durable"
	"bflow.dev/bflow/report"
	"bflow.dev/bflow/tasks/step"
)

// A shard of a divided load keeps the outcomes of each stage beside its own rows, because numbers of a whole cannot be
// computed from numbers of its parts: outcomes-<sample>-<stage>.bin is the spill, the .json beside it its Stage.
func shardFile(dir string, sample, stage int) string {
	return filepath.Join(dir, fmt.Sprintf("outcomes-%d-%d", sample, stage))
}

// shardSchema names the form of the .json file.
const shardSchema = "bflow.outcomes/1"

type shardStage struct {
	Schema string `json:"schema"`
	Stage  Stage  `json:"stage"`
}

// Keep gives the spill of a stage, which was summarised, its place in the measurement directory of a shard, for Merge.
// It takes the place of Remove.
func (s *Spill) Keep(dir string, in *Stage) error {
	path := shardFile(dir, in.Sample, in.Index)
	err := errors.Join(s.close(), s.f.Sync(), s.f.Close(), durable.Rename(s.path, path+".bin"))
	if err != nil {
		return fmt.Errorf("keeping the outcomes of stage %d: %w", in.Index, err)
	}
	return durable.WriteJSON(path+".json", shardStage{shardSchema, *in})
}

// kept is what the shards have of one stage.
type kept struct {
	contents *contents
	stage    Stage
	files    []*os.File
}

// openKept opens the outcomes that shards kept of a stage, with stamps since anchor; nil where none has any, because
// the stage was skipped.
func openKept(dirs []string, sample, stage int, anchor int64) (k *kept, err error) {
	k = &kept{contents: new(contents), stage: Stage{AnchorUnixNS: anchor}}
	for _, dir := range dirs {
		if err := k.open(shardFile(dir, sample, stage)); err != nil {
			k.close()
			return nil, err
		}
	}
	if len(k.files) == 0 {
		return nil, nil
	}
	k.contents.sort()
	return k, nil
}

func (k *kept) open(path string) error {
	f, err := os.Open(path + ".bin")
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading outcomes: %w", err)
	}
	k.files = append(k.files, f)
	var meta shardStage
	if err := step.ReadJSON(path+".json", &meta); err != nil {
		return err
	}
	if meta.Schema != shardSchema {
		return fmt.Errorf("reading %q: schema %q is not %q", path+".json", meta.Schema, shardSchema)
	}
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("reading outcomes: %w", err)
	}
	c, err := readSpill(path+".bin", f, info.Size(), 0)
	if err != nil {
		return err
	}
	k.widen(meta.Stage)
	k.contents.join(c, meta.Stage.AnchorUnixNS-k.stage.AnchorUnixNS)
	return nil
}

// widen makes the stage last as long as it and o together.
func (k *kept) widen(o Stage) {
	anchor := k.stage.AnchorUnixNS
	for _, p := range []*int64{&o.Start, &o.End, &o.WindowEnd, &o.DrainEnd} {
		*p += o.AnchorUnixNS - anchor
	}
	o.AnchorUnixNS = anchor
	if len(k.files) == 1 {
		k.stage = o
		return
	}
	in := &k.stage
	in.Start, in.End = min(in.Start, o.Start), max(in.End, o.End)
	in.WindowEnd, in.DrainEnd = max(in.WindowEnd, o.WindowEnd), max(in.DrainEnd, o.DrainEnd)
}

func (k *kept) close() {
	for _, f := range k.files {
		f.Close()
	}
}

// sumClients returns what several shards know of themselves during one stage.
func sumClients(shards []report.StageResult) report.Client {
	var c report.Client
	for _, s := range shards {
		c.CPUSeconds += s.Client.CPUSeconds
		c.RunQueueS += s.Client.RunQueueS
		c.ConnsOpened += s.Client.ConnsOpened
		c.StaleRetries += s.Client.StaleRetries
		c.PeakRSSBytes += s.Client.PeakRSSBytes
		c.MaxGCPauseMS = max(c.MaxGCPauseMS, s.Client.MaxGCPauseMS)
		c.ClockDriftMS = max(c.ClockDriftMS, s.Client.ClockDriftMS)
	}
	return c
}
