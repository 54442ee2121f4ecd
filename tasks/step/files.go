package step

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"bflow.dev/bflow/tasks/contract"
)

// WriteFile writes data to path through a temporary file that is renamed, making the folder where it is missing:
// a reader sees the old content or the new, never a part.
func WriteFile(path string, data []byte) (err error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return fmt.Errorf("making folder of %q: %w", path, err)
	}
	tmp, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return fmt.Errorf("writing %q: %w", path, err)
	}
	defer func() {
		if err != nil {
			os.Remove(tmp.Name())
			err = fmt.Errorf("writing %q: %w", path, err)
		}
	}()
	if _, err = tmp.Write(data); err != nil {
		tmp.Close()
		return err
	}
	if err = tmp.Chmod(0o644); err != nil {
		tmp.Close()
		return err
	}
	if err = tmp.Close(); err != nil {
		return err
	}
	return os.Rename(tmp.Name(), path)
}

// WriteJSON writes v as indented JSON.
func WriteJSON(path string, v any) error {
	data, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding %q: %w", path, err)
	}
	return WriteFile(path, append(data, '\n'))
}

// ReadJSON reads path into v.
func ReadJSON(path string, v any) error {
	data, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("reading %w", err)
	}
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("reading %q: %w", path, err)
	}
	return nil
}

// Event is one line of events.jsonl.
type Event struct {
	Time    time.Time         `json:"time"` // UTC
	Source  string            `json:"source"`
	Event   string            `json:"event"` // a word: started, ready, stage_started, ...
	Message string            `json:"message,omitempty"`
	Fields  map[string]string `json:"fields,omitempty"`
}

// AppendEvent adds e to the events of runDir, with the time of now where e has none. One line is one write, so that
// tasks running side by side do not mix theirs.
func AppendEvent(runDir string, e Event) error {
	if e.Time.IsZero() {
		e.Time = time.Now()
	}
	e.Time = e.Time.UTC()
	line, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("encoding event %q: %w", e.Event, err)
	}
	f, err := os.OpenFile(filepath.Join(runDir, contract.FileEvents), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("recording event %q: %w", e.Event, err)
	}
	defer f.Close()
	if _, err := f.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("recording event %q: %w", e.Event, err)
	}
	return nil
}
