// Package opensearch writes a run as flat documents for a search index: one summary per measured stage, then one
// document per request, with the field names of existing dashboards in addition to bflow's. It connects to no server.
package opensearch

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"iter"
	"strings"
	"time"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/report/tools"
)

// Schema names the format of the documents.
const Schema = "bflow.opensearch/1"

type object = map[string]any

// Write returns NDJSON: a document per line, each with its _id, so that indexing it again replaces it.
func Write(ctx context.Context, run tools.Run) ([]tools.File, error) {
	return documents(ctx, run, "opensearch.ndjson", func(yield func(any, error) bool, id string, doc object) bool {
		doc["_id"] = id
		return yield(doc, nil)
	})
}

// WriteBulk returns the body of a _bulk request: an action line before each document. Who sends it cuts it between
// two documents where it is longer than the server takes (8 MB is safe).
func WriteBulk(ctx context.Context, run tools.Run) ([]tools.File, error) {
	return documents(ctx, run, "opensearch-bulk.ndjson", func(yield func(any, error) bool, id string, doc object) bool {
		return yield(object{"index": object{"_id": id}}, nil) && yield(doc, nil)
	})
}

// put yields the lines of a document; false ends the walk.
type put func(yield func(any, error) bool, id string, doc object) bool

func documents(ctx context.Context, run tools.Run, name string, put put) ([]tools.File, error) {
	ms, err := tools.Measurements(ctx, run)
	if err != nil {
		return nil, err
	}
	return []tools.File{tools.JSONLines(name, func(ctx context.Context) iter.Seq2[any, error] {
		return func(yield func(any, error) bool) {
			for i := range ms {
				for j := range ms[i].Stages {
					if !stage(ctx, run, &ms[i], &ms[i].Stages[j], func(id string, doc object) bool { return put(yield, id, doc) }, yield) {
						return
					}
				}
			}
		}
	})}, nil
}

// stage puts the documents of a stage: per sample its summary and then its requests.
func stage(ctx context.Context, run tools.Run, m *tools.Measurement, pooled *tools.Stage, put func(id string, doc object) bool,
	yield func(any, error) bool) bool {
	base := identity{uuid: run.Report.Run.ID, job: jobName(run, m), stage: pooled.StageResult.Stage}
	numbers := tools.Numbers()
	for _, s := range samples(m, pooled) {
		if !put(base.id("summary", s.Sample, ""), summary(run, m, &s, base)) {
			return false
		}
		for r, err := range s.Requests.All(ctx) {
			if err != nil {
				yield(nil, err)
				return false
			}
			if !put(base.id("request", s.Sample, r.ID), request(m, numbers, r, base)) {
				return false
			}
		}
	}
	return true
}

// samples are the samples of a pooled stage, each with its own numbers and requests and the verdict of all.
func samples(m *tools.Measurement, pooled *tools.Stage) []tools.Stage {
	var out []tools.Stage
	for i := range m.Samples {
		for j := range m.Samples[i].Stages {
			s := &m.Samples[i].Stages[j]
			if s.Stage != pooled.StageResult.Stage || s.StartNS == 0 {
				continue
			}
			one := *s
			one.Verdict = pooled.Verdict
			out = append(out, tools.Stage{Stage: &one, Series: one.Series,
				Requests: pooled.Requests.Only(func(r *report.Row) bool { return r.Sample == one.Sample })})
		}
	}
	return out
}

// identity is what tells documents apart.
type identity struct {
	uuid, job string
	stage     int
}

// id is the same for the same document, whenever it is made.
func (i identity) id(kind string, sample int, request string) string {
	sum := sha256.Sum256([]byte(strings.Join([]string{i.uuid, i.job, fmt.Sprint(sample), kind, fmt.Sprint(i.stage), request}, "\x00")))
	return hex.EncodeToString(sum[:])
}

func jobName(run tools.Run, m *tools.Measurement) string {
	if p := run.Report.Plan; p != nil {
		return p.Experiment + "/" + m.Name
	}
	return m.Name
}

func timestamp(ns int64) string { return time.Unix(0, ns).UTC().Format("2006-01-02T15:04:05.000000Z") }

// request is one request. Absent numbers are absent.
func request(m *tools.Measurement, numbers map[string]tools.Number, r *report.Row, of identity) object {
	send := r.TSend
	if send == nil {
		send = &r.TIntended
	}
	doc := object{"doc_type": "request", "schema": Schema, "uuid": of.uuid, "job_name": of.job, "sample": fmt.Sprint(r.Sample), "stage_index": of.stage,
		"timestamp": timestamp(m.Header.AnchorUnixNS + *send), "intended_timestamp": timestamp(m.Header.AnchorUnixNS + r.TIntended),
		"completed": r.Status == report.StatusOK, "errored": r.Status != report.StatusOK && r.Status != report.StatusCut,
		"request_id": r.ID, "status": r.Status, "queue_wait_ms": float64(r.QueueWait) / 1e6, "dial_ms": float64(r.Dial) / 1e6, "conn_reused": r.ConnReused}
	for field, metric := range map[string]string{"ttft_ms": "ttft", "itl_ms": "tpot", "tpot_ms": "tpot_over_n", "ttft_intended_ms": "ttft_intended",
		"ttfc_ms": "ttfc", "tpot_excl_first_ms": "tpot", "tpot_incl_ms": "tpot_incl", "sched_lag_ms": "sched_lag",
		"tokens_per_second": "total_rate_user", "output_tokens_per_second": "output_rate_user"} {
		if v, ok := numbers[metric](r); ok {
			doc[field] = v
		}
	}
	if v, ok := numbers["e2e"](r); ok {
		doc["request_latency_seconds"] = v / 1e3
	}
	for field, v := range map[string]*float64{"itl_gap_p50_ms": r.ITLP50, "itl_gap_p99_ms": r.ITLP99} {
		if v != nil {
			doc[field] = *v
		}
	}
	for field, v := range map[string]*int{"tokens_in": r.TokensIn, "tokens_out": r.TokensOut, "tokens_cached": r.TokensCached} {
		if v != nil {
			doc[field] = *v
		}
	}
	for field, v := range map[string]string{"error_class": r.ErrorClass, "finish_reason": r.FinishReason, "pod": r.EndpointPod} {
		if v != "" {
			doc[field] = v
		}
	}
	if r.HTTPStatus != 0 {
		doc["http_status"] = r.HTTPStatus
	}
	if r.SLOOK != nil {
		doc["slo_ok"] = *r.SLOOK
	}
	return doc
}
