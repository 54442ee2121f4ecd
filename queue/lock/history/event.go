package history

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"time"
)

// Kind says what happened.
type Kind string

// Kinds of events.
const (
	// a hub got the Lease, or changed its key: key, fence; from, where another hub did not renew it
	Taken    Kind = "taken"
	Freed    Kind = "freed"    // a hub gave the Lease back
	Started  Kind = "started"  // a run was let start: key, fence, amounts
	Idle     Kind = "idle"     // no pod of a run holds a device any more: its quota is free
	Released Kind = "released" // nothing of a run is left on its target
	Forced   Kind = "forced"   // a run gave its quota back though something may be left
	Acts     Kind = "acts"     // a run changes its target: what a model knows, and no log
	Clean    Kind = "clean"    // nothing of it is there any more
	Quota    Kind = "quota"    // what a hub may use of a target at once: amounts
	Born     Kind = "born"     // a controller of a hub begins: what the one before did last may not have been told
)

// clock is how times of a history are told.
const clock = "15:04:05.000"

// message marks our lines in a log of many others.
const message = "history"

// Event is one line of the log of a controller.
type Event struct {
	Time    time.Time        `json:"time"`
	Kind    Kind             `json:"event"`
	Hub     string           `json:"hub"`
	Target  string           `json:"target"`
	Run     string           `json:"run,omitempty"` // namespace/name
	Key     string           `json:"key,omitempty"`
	Fence   int64            `json:"fence,omitempty"`
	From    string           `json:"from,omitempty"`
	Amounts map[string]int64 `json:"amounts,omitempty"`
}

// String is the event for a person.
func (e Event) String() string {
	text := fmt.Sprintf("%s %s %s", e.Time.UTC().Format(clock), e.Hub, e.Kind)
	for _, part := range []struct{ name, value string }{{"target", e.Target}, {"run", e.Run}, {"key", e.Key},
		{"from", e.From}} {
		if part.value != "" {
			text += " " + part.name + "=" + part.value
		}
	}
	if e.Fence != 0 {
		text += fmt.Sprintf(" fence=%d", e.Fence)
	}
	return text
}

// Write puts an event into the log of a controller; the log adds the time.
func Write(log *slog.Logger, e Event) {
	attrs := []slog.Attr{slog.String("event", string(e.Kind)), slog.String("hub", e.Hub), slog.String("target", e.Target)}
	for _, part := range []struct{ name, value string }{{"run", e.Run}, {"key", e.Key}, {"from", e.From}} {
		if part.value != "" {
			attrs = append(attrs, slog.String(part.name, part.value))
		}
	}
	if e.Fence != 0 {
		attrs = append(attrs, slog.Int64("fence", e.Fence))
	}
	if len(e.Amounts) > 0 {
		attrs = append(attrs, slog.Any("amounts", e.Amounts))
	}
	log.LogAttrs(context.Background(), slog.LevelInfo, message, attrs...)
}

// longest line of a log that is read.
const longest = 1 << 20

// Read returns the events in the log of a controller, which holds other lines too: also such that are no JSON.
func Read(r io.Reader) ([]Event, error) {
	var out []Event
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, longest)
	for lines.Scan() {
		var line struct {
			Event
			Message string `json:"msg"`
		}
		if json.Unmarshal(lines.Bytes(), &line) == nil && line.Message == message {
			out = append(out, line.Event)
		}
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("reading the log of a controller: %w", err)
	}
	return out, nil
}
