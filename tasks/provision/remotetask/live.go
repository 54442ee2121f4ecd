package remotetask

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"time"

	"bflow.dev/bflow/internal/durable"
	"bflow.dev/bflow/report"
	"bflow.dev/bflow/results/checksums"
	"bflow.dev/bflow/results/transfer"
	"bflow.dev/bflow/runplan/contract"
)

// lookTime bounds one look at a file that is followed: the next look comes soon.
const lookTime = 10 * time.Second

// live brings what tells how far a task is into the run directory of the hub while the task runs.
type live struct {
	from   transfer.Server
	runDir string
	small  []string // files that are replaced as a whole
	events *events

	sizes map[string]int64 // of those that were brought
}

// follow looks every so often, until ctx ends. What it cannot have now it has the next time, or at the end.
func (l *live) follow(ctx context.Context, every time.Duration) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-tick.C:
			l.look(ctx)
		case <-ctx.Done():
			return
		}
	}
}

// look asks what there is, and brings what has changed since: a run costs its target's API server little.
func (l *live) look(parent context.Context) {
	ctx, cancel := context.WithTimeout(parent, lookTime)
	defer cancel()
	m, err := l.from.Manifest(ctx)
	if err != nil {
		return
	}
	if l.sizes == nil {
		l.sizes = map[string]int64{}
	}
	for _, file := range m.Files {
		grown := file.Size != l.sizes[file.Path]
		switch {
		case file.Path == contract.FileEvents && file.Size > l.events.offset:
			_ = l.events.take(ctx, l.from)
		case slices.Contains(l.small, file.Path) && (grown || path.Base(file.Path) == report.FileProgress):
			l.bring(ctx, file)
		}
	}
}

// bring replaces a file here. Best effort: a volume that is full is found out by what must be written.
func (l *live) bring(ctx context.Context, file checksums.File) {
	data, err := l.from.Read(ctx, file.Path, 0)
	if err != nil || ctx.Err() != nil {
		return
	}
	if durable.Replace(filepath.Join(l.runDir, filepath.FromSlash(file.Path)), data) == nil {
		l.sizes[file.Path] = file.Size
	}
}

// followed are the small files of a load that say how far it is, and what it was where its pod is lost.
func followed(measurement int) []string {
	dir := contract.DirMeasurement + fmt.Sprintf("/%d/", measurement)
	return []string{dir + report.FileProgress, dir + contract.FileStages, dir + contract.FileLoadGen}
}

// events adds the events of a task to those of its run, each once, also when an earlier launcher has added some.
type events struct {
	path   string // of the file of the run
	offset int64  // of what was read from the task
	known  map[string]bool
}

// take adds what is new. Only whole lines are taken.
func (e *events) take(ctx context.Context, from transfer.Server) error {
	data, err := from.Read(ctx, contract.FileEvents, e.offset)
	if code(err) == 404 { // the task has said nothing yet
		return nil
	}
	if err != nil {
		return err
	}
	data = data[:bytes.LastIndexByte(data, '\n')+1]
	if err := e.add(data); err != nil {
		return err
	}
	e.offset += int64(len(data))
	return nil
}

func (e *events) add(lines []byte) (err error) {
	if e.known == nil {
		if err := e.read(); err != nil {
			return err
		}
	}
	var fresh []byte
	for line := range bytes.Lines(lines) {
		if !e.known[string(line)] {
			fresh = append(fresh, line...)
		}
	}
	if len(fresh) == 0 {
		return nil
	}
	f, err := durable.AppendGrowing(e.path)
	if err != nil {
		return fmt.Errorf("recording the events of the task: %w", err)
	}
	if _, err := f.Write(fresh); err != nil {
		return errors.Join(fmt.Errorf("recording the events of the task: %w", err), f.Close())
	}
	for line := range bytes.Lines(fresh) {
		e.known[string(line)] = true
	}
	return f.Close()
}

// read takes in what the run has already.
func (e *events) read() error {
	data, err := os.ReadFile(e.path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("reading the events of the run: %w", err)
	}
	e.known = map[string]bool{}
	for line := range bytes.Lines(data) {
		e.known[string(line)] = true
	}
	return nil
}
