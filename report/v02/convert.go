package v02

import (
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/google/uuid"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/verdict"
)

// Convert returns the document of a pooled stage of measurement m.
func Convert(r *report.Report, m *report.Measurement, s *report.Stage) (*Document, error) {
	stack, err := engine(r)
	if err != nil {
		return nil, err
	}
	load, err := loadOf(r.Plan, m, s)
	if err != nil {
		return nil, err
	}
	bflow, err := additions(r, m, s)
	if err != nil {
		return nil, err
	}
	return &Document{
		Version:  Version,
		Run:      run(r, m, s),
		Scenario: Scenario{Stack: []Component{stack}, Load: load},
		Results: Results{
			RequestPerformance: RequestPerformance{Aggregate: aggregate(s)},
			Observability: Observability{DropRate: dropRate(s.Counts),
				Components: uses(stack.Metadata.Label, s.Server), Bflow: bflow},
		},
	}, nil
}

// Empty returns the document of a run that measured nothing.
func Empty(r *report.Report) any {
	return map[string]any{"version": Version, "results": map[string]any{}, "run": map[string]any{
		"uid":         uuid.NewSHA1(uuid.NameSpaceURL, []byte(r.Run.ID)).String(),
		"description": fmt.Sprintf("%s: nothing was measured", r.Plan.Experiment),
	}}
}

func run(r *report.Report, m *report.Measurement, s *report.Stage) Run {
	sample := "pooled"
	if len(m.Samples) == 1 {
		sample = fmt.Sprint(m.Samples[0].Sample)
	}
	id := fmt.Sprintf("%s/%d/%s/%d", r.Run.ID, m.Index, sample, s.Stage)
	out := Run{
		UID:         uuid.NewSHA1(uuid.NameSpaceURL, []byte(id)).String(),
		EID:         uuid.NewSHA1(uuid.NameSpaceURL, []byte(r.Run.ID)).String(),
		Description: fmt.Sprintf("%s, measurement %q, stage %q", r.Plan.Experiment, m.Name, s.Planned.Name),
		Keywords:    []string{"bflow", r.Plan.Experiment, m.Name},
	}
	if ns := r.Plan.Target.Namespace; ns != "" {
		out.User = "namespace=" + ns
	}
	if start, end := span(m, s); end > start {
		out.Time = &Time{Start: stamp(start), End: stamp(end), Duration: fmt.Sprintf("PT%.6fS", float64(end-start)/1e9)}
	}
	return out
}

// span is the time from the first to the last request of the stage over all samples, unix ns.
func span(m *report.Measurement, s *report.Stage) (start, end int64) {
	for i := range m.Samples {
		for _, one := range m.Samples[i].Stages {
			if one.Stage != s.Stage || verdict.Skipped(&one) { // what never ran has no times
				continue
			}
			if start == 0 || one.StartNS < start {
				start = one.StartNS
			}
			end = max(end, one.EndNS, one.DrainEndNS)
		}
	}
	return start, end
}

func stamp(ns int64) string { return time.Unix(0, ns).UTC().Format(time.RFC3339Nano) }

func engine(r *report.Report) (Component, error) {
	d, label := r.Plan.Deployment, r.Plan.Deployment.Engine.Kind+"-0"
	id, err := runplan.Sum(d)
	if err != nil {
		return Component{}, err
	}
	config, err := plain(d.Engine)
	if err != nil {
		return Component{}, err
	}
	version := d.Engine.Image
	if e := r.Environment.Engine; e != nil && e.Version != "" {
		version = e.Version
	}
	return Component{
		Metadata: Metadata{SchemaVersion: "0.0.1", Label: label, CfgID: id},
		Standardized: InferenceEngine{Kind: "inference_engine", Tool: d.Engine.Kind, ToolVersion: version, Role: "replica",
			Replicas: max(1, d.Replicas), Model: Model{Name: d.Model.Name}, Accelerator: accelerator(r.Plan)},
		Native: Native{Args: arguments(d.Args), Envars: d.Env, Config: config},
	}, nil
}

func accelerator(p *runplan.RunPlan) Accelerator {
	model, gpus := report.GPUs(p)
	switch {
	case model == "" && gpus > 0:
		model = "unknown"
	case model == "":
		model = "none"
	}
	tp := max(1, p.Deployment.TensorParallel)
	return Accelerator{Model: model, Count: gpus / max(1, p.Deployment.Replicas),
		Parallelism: Parallelism{TP: tp, DP: 1, DPLocal: 1, Workers: 1, EP: 1, PP: 1}}
}

// arguments maps "--name=value" to name and value, and a bare "--name" to null.
func arguments(args []string) map[string]any {
	out := map[string]any{}
	for _, a := range args {
		if name, value, ok := strings.Cut(a, "="); ok {
			out[name] = value
		} else {
			out[a] = nil
		}
	}
	return out
}

func loadOf(p *runplan.RunPlan, m *report.Measurement, s *report.Stage) (Load, error) {
	spec := p.Measurements[m.Index]
	id, err := runplan.Sum(spec)
	if err != nil {
		return Load{}, err
	}
	config, err := plain(spec)
	if err != nil {
		return Load{}, err
	}
	l := LoadStandard{Tool: "bflow-load-gen", ToolVersion: m.ToolVersion, Parallelism: 1, Source: "random", Stage: s.Stage,
		RateQPS: max(s.Rate, s.Planned.Rate), Concurrency: s.Planned.Concurrency, InputSeqLen: inputLength(spec.Data, s)}
	if spec.Data.Trace != nil {
		l.Source = "sampled"
	}
	if spec.Data.Output != nil {
		out := lengthOf(spec.Data.Output)
		l.OutputSeqLen = &out
	}
	l.Prefix = prefixOf(spec.Data.Prefixes, s.Planned.Prefixes)
	if spec.Data.Turns > 1 {
		l.MultiTurn = &MultiTurn{Enabled: true, MaxTurns: SeqLen{Distribution: "fixed", Value: float64(spec.Data.Turns)}}
	}
	return Load{Metadata: Metadata{SchemaVersion: "0.0.1", CfgID: id}, Standardized: l,
		Native: Native{Config: config}}, nil
}

// inputLength is as planned, else (trace) what was measured.
func inputLength(d runplan.Data, s *report.Stage) SeqLen {
	if d.Input != nil {
		return lengthOf(d.Input)
	}
	m := s.Metrics["tokens_in"]
	return SeqLen{Distribution: "other", Value: m.Mean, StdDev: m.Stdev}
}

func prefixOf(all, ofStage []runplan.Prefix) *Prefix {
	if len(ofStage) > 0 {
		all = ofStage
	}
	if len(all) == 0 {
		return nil
	}
	out := &Prefix{
		PrefixLen: SeqLen{Distribution: "fixed", Value: float64(all[0].Tokens)},
		NumGroups: len(all), NumUsersPerGroup: 1,
	}
	for _, p := range all {
		out.NumPrefixes += p.Count
		if p.Tokens != all[0].Tokens {
			out.PrefixLen.Distribution = "other"
		}
	}
	out.NumPrefixes = max(1, out.NumPrefixes)
	return out
}

func aggregate(s *report.Stage) Aggregate {
	a := Aggregate{
		Requests: Requests{Total: s.Counts.Total, Failures: s.Counts.Failed(),
			Incomplete:  s.Counts.ByStatus[report.StatusCut] + s.Counts.ByStatus[report.StatusCancelled],
			InputLength: statistics(s, "tokens_in", "count", 1), OutputLength: statistics(s, "tokens_out", "count", 1)},
		Latency: map[string]Statistics{}, Throughput: map[string]Statistics{},
	}
	for _, l := range latencies() {
		if st := statistics(s, l.ours, l.units, 1e-3); st != nil {
			a.Latency[l.theirs] = *st
		}
	}
	for name, units := range map[string]string{"input_token_rate": "tokens/s", "output_token_rate": "tokens/s",
		"total_token_rate": "tokens/s", "request_rate": "queries/s"} {
		if v, ok := s.Rates[name]; ok && finite(v) {
			a.Throughput[name] = Statistics{Units: units, Mean: v}
		}
	}
	return a
}

// latency is one metric under both names.
type latency struct{ theirs, ours, units string }

func latencies() []latency {
	return []latency{
		{"time_to_first_token", "ttft", "s"},
		{"request_latency", "e2e", "s"},
		{"time_per_output_token", "tpot", "s/token"},
		{"inter_token_latency", "itl", "s/token"},
		{"normalized_time_per_output_token", "ntpot", "s/token"},
	}
}

// plain is v as its JSON reads, so that YAML shows the same keys and texts.
func plain(v any) (any, error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encoding %T: %w", v, err)
	}
	var out any
	if err := json.Unmarshal(data, &out); err != nil {
		return nil, fmt.Errorf("encoding %T: %w", v, err)
	}
	return out, nil
}
