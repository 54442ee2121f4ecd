package inferenceperf

import (
	"fmt"
	"math"
	"sort"
	"strings"

	"bflow.dev/bflow/tasks/report"
	"bflow.dev/bflow/tasks/report/tools"
)

// oneRequest is an entry of the list of requests. Its times are s on a monotonic clock.
type oneRequest struct {
	Start *float64 `json:"start_time"`
	End   *float64 `json:"end_time"`
	Info  struct {
		Input    *int `json:"input_tokens"`
		Response struct {
			Output *int `json:"output_tokens"`
			Usage  struct {
				Prompt     *int `json:"prompt_tokens"`
				Completion *int `json:"completion_tokens"`
			} `json:"server_usage"`
			Times  []float64 `json:"output_token_times"`
			Chunks []float64 `json:"chunk_times"`
		} `json:"response_metrics"`
		Extra struct {
			Stage *int   `json:"stage"`
			ID    string `json:"request_id"`
			Times string `json:"times"`
		} `json:"extra_info"`
		Stage *int `json:"stage_id"`
	} `json:"info"`
	Stage    *int   `json:"stage_id"`
	Response string `json:"response"`
	Error    *struct {
		Type    string `json:"error_type"`
		Message string `json:"error_msg"`
	} `json:"error"`
}

// readRows files the requests under their stages: by the stage that an entry names, else by the counts of the stages
// in the order of the starts.
func readRows(in *tools.Imported, doc tools.Document) error {
	var all []oneRequest
	if err := tools.Decode(doc, &all); err != nil {
		return err
	}
	first := math.Inf(1)
	for i := range all {
		if all[i].Start == nil {
			return fmt.Errorf("reading %q: [%d].start_time: it is missing", doc.Path, i)
		}
		first = min(first, *all[i].Start)
	}
	sort.SliceStable(all, func(a, b int) bool { return *all[a].Start < *all[b].Start })
	at, room := 0, 0
	if len(in.Stages) > 0 {
		room = in.Stages[0].Counts.Total
	}
	for i := range all {
		for room <= 0 && at+1 < len(in.Stages) {
			at++
			room = in.Stages[at].Counts.Total
		}
		stage := at
		if n := pick(all[i].Stage, all[i].Info.Stage, all[i].Info.Extra.Stage); n != nil && *n < len(in.Stages) {
			stage = *n
		}
		room--
		s := &in.Stages[stage]
		row, gaps, ok := all[i].row(first, i)
		if !ok {
			return fmt.Errorf("reading %q: [%d]: its times are none of a run", doc.Path, i)
		}
		s.Rows = append(s.Rows, row)
		s.Gaps = append(s.Gaps, gaps...)
	}
	if broken := brokenStreams(all); broken > 0 {
		in.Note("%d requests that inference-perf counts as successful have an error event in their stream", broken)
	}
	in.Note("rows say no time of day and no intended send: they are counted from the first send, and the delay from the schedule is known for each stage alone")
	for i := range in.Stages {
		s, ok := &in.Stages[i], 0
		for j := range s.Rows {
			if s.Rows[j].Status == report.StatusOK {
				ok++
			}
		}
		s.Whole = ok == s.Counts.ByStatus[report.StatusOK]
	}
	return nil
}

// brokenStreams counts answers that are no failure to the tool and hold an error event.
func brokenStreams(all []oneRequest) int {
	n := 0
	for i := range all {
		if r := &all[i]; r.Error == nil && (strings.Contains(r.Response, `data: {"error"`) || strings.Contains(r.Response, `data:{"error"`)) {
			n++
		}
	}
	return n
}

func pick(counts ...*int) *int {
	for _, n := range counts {
		if n != nil && *n >= 0 {
			return n
		}
	}
	return nil
}

func (r *oneRequest) row(first float64, n int) (report.Row, []float64, bool) {
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
	row := report.Row{ID: r.Info.Extra.ID, Session: n, Phase: report.PhaseMeasured, Status: report.StatusOK, TIntended: *send, TSend: send,
		TokensIn: pick(r.Info.Input, r.Info.Response.Usage.Prompt), TokensOut: pick(r.Info.Response.Output, r.Info.Response.Usage.Completion), TokenSource: "tokenizer"}
	if row.ID == "" {
		row.ID = fmt.Sprintf("request-%d", n)
	}
	if r.End != nil {
		row.TEnd = stamp(*r.End)
	}
	if r.Error != nil {
		row.ErrorClass, row.Status = tools.Classify(statusOf(r.Error.Type), r.Error.Type, r.Error.Message)
		row.Error, row.TokensOut = tools.Brief(r.Error.Message), nil
		return row, nil, true
	}
	times := r.Info.Response.Times
	if len(times) == 0 {
		times = r.Info.Response.Chunks
	}
	if len(times) == 0 {
		return row, nil, true
	}
	row.TFirst, row.TLast = stamp(times[0]), stamp(times[len(times)-1])
	row.TContent = row.TFirst
	if row.TFirst == nil || row.TLast == nil || r.Info.Extra.Times == ends { // ours may hold the first and the last only
		return row, nil, row.TFirst != nil && row.TLast != nil
	}
	chunks := r.Info.Response.Chunks // one per event; the times of tokens repeat within an event
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
