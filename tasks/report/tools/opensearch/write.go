// Package opensearch writes a run as flat documents for a search index: one summary per measured stage, then one per
// request, under the names of existing dashboards with ours beside them. It talks to no server.
package opensearch

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"bflow.dev/bflow/tasks/report"
	"bflow.dev/bflow/tasks/report/tools"
)

// Schema names the format of the documents.
const Schema = "bflow.opensearch/1"

type object = map[string]any

// Write returns NDJSON: a document per line, each with its _id, so that indexing it again replaces it.
func Write(run tools.Run) ([]tools.File, error) {
	return documents(run, "opensearch.ndjson", func(enc *json.Encoder, id string, doc object) error {
		doc["_id"] = id
		return enc.Encode(doc)
	})
}

// WriteBulk returns the body of a _bulk request: an action line before each document. Who sends it cuts it between
// two documents where it is longer than the server takes (8 MB is safe).
func WriteBulk(run tools.Run) ([]tools.File, error) {
	return documents(run, "opensearch-bulk.ndjson", func(enc *json.Encoder, id string, doc object) error {
		if err := enc.Encode(object{"index": object{"_id": id}}); err != nil {
			return err
		}
		return enc.Encode(doc)
	})
}

func documents(run tools.Run, name string, put func(enc *json.Encoder, id string, doc object) error) ([]tools.File, error) {
	ms, err := tools.Measurements(run)
	if err != nil {
		return nil, err
	}
	return []tools.File{{Name: name, Write: func(w io.Writer) error {
		enc := json.NewEncoder(w)
		enc.SetEscapeHTML(false)
		for i := range ms {
			for j := range ms[i].Stages {
				if err := stage(run, &ms[i], &ms[i].Stages[j], func(id string, doc object) error { return put(enc, id, doc) }); err != nil {
					return fmt.Errorf("writing %s: %w", name, err)
				}
			}
		}
		return nil
	}}}, nil
}

// stage writes the documents of a stage: per sample its summary and then its requests.
func stage(run tools.Run, m *tools.Measurement, pooled *tools.Stage, put func(id string, doc object) error) error {
	base := identity{uuid: run.Report.Run.ID, job: jobName(run, m), stage: pooled.StageResult.Stage}
	numbers := tools.Numbers()
	for _, s := range samples(m, pooled) {
		if err := put(base.id("summary", s.Sample, ""), summary(run, m, &s, base)); err != nil {
			return err
		}
		for i := range s.Rows {
			if err := put(base.id("request", s.Sample, s.Rows[i].ID), request(m, numbers, &s.Rows[i], base)); err != nil {
				return err
			}
		}
	}
	return nil
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
			part := tools.Stage{Stage: &one, Series: one.Series}
			for _, r := range pooled.Rows {
				if r.Sample == one.Sample {
					part.Rows = append(part.Rows, r)
				}
			}
			out = append(out, part)
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
