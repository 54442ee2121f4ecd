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
	m := &memory{root: p.root, file: p.green, out: out, record: now, proofs: proofs(c)}
	if m.record.Rows == nil {
		m.record.Rows = map[string]string{}
	}
	commit, clean, err := green.Head(ctx, p.root)
	if err != nil {
		return nil, err
	}
	if clean {
		m.commit = commit
	} else {
		fmt.Fprintln(out, "what passes is not remembered: the work tree is no commit")
	}
	return m, nil
}

// ended notes what a step that has passed proves, if the work tree is still what it was.
func (m *memory) ended(ctx context.Context, r step.Result) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if r.State != step.Passed || m.commit == "" {
		return
	}
	var proved []string
	for row, steps := range m.proofs {
		if !slices.Contains(steps, r.Name) {
			continue
		}
		m.proofs[row] = slices.DeleteFunc(steps, func(s string) bool { return s == r.Name })
		if len(m.proofs[row]) == 0 {
			proved = append(proved, row)
		}
	}
	if len(proved) == 0 {
		return
	}
	commit, clean, err := green.Head(context.WithoutCancel(ctx), m.root)
	if err == nil && (commit != m.commit || !clean) {
		err = errors.New("the work tree has changed meanwhile")
	}
	if err == nil {
		for _, row := range proved {
			m.record.Rows[row] = m.commit
		}
		err = green.Write(m.file, m.record)
	}
	if err != nil {
		fmt.Fprintf(m.out, "%v: the next run will not know that %s has passed\n", err, r.Name)
	}
}
