package demand

import (
	"cmp"

	"bflow.dev/bflow/load/shape"
	"bflow.dev/bflow/runplan"
)

// Bytes that results take, more rather than less. A row of 8 demo runs is 100 bytes packed, 250 with long names.
const (
	roomRow    = 512       // a request, packed, with its part of what is made of it
	roomGaps   = 2 << 10   // the gaps between its tokens
	roomText   = 16 << 10  // its prompt and its answer
	roomStage  = 8 << 20   // distributions, scrapes, slices
	roomRun    = 256 << 20 // logs, rendered files, reports
	roomUnsaid = 4 << 30   // of a search, or of a tool of others: how much they write nobody knows before
)

// fastStream is how many requests one stream makes in a second at most, where the plan names streams and no rate.
const fastStream = 20

// Room is how many bytes the results of a run take, as far as its plan tells: an upper guess.
func Room(p *runplan.RunPlan) int64 {
	total := int64(roomRun)
	for i := range p.Measurements {
		total += min(roomOf(&p.Measurements[i], p.Execution.OnInvalid), mostRoom-total)
	}
	return total
}

// mostRoom stands for all that is more: its sums do not overflow.
const mostRoom = 1 << 61

// fold is bytes taken n times.
func fold(bytes, n int64) int64 {
	if n > 0 && bytes > mostRoom/n {
		return mostRoom
	}
	return bytes * n
}

func roomOf(m *runplan.Measurement, onInvalid string) int64 {
	total := int64(0)
	if m.Search != nil || m.Runner == runplan.RunnerExternal {
		total += roomUnsaid
	}
	for i := range m.Stages {
		rows, texts := fold(rowBytes(m.Record), mostSent(&m.Stages[i])), fold(roomText, textsOf(m.Record))
		total += roomStage + min(rows+texts, mostRoom-total)
	}
	total = fold(total, int64(max(1, m.Samples)))
	if onInvalid == runplan.InvalidRetry {
		total = fold(total, runplan.MaxTries)
	}
	return total
}

// rowBytes is what a request takes.
func rowBytes(r *runplan.Record) int64 {
	switch {
	case r == nil:
		return roomRow
	case r.Gaps:
		return roomRow + roomGaps
	case r.Parquet:
		return 2 * roomRow
	}
	return roomRow
}

// textsOf is the number of requests per stage whose texts are kept.
func textsOf(r *runplan.Record) int64 {
	if r == nil {
		return 0
	}
	return int64(r.Texts)
}

// mostSent is how many requests a stage sends at most.
func mostSent(s *runplan.Stage) int64 {
	if s.Requests > 0 {
		return int64(s.Requests)
	}
	streams, of := s.Concurrency, shape.Of(s.Shape)
	if streams == 0 && s.Rate == 0 && !of.Replays {
		// As much as the server takes, or a rate found on the way there.
		streams = cmp.Or(s.MaxInflight, runplan.Uncapped)
	}
	return int64(max(s.Rate, float64(streams*fastStream)) * s.Duration.D().Seconds())
}
