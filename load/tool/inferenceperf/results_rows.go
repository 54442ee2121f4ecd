package inferenceperf

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"math"
	"slices"
	"strings"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/report/tools"
)

// readRows files the requests of a run of the tool under its stages: by the stage that an entry names, else by the
// counts of the stages in the order of the starts. It returns their number; before others were read of other runs.
func readRows(
	ctx context.Context, in *tools.Imported, stages []tools.ImportedStage, doc *tools.Document, before int,
) (int, error) {
	l := placed{doc: doc, first: math.Inf(1), earliest: math.Inf(1), latest: math.Inf(-1)}
	broken := 0
	for i, r := range l.all(ctx, nil) {
		if r.Start == nil {
			return 0, tools.Malformed("reading %q: [%d].start_time: it is missing", doc.Path, i)
		}
		l.add(r, len(stages))
		if r.isBroken() {
			broken++
		}
	}
	if l.err != nil {
		return 0, l.err
	}
	total := len(l.starts)
	l.place(stages, before)
	l.first -= float64(stages[0].StartNS-in.AnchorUnixNS) / 1e9 // whose requests begin with it
	if err := l.misfit(ctx); err != nil {
		return 0, err
	}
	ok := make([]int, len(stages))
	for i, failed := range l.failed {
		if !failed {
			ok[l.named[i]]++
		}
	}
	if broken > 0 {
		in.Note("%d requests that inference-perf counts as successful have an error event in their stream", broken)
	}
	in.Note("rows say no time of day and no intended send: they are counted from the first send, " +
		"and the delay from the schedule is known for each stage alone")
	for i := range stages {
		s := &stages[i]
		s.Rows = l.rows(i)
		s.Whole = ok[i] == s.Counts.ByStatus[report.StatusOK]
	}
	return total, nil
}

// placed are the requests of a file with their places in the run.
type placed struct {
	doc    *tools.Document
	starts []float64
	first  float64 // the least of them
	failed []bool
	named  []int32 // stages
	rank   []int32 // in the order of the starts
	err    error   // of the last walk

	earliest, latest float64 // of the times without which a request has no row
}

func (l *placed) add(r *request, stages int) {
	l.starts = append(l.starts, *r.Start)
	l.first = min(l.first, *r.Start)
	l.failed = append(l.failed, r.Error != nil)
	stage := int32(-1)
	if n := tools.FirstCount(r.Stage, r.Info.Stage, r.Info.Extra.Stage); n != nil && *n < stages {
		stage = int32(*n)
	}
	l.named = append(l.named, stage)
	l.earliest, l.latest = min(l.earliest, *r.Start), max(l.latest, *r.Start)
	if times := r.tokens(); len(times) > 0 {
		first, last := times[0], times[len(times)-1]
		l.earliest, l.latest = min(l.earliest, first, last), max(l.latest, first, last)
	}
}

// misfit names the first request whose times are none of a run.
func (l *placed) misfit(ctx context.Context) error {
	_, early := tools.Since(l.first, l.earliest)
	_, late := tools.Since(l.first, l.latest)
	if early && late {
		return nil
	}
	for i, r := range l.all(ctx, nil) {
		if _, _, fits := r.row(l.first, int(l.rank[i])); !fits {
			return tools.Malformed("reading %q: [%d]: its times are none of a run", l.doc.Path, i)
		}
	}
	return l.err
}

// place ranks the requests by their starts, behind others, and finds the stages that they do not name.
func (l *placed) place(stages []tools.ImportedStage, before int) {
	order := make([]int32, len(l.starts))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortStableFunc(order, func(a, b int32) int { return cmp.Compare(l.starts[a], l.starts[b]) })
	l.rank = make([]int32, len(order))
	at, room := 0, 0
	if len(stages) > 0 {
		room = stages[0].Counts.Total
	}
	for rank, i := range order {
		for room <= 0 && at+1 < len(stages) {
			at++
			room = stages[at].Counts.Total
		}
		room--
		l.rank[i] = int32(before + rank)
		if l.named[i] < 0 {
			l.named[i] = int32(at)
		}
	}
	l.starts = nil
}

// all yields the entries that are wanted, nil for each, and their numbers in the file.
func (l *placed) all(ctx context.Context, wanted func(i int) bool) iter.Seq2[int, *request] {
	return func(yield func(int, *request) bool) {
		i := 0
		for r, err := range tools.SomeElements[request](l.doc, "", wanted)(ctx) {
			for err == nil && wanted != nil && !wanted(i) {
				i++
			}
			if l.err = err; err != nil || !yield(i, &r) {
				return
			}
			i++
		}
	}
}

// rows are the requests of a stage.
func (l *placed) rows(stage int) tools.ImportedRows {
	return func(ctx context.Context) iter.Seq2[*tools.ImportedRow, error] {
		return func(yield func(*tools.ImportedRow, error) bool) {
			for i, r := range l.all(ctx, func(i int) bool { return int(l.named[i]) == stage }) {
				row, gaps, _ := r.row(l.first, int(l.rank[i]))
				if !yield(&tools.ImportedRow{Row: row, GapsMS: gaps}, nil) {
					return
				}
			}
			if l.err != nil {
				yield(nil, l.err)
			}
		}
	}
}

// isBroken says whether an answer is no failure to the tool and holds an error event.
func (r *request) isBroken() bool {
	return r.Error == nil &&
		(strings.Contains(r.Response, `data: {"error"`) || strings.Contains(r.Response, `data:{"error"`))
}

// tokens are the times of the tokens, else of the events, of an answer that did not fail.
func (r *request) tokens() []float64 {
	if r.Error != nil {
		return nil
	}
	if times := r.Info.Response.TokenTimes; len(times) > 0 {
		return times
	}
	return r.Info.Response.ChunkTimes
}

func (r *request) row(first float64, n int) (report.Row, []float64, bool) {
	stamp := func(t float64) *int64 {
		ns, ok := tools.Since(first, t)
		if !ok {
			return nil
		}
		return &ns
	}
	send := stamp(*r.Start)
	if send == nil {
		return report.Row{}, nil, false
	}
	row := report.Row{Session: n, Phase: report.PhaseMeasured, Status: report.StatusOK, TIntended: *send, TSend: send,
		TokensIn:    tools.FirstCount(r.Info.InputTokens, r.Info.Response.Usage.Prompt),
		TokensOut:   tools.FirstCount(r.Info.Response.OutputTokens, r.Info.Response.Usage.Completion),
		TokenSource: "tokenizer"}
	if id := r.Info.Extra.ID; id != nil {
		row.ID = *id
	}
	if row.ID == "" {
		row.ID = fmt.Sprintf("request-%d", n)
	}
	if r.End != nil {
		row.TEnd = stamp(*r.End)
	}
	if r.Error != nil {
		tools.Fail(&row, statusOf(r.Error.Type), r.Error.Type, r.Error.Message)
		row.TokensOut = nil
		return row, nil, true
	}
	times := r.tokens()
	if len(times) == 0 {
		return row, nil, true
	}
	row.TFirst, row.TLast = stamp(times[0]), stamp(times[len(times)-1])
	row.TContent = row.TFirst
	if row.TFirst == nil || row.TLast == nil || r.Info.Extra.Times == ends { // ours may hold the first and the last only
		return row, nil, row.TFirst != nil && row.TLast != nil
	}
	chunks := r.Info.Response.ChunkTimes // one per event; the times of tokens repeat within an event
	if len(chunks) == 0 {
		return row, nil, true
	}
	events := len(chunks)
	row.Events = &events
	gaps := make([]float64, 0, events)
	for i := 1; i < events; i++ {
		gaps = append(gaps, (chunks[i]-chunks[i-1])*1e3)
	}
	tools.SetGaps(&row, gaps)
	return row, gaps, true
}
