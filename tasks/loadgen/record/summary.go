package record

import (
	"bflow.dev/bflow/tasks/report"
	"bflow.dev/bflow/tasks/runplan"
)

// Stage is what is known of a stage when its last request has ended. Stamps are nanoseconds since the anchor.
type Stage struct {
	Plan          runplan.Stage
	Sample, Index int
	Rate          float64 // in force
	Start         int64   // first intended send
	End           int64   // no measured request is sent from here on
	WindowEnd     int64   // end of the window before it is trimmed; End, or later where only requests bound the stage
	DrainEnd      int64
	AnchorUnixNS  int64
	Objectives    *runplan.Goodput
	Adapters      []string // names, by the number that outcomes have
}

// ClosedLoop says whether slots wait for answers: then a request counts by its send, not by its intended send.
func (in *Stage) ClosedLoop() bool {
	return in.Plan.Shape == runplan.ShapeClosed || in.Plan.Shape == runplan.ShapeThroughput
}

// Summary holds the numbers of a stage.
type Summary struct {
	Result        report.StageResult
	Distributions map[string]*report.Distribution
	SourceCounts  map[string]int // requests per token count source, all phases
	StaleRetries  int            // requests put again because the server had closed the kept connection, all phases
	Kernel, User  int            // requests with an answer, by the clock of their stamps, all phases
}

// Summarize makes rows and numbers from the outcomes of a stage. Rows are written in order of their intended send.
func Summarize(s *Spill, in *Stage, rows *report.RowWriter) (*Summary, error) {
	c, err := s.open()
	if err != nil {
		return nil, err
	}
	a := newAccount(in, windowOf(in.Plan, in.Start, in.WindowEnd, c.index))
	names := Names{Prefix: s.prefix, Adapters: in.Adapters}
	err = c.each(func(i int, o *Outcome) error {
		at := o.Intended
		if in.ClosedLoop() && o.Send >= 0 {
			at = o.Send
		}
		row := Row(o, names, in.Sample, in.Index, in.phase(a.window, i, at))
		a.add(o, &row)
		return rows.Write(&row)
	})
	if err != nil {
		return nil, err
	}
	return a.summary(), rows.Flush()
}

// Clock names the receive stamps of requests with an answer, of which so many had each kind.
func Clock(kernel, user int) string {
	switch {
	case kernel > 0 && user > 0:
		return "mixed"
	case kernel > 0:
		return "kernel"
	}
	return "user"
}
