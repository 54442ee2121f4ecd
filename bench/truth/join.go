package truth

import (
	"fmt"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/sim"
)

// Pair is one request, as both sides saw it.
type Pair struct {
	Row   *report.Row
	Truth *sim.Record
}

// Join pairs rows that are ok with the records of the same request id. A row without a record is an error: it claims
// an answer that was never given. A record without a row is a request that the client lost, and counted.
func Join(rows []report.Row, log []sim.Record) (pairs []Pair, lost int, err error) {
	byID := make(map[string]*sim.Record, len(log))
	for i := range log {
		byID[log[i].RequestID] = &log[i]
	}
	for i := range rows {
		if rows[i].Status != report.StatusOK {
			continue
		}
		r, ok := byID[rows[i].ID]
		if !ok {
			return nil, 0, fmt.Errorf("joining rows with the truth: request %q is not in the log", rows[i].ID)
		}
		pairs = append(pairs, Pair{&rows[i], r})
	}
	for i := range rows {
		delete(byID, rows[i].ID)
	}
	return pairs, len(byID), nil
}

// Measured keeps the pairs whose row belongs to the measured window.
func Measured(pairs []Pair) []Pair {
	var out []Pair
	for _, p := range pairs {
		if p.Row.Phase == report.PhaseMeasured {
			out = append(out, p)
		}
	}
	return out
}

// TTFTErrors returns |client ttft - (first send - arrival)| of each pair, in microseconds.
func TTFTErrors(pairs []Pair) []float64 {
	var out []float64
	for _, p := range pairs {
		if p.Row.TFirst == nil || p.Row.TSend == nil || len(p.Truth.Events) == 0 {
			continue
		}
		e := (*p.Row.TFirst - *p.Row.TSend) - p.Truth.Events[0]
		out = append(out, microseconds(max(e, -e)))
	}
	return out
}

// GapErrors returns |client gap - gap of the sends|, gap by gap, in microseconds. Rows without as many gaps as the
// truth has are an error: the gaps were not recorded, or events were lost or made up.
func GapErrors(pairs []Pair) ([]float64, error) {
	var out []float64
	for _, p := range pairs {
		if err := checkEventCount(p); err != nil {
			return nil, err
		}
		for i, gap := range p.Row.Gaps {
			e := float64(gap) - microseconds(p.Truth.Events[i+1]-p.Truth.Events[i])
			out = append(out, max(e, -e))
		}
	}
	return out, nil
}

// StampErrors returns, for every event, the client's stamp minus the event's own send time, in microseconds. anchor is
// the zero of the rows on CLOCK_MONOTONIC.
func StampErrors(pairs []Pair, anchor int64) ([]float64, error) {
	var out []float64
	for _, p := range pairs {
		if err := checkEventCount(p); err != nil {
			return nil, err
		}
		if p.Row.TFirst == nil {
			continue
		}
		at := microseconds(*p.Row.TFirst + anchor)
		out = append(out, at-microseconds(p.Truth.Arrival+p.Truth.Events[0]))
		for i, gap := range p.Row.Gaps {
			at += float64(gap)
			out = append(out, at-microseconds(p.Truth.Arrival+p.Truth.Events[i+1]))
		}
	}
	return out, nil
}

func checkEventCount(p Pair) error {
	if want := max(0, len(p.Truth.Events)-1); len(p.Row.Gaps) != want {
		return fmt.Errorf("comparing gaps of request %q: %d in its row, %d in the truth (are gaps recorded?)",
			p.Row.ID, len(p.Row.Gaps), want)
	}
	return nil
}

// SendLateness returns arrival - intended of each pair, in microseconds.
func SendLateness(pairs []Pair, anchor int64) []float64 {
	out := make([]float64, len(pairs))
	for i, p := range pairs {
		out[i] = microseconds(p.Truth.Arrival - anchor - p.Row.TIntended)
	}
	return out
}

// Intended returns first token - intended of each pair as the client says, in milliseconds.
func Intended(pairs []Pair) []float64 {
	var out []float64
	for _, p := range pairs {
		if p.Row.TFirst != nil {
			out = append(out, float64(*p.Row.TFirst-p.Row.TIntended)/1e6)
		}
	}
	return out
}

func microseconds(ns int64) float64 { return float64(ns) / 1e3 }

// Tokens returns the tokens that the rows claim and those that the engine sent.
func Tokens(pairs []Pair) (claimed, sent int64) {
	for _, p := range pairs {
		if p.Row.TokensOut != nil {
			claimed += int64(*p.Row.TokensOut)
		}
		sent += int64(p.Truth.OutputTokens)
	}
	return claimed, sent
}
