package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"bflow.dev/bflow/runplan/contract"
)

// measured is one run.
type measured struct {
	*timeline
	wait, load time.Duration // of bflow's: from the creation of the engine to its first answer; from stage to stage
	others     int           // PipelineRuns of others that ran beside it, before or after
}

// cost is the time that was neither load nor the start of the engine.
func (m *measured) cost() time.Duration { return m.end.Sub(m.begin) - m.wait - m.load }

// span is that of the timeline without wait and load, which fall into the steps of their tasks.
func (m *measured) span(task string, at mark) time.Duration {
	d := m.timeline.span(task, at)
	switch {
	case at == over && task == contract.Provision:
		d -= m.wait
	case at == over && task == firstLoad:
		d -= m.load
	}
	return d
}

// firstLoad is the task of the only measurement.
const firstLoad = contract.LoadGen + "-0"

// readWait returns how long the engine took to answer, from the run directory.
func readWait(dir string) (time.Duration, error) {
	text, err := os.ReadFile(filepath.Join(dir, contract.FileEndpoint))
	if err != nil {
		return 0, fmt.Errorf("reading when the engine was ready: %w", err)
	}
	var end struct{ Started, Ready time.Time }
	if err := json.Unmarshal(text, &end); err != nil {
		return 0, fmt.Errorf("reading when the engine was ready: %w", err)
	}
	if !end.Ready.After(end.Started) {
		return 0, fmt.Errorf("reading when the engine was ready: from %s to %s is no span", end.Started, end.Ready)
	}
	return end.Ready.Sub(end.Started), nil
}

// readLoad returns the time from the beginning of the first stage to the end of the last, from the run directory.
func readLoad(dir string) (time.Duration, error) {
	text, err := os.ReadFile(filepath.Join(dir, contract.FileEvents))
	if err != nil {
		return 0, fmt.Errorf("reading how long the load was: %w", err)
	}
	var first, last time.Time
	for lines := bufio.NewScanner(bytes.NewReader(text)); lines.Scan(); {
		var e struct {
			Time  time.Time
			Event string
		}
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return 0, fmt.Errorf("reading how long the load was: %w", err)
		}
		switch {
		case e.Event == "stage_started" && first.IsZero():
			first = e.Time
		case e.Event == "stage_ended":
			last = e.Time
		}
	}
	if first.IsZero() || !last.After(first) {
		return 0, fmt.Errorf("reading how long the load was: %s tells of no stage", contract.FileEvents)
	}
	return last.Sub(first), nil
}
