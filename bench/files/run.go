package main

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"time"

	"bflow.dev/bflow/internal/durable"
	"bflow.dev/bflow/report"
	"bflow.dev/bflow/report/assemble"
	"bflow.dev/bflow/report/tools"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
)

// tokensOut is the length of every answer.
const tokensOut = 64

// rate is that of the made-up load, requests per second.
const rate = 5000

// anchor is the start of the made-up run, unix ns.
const anchor = 1_777_888_800_000_000_000

// makeRun writes the directory of a run of one measured stage with n requests, as load-gen leaves it, and its report.
func makeRun(ctx context.Context, dir string, n int) error {
	length := runplan.Duration(float64(n) / rate * 1e9)
	stage := runplan.Stage{
		Name: "rate", Measure: true, Shape: runplan.ShapeOpen, Rate: rate, Arrival: "poisson", Duration: length,
	}
	plan := &runplan.RunPlan{APIVersion: runplan.APIVersion, Kind: runplan.Kind, Name: "files",
		Experiment: "files", Index: 1,
		Deployment: runplan.Deployment{Model: runplan.Model{Name: "acme/tiny-1b"}, Engine: runplan.Engine{Kind: "sim"}},
		Measurements: []runplan.Measurement{{Name: "load", Tool: "native", Runner: runplan.RunnerNative, Samples: 1,
			API:    runplan.API{Type: runplan.APIChat, Path: "/v1/chat/completions", Stream: true},
			Data:   runplan.Data{Output: &runplan.Length{Shape: "fixed", Mean: tokensOut}, Turns: 1},
			Stages: []runplan.Stage{stage}}},
		Target: runplan.Target{Name: "local"}, Queue: runplan.Queue{Isolation: "shared"}}
	if err := runplan.Identify(plan); err != nil {
		return err
	}
	data, err := runplan.Marshal(plan)
	if err != nil {
		return err
	}
	if err := durable.WriteFile(filepath.Join(dir, contract.FilePlan), data); err != nil {
		return err
	}
	if err := makeMeasurement(ctx, report.MeasurementDir(dir, 0), plan, n); err != nil {
		return err
	}
	r, err := assemble.Report(dir)
	if err != nil {
		return err
	}
	return durable.WriteJSON(filepath.Join(dir, contract.FileReport), r)
}

func makeMeasurement(ctx context.Context, dir string, plan *runplan.RunPlan, n int) error {
	if err := durable.MkdirAll(dir); err != nil {
		return err
	}
	rows, err := report.CreateRows(filepath.Join(dir, contract.FileRequests))
	if err != nil {
		return err
	}
	values, err := report.CreateHistograms(filepath.Join(dir, contract.FileHistograms))
	if err != nil {
		return err
	}
	planned := plan.Measurements[0].Stages[0]
	end := anchor + int64(planned.Duration)
	result := &report.StageResult{Planned: planned, StartNS: anchor, EndNS: end, DrainEndNS: end + 4e9,
		Window: report.Window{StartNS: anchor, EndNS: end}, Ended: "duration",
		Rates:   map[string]float64{"request_rate": rate},
		Counts:  report.Counts{Total: n, All: n, ByStatus: map[string]int{}},
		Metrics: map[string]report.Metric{},
		Tokens:  report.TokenSums{Out: int64(n) * tokensOut, Sources: map[string]int{"usage": n}}}
	if err := makeRequests(ctx, n, result, rows, values); err != nil {
		return err
	}
	if err := values.Close(); err != nil {
		return err
	}
	if err := rows.Finish(report.Header{PlanHash: plan.Hash, Run: "files", Attempt: 1, AnchorUnixNS: anchor,
		Tool:             "bflow-load-gen",
		TokenCountSource: "usage", Clock: "kernel"}); err != nil {
		return err
	}
	if err := report.AppendStage(filepath.Join(dir, contract.FileStages), result); err != nil {
		return err
	}
	data, err := json.Marshal(report.LoadGen{Schema: report.LoadGenSchema, Attempt: 1, Endpoint: "http://127.0.0.1:8000",
		StartNS: anchor, EndNS: result.DrainEndNS, Complete: true, TokenCountSource: "usage"})
	if err != nil {
		return err
	}
	return durable.WriteFile(filepath.Join(dir, contract.FileLoadGen), data)
}

// makeRequests writes the requests and their distributions and adds to the result what they say.
func makeRequests(
	ctx context.Context, n int, result *report.StageResult, rows *report.RowWriter, values *report.HistogramWriter,
) error {
	rng := rand.New(rand.NewPCG(1, 2))
	kept := map[string]*report.Distribution{}
	for _, name := range []string{"ttft", "tpot", "e2e"} {
		kept[name] = report.NewDistribution(report.Unit(name))
	}
	numbers := tools.Numbers()
	for i := range n {
		if err := ctx.Err(); err != nil {
			return err
		}
		row := request(rng, i)
		result.Counts.ByStatus[row.Status]++
		for name, d := range kept {
			if v, ok := numbers[name](&row); ok && row.Status == report.StatusOK {
				d.Add(v)
			}
		}
		if err := rows.Write(&row); err != nil {
			return err
		}
	}
	for name, d := range kept {
		result.Metrics[name], _ = d.Metric()
		if err := values.Write(report.DistributionKey{Metric: name}, d); err != nil {
			return err
		}
	}
	return nil
}

// request is request i: one in two hundred fails.
func request(rng *rand.Rand, i int) report.Row {
	intended := int64(float64(i) / rate * 1e9)
	send := intended + int64(20e3+rng.ExpFloat64()*30e3)
	first := send + int64(30e6+rng.ExpFloat64()*10e6)
	last := first + int64((tokensOut-1)*(8e6+math.Abs(rng.NormFloat64())*1e6))
	end := last + 150e3
	in, out, events := 200+rng.IntN(400), tokensOut, tokensOut
	itl := float64(last-first) / 1e6 / (tokensOut - 1)
	longest := 3 * itl
	row := report.Row{ID: fmt.Sprintf("%016x-%08x", rng.Uint64(), i), Slot: i % 512, Session: i,
		Phase: report.PhaseMeasured, Status: report.StatusOK, HTTPStatus: 200,
		TIntended: intended, TSend: &send, TSent: &send, TFirstByte: &first, TFirst: &first, TContent: &first,
		TLast: &last, TEnd: &end,
		ClientLagMax: rng.Int64N(40e3), TokensInAsked: &in, TokensIn: &in, TokensOut: &out,
		TokensOutAsked: &out, Events: &events,
		TokenSource: "usage", FinishReason: "length", BytesOut: int64(5 * in), BytesIn: 220 * tokensOut, Conn: i % 512,
		ConnReused: i >= 512,
		PromptHash: fmt.Sprintf("%016x", rng.Uint64()), ITLMean: &itl, ITLP50: &itl, ITLP99: &longest, ITLMax: &longest}
	if i%200 == 7 {
		failed := send + int64(time.Millisecond)
		row = report.Row{ID: row.ID, Slot: row.Slot, Session: i, Phase: row.Phase, Status: report.StatusFailed,
			ErrorClass: report.ErrHTTP5xx, HTTPStatus: 503,
			Error: "the engine is overloaded", TIntended: intended, TSend: &send, TSent: &send, TEnd: &failed,
			TokensInAsked: &in, BytesOut: int64(5 * in)}
	}
	return row
}
