package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"

	"bflow.dev/bflow/internal/ci/green"
	"bflow.dev/bflow/internal/ci/step"
)

// memory notes rows as green while the steps go on, so that the next run does only what is left of one that was cut
// off.
type memory struct {
	root   string
	file   string
	commit string // "" where the work tree is no commit: nothing is noted then
	out    io.Writer

	mu     sync.Mutex
	record green.Record
	proofs map[string][]string // row to the steps that have yet to pass
}

// remember begins a memory of the rows that are chosen.
func remember(ctx context.Context, out io.Writer, p place, now green.Record, c chosen) (*memory, error) {
	m := &memory{root: p.root, file: p.green, out: out, record: now, proofs: map[string][]string{}}
	for _, k := range checks(p, c) {
		if k.Skip != "" {
			continue
		}
		for _, row := range k.proves {
			m.proofs[row] = append(m.proofs[row], k.Name)
		}
	}
	if m.record.Rows == nil {
		m.record.Rows = map[string]string{}
	}
	commit, clean, err := green.Head(ctx, p.root)
	if clean {
		m.commit = commit
	}
	return m, err
}

// ended notes what a step that has passed proves, if the work tree is still what it was.
func (m *memory) ended(ctx context.Context, r step.Result) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r.State != step.Passed || m.commit == "" {
		return
	}
	proved := false
	for row, steps := range m.proofs {
		if !slices.Contains(steps, r.Name) {
			continue
		}
		m.proofs[row] = slices.DeleteFunc(steps, func(s string) bool { return s == r.Name })
		if len(m.proofs[row]) == 0 {
			m.record.Rows[row], proved = m.commit, true
		}
	}
	if !proved {
		return
	}
	commit, clean, err := green.Head(context.WithoutCancel(ctx), m.root)
	if err == nil && (commit != m.commit || !clean) {
		err = errors.New("the work tree has changed meanwhile")
	}
	if err == nil {
		err = green.Write(m.file, m.record)
	}
	if err != nil {
		fmt.Fprintf(m.out, "%v: the next run will not know that %s has passed\n", err, r.Name)
	}
}
