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
	l := placed{doc: doc, first: math.Inf(1)}
	broken := 0
	for i, r := range l.all(ctx) {
		if r.Start == nil {
			return 0, tools.Malformed("reading %q: [%d].start_time: it is missing", doc.Path, i)
		}
		l.starts = append(l.starts, *r.Start)
		l.named = append(l.named, -1)
		if n := tools.FirstCount(r.Stage, r.Info.Stage, r.Info.Extra.Stage); n != nil && *n < len(stages) {
			l.named[i] = int32(*n)
		}
		l.first = min(l.first, *r.Start)
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
	ok := make([]int, len(stages))
	for i, r := range l.all(ctx) {
		row, _, fits := r.row(l.first, int(l.rank[i]))
		if !fits {
			return 0, tools.Malformed("reading %q: [%d]: its times are none of a run", doc.Path, i)
		}
		if row.Status == report.StatusOK {
			ok[l.named[i]]++
		}
	}
	if l.err != nil {
		return 0, l.err
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
	named  []int32 // stages
	rank   []int32 // in the order of the starts
	err    error   // of the last walk
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

// all yields the entries and their numbers in the file.
func (l *placed) all(ctx context.Context) iter.Seq2[int, *request] {
	return func(yield func(int, *request) bool) {
		i := 0
		for r, err := range tools.Elements[request](l.doc, "")(ctx) {
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
			for i, r := range l.all(ctx) {
				if int(l.named[i]) != stage {
					continue
				}
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
	times := r.Info.Response.TokenTimes
	if len(times) == 0 {
		times = r.Info.Response.ChunkTimes
	}
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
