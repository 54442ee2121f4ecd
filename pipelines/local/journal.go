package local

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"bflow.dev/bflow/internal/durable"
)

// journal is the append-only record of a run: one JSON line per transition, on disk before the next thing happens.
type journal struct {
	f    *os.File
	size int64
}

// openJournal opens or makes the journal of runDir and returns what it holds. A torn last line, the trace of a killed
// executor, is cut off.
func openJournal(runDir string) (*journal, []Record, error) {
	path := journalPath(runDir)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, nil, fmt.Errorf("opening journal: %w", err)
	}
	records, size, err := readJournal(f)
	if err == nil {
		err = f.Truncate(size)
	}
	if err == nil {
		err = durable.SyncFolder(filepath.Dir(path))
	}
	if err != nil {
		f.Close()
		return nil, nil, fmt.Errorf("opening journal %q: %w", path, err)
	}
	return &journal{f: f, size: size}, records, nil
}

// readJournal returns the whole records of r and the number of bytes they take. What follows the last line end is torn
// and left out; a line that is no record is an error, for nothing but damage explains it.
func readJournal(r io.Reader) (records []Record, size int64, err error) {
	lines := bufio.NewReader(r)
	for n := 1; ; n++ {
		line, err := lines.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return records, size, nil
		}
		if err != nil {
			return nil, 0, err
		}
		var rec Record
		if err := json.Unmarshal(line, &rec); err != nil {
			return nil, 0, fmt.Errorf("line %d is damaged: %w", n, err)
		}
		if rec.Kind == "" {
			return nil, 0, fmt.Errorf("line %d is damaged: no kind", n)
		}
		records = append(records, rec)
		size += int64(len(line))
	}
}

// append writes r through to the disk. After a failed write the file is as it was before.
func (j *journal) append(r Record) error {
	line, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("encoding %s: %w", r.Kind, err)
	}
	line = append(line, '\n')
	_, err = j.f.WriteAt(line, j.size)
	if err == nil {
		err = j.f.Sync()
	}
	if err != nil {
		return fmt.Errorf("recording %s: %w", r.Kind, errors.Join(err, j.f.Truncate(j.size)))
	}
	j.size += int64(len(line))
	return nil
}

func (j *journal) close() { _ = j.f.Close() }
