package guidellm

import (
	"context"
	"fmt"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/report/tools"
	"bflow.dev/bflow/runplan"
)

// writtenVersion is the release whose report is written; readers choose their model by it.
const writtenVersion = "0.8.1"

// Write returns benchmarks.json in schema 2: one benchmark per measured stage of every measurement.
func Write(ctx context.Context, run tools.Run) ([]tools.File, error) {
	ms, err := tools.Measurements(ctx, run)
	if err != nil {
		return nil, err
	}
	benchmarks := []object{}
	for i := range ms {
		for j := range ms[i].Stages {
			benchmarks = append(benchmarks, run.Shaped(benchmark2(run, newStage(&ms[i], &ms[i].Stages[j]), len(benchmarks)), &ms[i].Stages[j]))
		}
	}
	doc := object{
		"metadata": object{"version": 2, "guidellm_version": writtenVersion, "python_version": "", "platform": platform(run.Report)},
		"config":   config(run, ms), "benchmarks": benchmarks, "conclusions": []any{},
	}
	return []tools.File{tools.JSON("benchmarks.json", doc)}, nil
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

func benchmark2(run tools.Run, s *stage, index int) object {
	start, end := seconds(s.Window.StartNS), seconds(s.Window.EndNS)
	lists := object{"total": nil}
	for _, status := range statuses()[:3] {
		lists[status] = tools.RequestsAs(s.requests[status], func(r *report.Row) any { return s.row2(r) })
	}
	return object{
		"type_": "generative_benchmark", "config": s.config2(run, index), "scheduler_state": s.state(), "scheduler_metrics": s.scheduler(),
		"metrics": s.metrics2(run), "requests": lists, "warnings": s.warnings(),
		"start_time": start, "end_time": end, "duration": end - start,
		"warmup_duration": max(0, start-seconds(s.StartNS)), "cooldown_duration": max(0, seconds(s.DrainEndNS)-end),
	}
}

func (s *stage) config2(run tools.Run, index int) object {
	return object{
		"id_": s.id(run), "run_id": run.Report.Run.ID, "run_index": index, "strategy": strategy(s.Stage), "constraints": constraints(s.Planned),
		"sample_size": nil, "warmup": trim(s.Planned.SkipFirst), "cooldown": trim(s.Planned.SkipLast), "prefer_response_metrics": true,
		"slo": objectives(run, s.measurement), "confidence": nil, "warnings": []object{}, "profile": profile(s.measurement), "requests": dataLoader(),
		"backend":     backend(run, s.measurement),
		"environment": object{"exported_by": tools.ExportedBy, "tool": s.measurement.Tool, "tool_version": s.measurement.ToolVersion},
	}
}

// state is what the tool's scheduler knows at the end.
func (s *stage) state() object {
	made, all := s.totals(), s.Counts.All
	return object{"node_id": 0, "num_processes": 1, "start_time": seconds(s.StartNS), "end_time": seconds(s.DrainEndNS),
		"start_requests_time": seconds(s.StartNS), "end_requests_time": seconds(s.DrainEndNS), "end_queuing_time": seconds(s.EndNS),
		"end_queuing_constraints": object{}, "end_processing_time": seconds(s.DrainEndNS), "end_processing_constraints": object{},
		"scheduler_constraints": object{}, "progress": object{"remaining_requests": nil, "total_requests": nil, "remaining_duration": nil,
			"total_duration": nil, "stop_time": nil},
		"created_requests": all, "queued_requests": 0, "pending_requests": 0, "processing_requests": 0, "processed_requests": all,
		"successful_requests": made["successful"], "errored_requests": made["errored"], "cancelled_requests": made["incomplete"]}
}

func (s *stage) scheduler() object {
	lag, _ := tools.Summarize("s", s.Requests, sinceIntended)
	took, _ := tools.Summarize("s", s.Requests, tools.In(s.numbers["e2e"], 1e-3))
	if m, ok := s.Metrics["sched_lag"]; ok && s.Requests.Len() == 0 {
		lag.Mean = m.Mean / 1e3
	}
	out := object{"start_time": seconds(s.StartNS), "request_start_time": seconds(s.StartNS), "measure_start_time": seconds(s.Window.StartNS),
		"measure_end_time": seconds(s.Window.EndNS), "request_end_time": seconds(max(s.DrainEndNS, s.Window.EndNS)),
		"end_time": seconds(max(s.DrainEndNS, s.Window.EndNS)), "requests_made": s.totals(), "generation_delay": summary2{summarize(nil)},
		"dataset_incomplete": true, "strategy_type": strategyKind(s.Planned), "request_targeted_start_delay_avg": lag.Mean, "request_time_avg": took.Mean}
	for _, name := range []string{"queued_time", "resolve_start_delay", "resolve_targeted_start_delay", "request_start_delay",
		"resolve_end_delay", "resolve_time", "finalized_delay", "processed_delay"} {
		out[name+"_avg"] = 0.0
	}
	return out
}

// sinceIntended is send - intended in s.
func sinceIntended(r *report.Row) (float64, bool) {
	if r.TSend == nil {
		return 0, false
	}
	return float64(*r.TSend-r.TIntended) / 1e9, true
}

// warnings are the checks that make the stage invalid.
func (s *stage) warnings() []object {
	out := []object{}
	for _, c := range s.Checks {
		if !c.OK && !c.Note {
			out = append(out, object{"code": c.Reason, "message": fmt.Sprintf("%s is %.4g, limit %.4g", c.Name, c.Value, c.Limit),
				"observed": c.Value, "threshold": c.Limit, "unit": "ratio", "sample_count": s.Counts.Total, "note": c.Text})
		}
	}
	return out
}

// open says whether the stage had send times of its own: the tool gives delays from the schedule only for those.
func (s *stage) open() bool {
	return s.Planned.Shape == runplan.ShapeOpen || s.Planned.Shape == runplan.ShapeTrace
}
