package reporttest

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
)

const tokensOut = 40

// load writes one measurement.
type load struct {
	t       testing.TB
	dir     string
	plan    *runplan.RunPlan
	run     Run
	rng     *rand.Rand
	rows    *report.RowWriter
	values  *report.HistogramWriter
	at      int64 // ns since the anchor
	scrapes []report.Scrape
	engine  engine
	seconds map[int64]*report.Distribution // TTFT by second of the stage at hand
}

func newLoad(t testing.TB, dir string, plan *runplan.RunPlan, r Run) *load {
	t.Helper()
	check(t, os.MkdirAll(filepath.Join(dir, "scrapes"), 0o755))
	rows, err := report.CreateRows(filepath.Join(dir, contract.FileRequests))
	check(t, err)
	values, err := report.CreateHistograms(filepath.Join(dir, contract.FileHistograms))
	check(t, err)
	return &load{t: t, dir: dir, plan: plan, run: r, rng: rand.New(rand.NewPCG(7, 11)), rows: rows, values: values}
}

func (l *load) write() {
	written := 0
	for sample := range l.run.Samples {
		for i := range l.plan.Measurements[0].Stages {
			if l.run.Stages > 0 && written >= l.run.Stages {
				break
			}
			l.stage(sample, i)
			written++
		}
	}
	cut := l.run.Stages > 0
	check(l.t, l.values.Close())
	check(l.t,
		l.rows.Finish(report.Header{PlanHash: l.plan.Hash, Run: l.run.ID, Attempt: 1, AnchorUnixNS: Start().UnixNano(),
			Tool: "bflow-load-gen", ToolVersion: "0.1.0", TokenCountSource: "usage", Clock: "user", Interrupted: cut}))
	writeJSON(l.t, l.dir, contract.FileLoadGen,
		report.LoadGen{Schema: "bflow.loadgen/1", Attempt: 1, Endpoint: "http://127.0.0.1:8000",
			StartNS: Start().UnixNano(), EndNS: Start().UnixNano() + l.at, Complete: !cut, Interrupted: cut,
			TokenCountSource: "usage",
			PromptMethod:     "token_ids", PromptSet: "5f0c", Version: "0.1.0", Scrapes: l.scrapes})
}

// stage puts the arrivals of a stage through a queue with slots and records what comes out.
func (l *load) stage(sample, index int) {
	planned := l.plan.Measurements[0].Stages[index]
	start, length := l.at, int64(planned.Duration)
	l.scrape(sample, index, "before")
	var rows []report.Row
	free := make([]int64, l.run.Slots)
	for t := l.gap(planned); t < length; t += l.gap(planned) {
		rows = append(rows, l.request(planned, sample, index, len(rows), start+t, free))
	}
	for i := range rows {
		check(l.t, l.rows.Write(&rows[i]))
	}
	if l.run.Restart && index == len(l.plan.Measurements[0].Stages)-1 {
		l.engine = engine{started: 1}
	}
	l.scrape(sample, index, "after")
	result := l.result(planned, sample, index, start, rows)
	l.at = result.DrainEndNS - Start().UnixNano() + 2e8
	check(l.t, report.AppendStage(filepath.Join(l.dir, contract.FileStages), result))
}

func (l *load) gap(s runplan.Stage) int64 {
	if s.Arrival == "poisson" {
		return int64(l.rng.ExpFloat64() / s.Rate * 1e9)
	}
	return int64(1e9 / s.Rate)
}

func (l *load) request(planned runplan.Stage, sample, stage, n int, intended int64, free []int64) report.Row {
	send := intended + int64(30e3+l.rng.ExpFloat64()*60e3)
	row := report.Row{ID: fmt.Sprintf("s%d-%d-%d", sample, stage, n), Stage: stage, Sample: sample, Slot: n,
		Phase:     report.PhaseMeasured,
		TIntended: intended, TSend: &send, TSent: &send, BytesOut: 2100, ConnReused: n > 0, Conn: n % 8}
	if !planned.Measure {
		row.Phase = report.PhaseUnmeasured
	}
	if l.rng.Float64() < l.run.Failing {
		end := send + 2e6
		row.Status, row.ErrorClass = report.StatusFailed, report.ErrHTTP5xx
		row.HTTPStatus, row.TEnd = 500, &end
		return row
	}
	slot := slices.Index(free, slices.Min(free))
	begin := max(send, free[slot])
	first := begin + int64(28e6+l.rng.ExpFloat64()*6e6)
	last, worst := first, 0.0
	for range tokensOut - 1 {
		gap := l.gapMS()
		worst = max(worst, gap)
		last += int64(gap * 1e6)
	}
	end := last + 2e5
	free[slot] = end
	in, out, events := int(math.Round(512+64*max(-4, min(4, l.rng.NormFloat64())))), tokensOut, tokensOut
	row.Status, row.HTTPStatus, row.TFirstByte = report.StatusOK, 200, &first
	row.TFirst, row.TContent = &first, &first
	row.TLast, row.TEnd = &last, &end
	row.TokensIn, row.TokensInAsked, row.TokensOut = &in, &in, &out
	row.TokensOutAsked, row.Events = &out, &events
	row.TokenSource, row.FinishReason, row.ITLMax = "usage", "length", &worst
	l.engine.count(float64(first-begin)/1e9, float64(first-send)/1e9, float64(end-send)/1e9, in, out)
	return row
}

// gapMS is a token gap with the tail of a batch that is sometimes held up by a prefill.
func (l *load) gapMS() float64 {
	gap := 24 * math.Exp(0.08*l.rng.NormFloat64())
	if l.rng.Float64() < 0.02 {
		gap += 18 * l.rng.Float64()
	}
	return gap
}
