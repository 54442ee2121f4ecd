package runplan

import "cmp"

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
func (p *RunPlan) Room() int64 {
	total := int64(roomRun)
	for i := range p.Measurements {
		total += min(p.Measurements[i].room(p.Execution.OnInvalid), mostRoom-total)
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

func (m *Measurement) room(onInvalid string) int64 {
	total := int64(0)
	if m.Search != nil || m.Runner == RunnerExternal {
		total += roomUnsaid
	}
	for i := range m.Stages {
		total += roomStage + min(fold(m.row(), m.Stages[i].requests())+fold(roomText, int64(m.texts())), mostRoom-total)
	}
	total = fold(total, int64(max(1, m.Samples)))
	if onInvalid == InvalidRetry {
		total = fold(total, MaxTries)
	}
	return total
}

func (m *Measurement) row() int64 {
	switch {
	case m.Record == nil:
		return roomRow
	case m.Record.Gaps:
		return roomRow + roomGaps
	case m.Record.Parquet:
		return 2 * roomRow
	}
	return roomRow
}

func (m *Measurement) texts() int {
	if m.Record == nil {
		return 0
	}
	return m.Record.Texts
}

// requests are those of a stage at most.
func (s *Stage) requests() int64 {
	if s.Requests > 0 {
		return int64(s.Requests)
	}
	streams := s.Concurrency
	if streams == 0 && s.Rate == 0 && s.Shape != ShapeTrace { // as much as the server takes, or a rate found on the way there
		streams = cmp.Or(s.MaxInflight, Uncapped)
	}
	return int64(max(s.Rate, float64(streams*fastStream)) * s.Duration.D().Seconds())
}
