package record

import (
	"errors"
	"runtime/debug"
	"time"

	"bflow.dev/bflow/load/shape"
	"bflow.dev/bflow/report"
	"bflow.dev/bflow/runplan"
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
	return shape.HasSlots(in.Plan.Shape)
}

// Summary holds the numbers of a stage.
type Summary struct {
	Result       report.StageResult
	SourceCounts map[string]int // requests per token count source, all phases
	StaleRetries int            // requests put again because the server had closed the kept connection, all phases
	Kernel, User int            // requests with an answer, by the clock of their stamps, all phases
}

// Outputs are where the rows and values of a stage go.
type Outputs struct {
	Rows   *report.RowWriter
	Values *report.HistogramWriter
	Gaps   bool                    // rows show every gap between token events
	Slices *report.SliceWriter     // nil = no slices
	Slice  time.Duration           // their length
	Also   func(*report.Row) error // gets every row too, valid during the call; nil = nobody
}

// Summarize makes rows and numbers from the outcomes of a stage, after the last Add. Rows are written in order of their
// intended send. Of the values one distribution at a time is in memory.
func Summarize(s *Spill, in *Stage, out Outputs) (*Summary, error) {
	// No stamp is at stake any more: memory counts now, and what is collected here are a few large lists of numbers.
	defer debug.SetGCPercent(debug.SetGCPercent(25))
	c, err := s.open()
	if err != nil {
		return nil, err
	}
	return summarize(c, in, s.path, out)
}

// summarize keeps values in a scratch file whose name begins with scratch.
func summarize(c *contents, in *Stage, scratch string, out Outputs) (sum *Summary, err error) {
	values := &store{path: scratch + ".columns"}
	defer func() { err = errors.Join(err, values.remove()) }()
	a := newAccount(in, windowOf(in.Plan, in.Start, in.WindowEnd, c.index), values)
	slices := newSlicer(in.Start, in.DrainEnd, out.sliceLength())
	bySend := in.ClosedLoop()
	maker := rows{names: Names{Adapters: in.Adapters}, sample: in.Sample, stage: in.Index, gaps: out.Gaps}
	err = c.each(func(i int, prefix string, o *Outcome) error {
		maker.names.Prefix = prefix
		row := maker.make(o, in.phase(a.window, i, counts(o, bySend)))
		a.add(o, row)
		slices.add(o)
		if out.Also != nil {
			if err := out.Also(row); err != nil {
				return err
			}
		}
		return out.Rows.Write(row)
	})
	if err = errors.Join(err, out.Rows.Flush(), slices.write(in, out.Slices)); err != nil {
		return nil, err
	}
	c.index, c.parts = nil, nil // room for what follows
	return a.summary(func(metric string, d *report.Distribution) error {
		return out.Values.Write(report.DistributionKey{Sample: in.Sample, Stage: in.Index, Metric: metric}, d)
	})
}

// counts returns the stamp by which a request belongs to the stage or not.
func counts(o *Outcome, bySend bool) int64 {
	if bySend && o.Send >= 0 {
		return o.Send
	}
	return o.Intended
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

// Source returns the one rule by which tokens were counted, "mixed" where requests used two; counts are the requests of
// each.
func Source(counts map[string]int) string {
	found := ""
	for s := range counts {
		if found != "" {
			return "mixed"
		}
		found = s
	}
	return found
}

// sliceLength is 0 where nobody wants slices.
func (out *Outputs) sliceLength() time.Duration {
	if out.Slices == nil {
		return 0
	}
	return out.Slice
}
