package guidellm

import (
	"context"
	"encoding/json"
	"fmt"

	"bflow.dev/bflow/load/shape"
	"bflow.dev/bflow/report"
	"bflow.dev/bflow/report/tools"
)

// writtenVersion is the release whose report is written; readers choose their model by it.
const writtenVersion = "0.8.1"

// Write returns benchmarks.json in schema 2: one benchmark per measured stage of every measurement.
func Write(ctx context.Context, run tools.Run) ([]tools.File, error) {
	ms, err := tools.Measurements(ctx, run)
	if err != nil {
		return nil, err
	}
	out := report2{Conclusions: []json.RawMessage{}, Config: scenarioOf(run, ms),
		Metadata: metadata2{Version: 2, Release: writtenVersion, Platform: platform(run.Report)}}
	for i := range ms {
		for j := range ms[i].Stages {
			b := writeBenchmark2(run, newStage(ctx, &ms[i], &ms[i].Stages[j]), len(out.Benchmarks))
			b.choose(run)
			out.Benchmarks = append(out.Benchmarks, b)
		}
	}
	return []tools.File{tools.JSON(reportFile, out)}, ctx.Err()
}

// choose leaves of a benchmark what was asked for and adds the person's values.
func (b *benchmark2) choose(run tools.Run) {
	b.Requests.cut(run.Rows)
	b.Config.SampleSize = positive(run.Rows)
	b.Extras = run.Extras
}

func platform(r *report.Report) string {
	if h := r.Environment.Load; h != nil {
		return h.OS + "-" + h.Kernel + "-" + h.Arch
	}
	return ""
}

// id names a benchmark: the same run gives the same names.
func (s *stage) id(run tools.Run) string {
	return fmt.Sprintf("%s-%d-%d", run.Report.Run.ID, s.measurement.Index, s.StageResult.Stage)
}

func seconds(ns int64) float64 { return float64(ns) / 1e9 }

func writeBenchmark2(run tools.Run, s *stage, index int) benchmark2 {
	start, end := seconds(s.Window.StartNS), seconds(s.Window.EndNS)
	list := func(status string) tools.Stream[row2] { return tools.StreamRequests(s.requests[status], s.writeRow2) }
	return benchmark2{
		Type: "generative_benchmark", Config: s.config2(run, index), State: s.state(), Scheduler: s.scheduler(),
		Metrics: s.metrics2(run), Warnings: s.warnings(), Start: start, End: end, Duration: end - start,
		Requests:       requests2{Errored: list("errored"), Incomplete: list("incomplete"), Successful: list("successful")},
		WarmupDuration: max(0, start-seconds(s.StartNS)), CooldownDuration: max(0, seconds(s.DrainEndNS)-end),
	}
}

func (s *stage) config2(run tools.Run, index int) config2 {
	m := s.measurement
	return config2{
		ID: s.id(run), RunID: run.Report.Run.ID, RunIndex: index, Strategy: strategy(s.Stage),
		Constraints: constraints(s.Planned), Warmup: trim(s.Planned.SkipFirst), Cooldown: trim(s.Planned.SkipLast),
		PreferResponse: true, SLO: objectives(run, m), Warnings: []json.RawMessage{}, Profile: profileOf(m),
		Loader: dataLoader(), Backend: backend(run, m),
		Environment: environment2{ExportedBy: tools.ExportedBy, Tool: m.Tool, ToolVersion: m.ToolVersion},
	}
}

func (s *stage) state() state2 {
	made, all := s.totals(), s.Counts.All
	start, end := seconds(s.StartNS), seconds(s.DrainEndNS)
	return state2{Processes: 1, Start: start, End: end, StartRequests: start, EndRequests: end,
		EndQueuing: seconds(s.EndNS), EndQueuingRules: tools.Free{}, EndProcessing: end, EndProcessingRules: tools.Free{},
		Rules: tools.Free{}, Created: all, Processed: all, Successful: made.Successful, Errored: made.Errored,
		Cancelled: made.Incomplete}
}

func (s *stage) scheduler() scheduler2 {
	lag, _ := tools.Summarize("s", s.Requests, sinceIntended)
	took, _ := tools.Summarize("s", s.Requests, tools.In(s.numbers["e2e"], 1e-3))
	if m, ok := s.Metrics["sched_lag"]; ok && s.Requests.Len() == 0 {
		lag.Mean = m.Mean / 1e3
	}
	end := seconds(max(s.DrainEndNS, s.Window.EndNS))
	return scheduler2{Start: seconds(s.StartNS), RequestStart: seconds(s.StartNS), MeasureStart: seconds(s.Window.StartNS),
		MeasureEnd: seconds(s.Window.EndNS), RequestEnd: end, End: end, Made: s.totals(),
		GenerationDelay: summary2{summary: summarize(nil)}, DatasetIncomplete: true, StrategyType: strategyKind(s.Planned),
		TargetedStartDelay: lag.Mean, RequestTime: took.Mean}
}

// sinceIntended is send - intended in s.
func sinceIntended(r *report.Row) (float64, bool) {
	if r.TSend == nil {
		return 0, false
	}
	return float64(*r.TSend-r.TIntended) / 1e9, true
}

// warnings are the checks that make the stage invalid.
func (s *stage) warnings() []warning2 {
	out := []warning2{}
	for _, c := range s.Checks {
		if !c.OK && !c.Note {
			out = append(out, warning2{Code: c.Reason, Message: fmt.Sprintf("%s is %.4g, limit %.4g", c.Name, c.Value, c.Limit),
				Observed: c.Value, Threshold: c.Limit, Unit: "ratio", SampleCount: s.Counts.Total, Note: c.Text})
		}
	}
	return out
}

// open says whether the stage had send times of its own: the tool gives delays from the schedule only for those.
func (s *stage) open() bool {
	return shape.HasSchedule(s.Planned.Shape)
}
