package loadgen

import (
	"context"
	"fmt"
	"unsafe"

	"bflow.dev/bflow/tasks/loadgen/dataset"
	"bflow.dev/bflow/tasks/loadgen/prompt"
	"bflow.dev/bflow/tasks/loadgen/trace"
)

// openContent reads the trace or the file that the prompts come from, where there is one.
func (m *measurement) openContent(ctx context.Context) error {
	data := m.plan.Data
	switch {
	case data.Trace != nil:
		t, err := trace.Open(ctx, *data.Trace)
		if err != nil {
			return err
		}
		for _, note := range t.Notes(*data.Trace) {
			m.note("%s", note)
		}
		rows := newTraceRows(t)
		if rows.messages && !m.prompts.Messages() {
			return fmt.Errorf(
				"load.data.trace holds requests as lists of messages, which load.api.type %q does not take: use chat",
				m.plan.API.Type)
		}
		m.trace, m.prompts.Rows = t, rows
	case data.File != nil:
		set, err := dataset.Open(ctx, *data.File, dataset.Options{Seed: data.Seed, Turns: data.Turns})
		if err != nil {
			return err
		}
		m.prompts.Rows = set
	}
	return nil
}

// traceRows gives prompts the lengths and the content of a trace.
type traceRows struct {
	*trace.Trace
	blocks   []uint64 // of the turn that was asked for last
	messages bool     // some requests are lists of messages
	alone    bool     // no turn continues what the server has answered
}

func newTraceRows(t *trace.Trace) *traceRows {
	rows := &traceRows{Trace: t, alone: true}
	turns := t.Requests()
	for i := range turns {
		kind, _ := t.Content(&turns[i])
		rows.messages = rows.messages || kind == trace.KindMessages
		rows.alone = rows.alone && (turns[i].Turn == 0 || kind == trace.KindLengths && len(t.Blocks(nil, &turns[i])) > 0)
	}
	return rows
}

// Alone says whether every prompt stands by itself, so that it may be one of token ids.
func (t *traceRows) Alone() bool { return t.alone }

var _ prompt.Rows = (*traceRows)(nil)

// Turn implements prompt.Rows. Blocks of a later play of the trace are other ones, as time would have made them: else
// the server's cache would hold all of it.
func (t *traceRows) Turn(session int64, turn int) (prompt.TurnSpec, bool) {
	if session >= t.Sessions() {
		return prompt.TurnSpec{}, false
	}
	turns, _ := t.Session(session)
	if turn >= len(turns) {
		return prompt.TurnSpec{}, false
	}
	r := &turns[turn]
	spec := prompt.TurnSpec{In: max(0, int(r.In)), Out: max(0, int(r.Out)), Last: turn == len(turns)-1}
	switch kind, text := t.Content(r); {
	case kind == trace.KindPrompt && len(text) > 0:
		spec.Text = unsafe.String(&text[0], len(text)) // a trace does not change
		return spec, true
	case kind == trace.KindMessages && len(text) > 0:
		spec.Messages = unsafe.String(&text[0], len(text))
		return spec, true
	}
	t.blocks = t.Blocks(t.blocks, r)
	for i := range t.blocks {
		t.blocks[i] ^= uint64(t.Play(session)) << 48
	}
	spec.Blocks = t.blocks
	return spec, true
}
