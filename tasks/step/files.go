package step

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"bflow.dev/bflow/internal/durable"
	"bflow.dev/bflow/runplan/contract"
)

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
	f, err := durable.AppendGrowing(filepath.Join(runDir, contract.FileEvents))
	if err != nil {
		return fmt.Errorf("recording event %q: %w", e.Event, err)
	}
	defer f.Close()
	if _, err := f.Write(append(line, '\n')); err != nil {
		return fmt.Errorf("recording event %q: %w", e.Event, err)
	}
	return nil
}
