// Package state is what a matrix has come to, as its CustomRun tells: what became of every point, in a few bytes, and
// the counts and sentences that people read. The controller writes it and the command line reads it; it talks to
// nobody.
package state

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Schema names the format.
const Schema = "bflow.matrix/1"

// State stands in the field extraFields of the status of a CustomRun.
type State struct {
	Schema   string           `json:"schema"`
	Points   int              `json:"points"`
	Outcomes string           `json:"outcomes"` // of every point in its order: see Encode
	Counts   Counts           `json:"counts"`
	Stopped  string           `json:"stopped,omitempty"` // why nothing more starts
	Finish   time.Time        `json:"finish,omitzero"`   // when it will have ended, by a guess
	Waits    []string         `json:"waits,omitempty"`   // what it waits for, in sentences
	Notes    []string         `json:"notes,omitempty"`   // what a person should know, in sentences; the last ones
	Spent    map[string]Spent `json:"spent,omitempty"`   // by queue, what runs that have ended took
}

// Spent is the time that runs took, from their start to their end.
type Spent struct {
	Runs    int     `json:"runs"`
	Seconds float64 `json:"seconds"`
}

// Counts are how many points are where.
type Counts struct {
	Waiting      int `json:"waiting"` // no run of it is made yet
	Queued       int `json:"queued"`
	Running      int `json:"running"` // to the release of what it held
	Passed       int `json:"passed"`
	Failed       int `json:"failed"`
	Invalid      int `json:"invalid"`
	Inconclusive int `json:"inconclusive"`
	Cancelled    int `json:"cancelled"`
	Deleted      int `json:"deleted"` // by a person, before its end
	Skipped      int `json:"skipped"` // never made, because the matrix ended before
}

// Ended is how many points have come to their end.
func (c Counts) Ended() int {
	return c.Passed + c.Failed + c.Invalid + c.Inconclusive + c.Cancelled + c.Deleted + c.Skipped
}

// String is the counts in words, those that are zero left out.
func (c Counts) String() string {
	var parts []string
	for _, p := range []struct {
		n    int
		word string
	}{
		{c.Passed, "passed"}, {c.Failed, "failed"}, {c.Invalid, "invalid"}, {c.Inconclusive, "inconclusive"},
		{c.Cancelled, "cancelled"},
		{c.Deleted, "deleted"}, {c.Skipped, "skipped"}, {c.Running, "running"}, {c.Queued, "queued"}, {c.Waiting, "waiting"},
	} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.word))
		}
	}
	if len(parts) == 0 {
		return "nothing yet"
	}
	return strings.Join(parts, ", ")
}

// Sentence is the whole in one line.
func (s *State) Sentence(now time.Time) string {
	text := fmt.Sprintf("%d points: %s", s.Points, s.Counts)
	if s.Stopped != "" {
		text += "; " + s.Stopped
	}
	if left := s.Finish.Sub(now); !s.Finish.IsZero() && left > 0 {
		text += "; about " + Rough(left) + " left"
	}
	if len(s.Waits) > 0 {
		text += "; " + strings.Join(s.Waits, "; ")
	}
	return text
}

// Rough rounds a guess to what it is good for.
func Rough(d time.Duration) string {
	switch {
	case d > 10*time.Hour:
		return fmt.Sprintf("%dh", int(d.Round(time.Hour)/time.Hour))
	case d > time.Hour:
		d = d.Round(10 * time.Minute)
		return fmt.Sprintf("%dh%02dm", int(d/time.Hour), int(d%time.Hour/time.Minute))
	case d > 90*time.Second:
		return fmt.Sprintf("%dm", int(d.Round(time.Minute)/time.Minute))
	}
	return fmt.Sprintf("%ds", int(max(d, time.Second).Round(time.Second)/time.Second))
}

// maxNotes bounds what is kept of what people should know.
const maxNotes = 10

// Note keeps a sentence, once.
func (s *State) Note(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if !slices.Contains(s.Notes, text) {
		s.Notes = append(s.Notes, text)
	}
	s.Notes = s.Notes[max(0, len(s.Notes)-maxNotes):]
}

// Clone shares nothing with s.
func (s *State) Clone() *State {
	c := *s
	c.Waits, c.Notes, c.Spent = slices.Clone(s.Waits), slices.Clone(s.Notes), maps.Clone(s.Spent)
	return &c
}

// Read reads the extra fields of a CustomRun; none are those of a matrix of so many points that has just begun.
func Read(raw []byte, points int) (*State, error) {
	s := &State{Schema: Schema, Points: points}
	if len(raw) == 0 || string(raw) == "null" || string(raw) == "{}" {
		return s, nil
	}
	if err := json.Unmarshal(raw, s); err != nil {
		return nil, fmt.Errorf("reading the state of the matrix: %w", err)
	}
	if s.Schema != Schema {
		return nil,
			fmt.Errorf("reading the state of the matrix: its format is %q, want %q; another version of bflow wrote it", s.Schema,
				Schema)
	}
	return s, nil
}
