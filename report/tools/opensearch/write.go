// Package opensearch writes a run as flat documents for a search index: one summary per measured stage, then one
// document per request, with the field names of existing dashboards in addition to bflow's. It connects to no server.
package opensearch

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"iter"
	"strconv"
	"strings"
	"time"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/report/tools"
)

// Schema names the format of the documents.
const Schema = "bflow.opensearch/1"

// Write returns NDJSON: a document per line, each with its _id, so that indexing it again replaces it.
func Write(ctx context.Context, run tools.Run) ([]tools.File, error) {
	return documents(ctx, run, "opensearch.ndjson", func(yield func(any, error) bool, id string, doc document) bool {
		doc.setID(id)
		return yield(doc, nil)
	})
}

// WriteBulk returns the body of a _bulk request: an action line before each document. Who sends it cuts it between
// two documents where it is longer than the server takes (8 MB is safe).
func WriteBulk(ctx context.Context, run tools.Run) ([]tools.File, error) {
	return documents(ctx, run, "opensearch-bulk.ndjson", func(yield func(any, error) bool, id string, doc document) bool {
		return yield(action{Index: actionOf{ID: id}}, nil) && yield(doc, nil)
	})
}

// put yields the lines of a document; false ends the walk.
type put func(yield func(any, error) bool, id string, doc document) bool

func documents(ctx context.Context, run tools.Run, name string, put put) ([]tools.File, error) {
	ms, err := tools.Measurements(ctx, run)
	if err != nil {
		return nil, err
	}
	return []tools.File{tools.JSONLines(name, func(ctx context.Context) iter.Seq2[any, error] {
		return func(yield func(any, error) bool) {
			for i := range ms {
				for j := range ms[i].Stages {
					one := func(id string, doc document) bool { return put(yield, id, doc) }
					if !stage(ctx, run, &ms[i], &ms[i].Stages[j], one, yield) {
						return
					}
				}
			}
		}
	})}, nil
}

// stage puts the documents of a stage: per sample its summary and then its requests.
func stage(ctx context.Context, run tools.Run, m *tools.Measurement, pooled *tools.Stage,
	put func(id string, doc document) bool, yield func(any, error) bool) bool {
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
	parts := []string{i.uuid, i.job, strconv.Itoa(sample), kind, strconv.Itoa(i.stage), request}
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return hex.EncodeToString(sum[:])
}

func jobName(run tools.Run, m *tools.Measurement) string {
	if p := run.Report.Plan; p != nil {
		return p.Experiment + "/" + m.Name
	}
	return m.Name
}

func timestamp(ns int64) string { return time.Unix(0, ns).UTC().Format("2006-01-02T15:04:05.000000Z") }

// request makes the document of one request.
func request(m *tools.Measurement, numbers map[string]tools.Number, r *report.Row, of identity) *requestDoc {
	send := r.TSend
	if send == nil {
		send = &r.TIntended
	}
	number := func(metric string) *float64 {
		if v, ok := numbers[metric](r); ok {
			return &v
		}
		return nil
	}
	doc := &requestDoc{DocType: "request", Schema: Schema, UUID: of.uuid, JobName: of.job, Sample: strconv.Itoa(r.Sample),
		StageIndex: of.stage, Timestamp: timestamp(m.Header.AnchorUnixNS + *send),
		IntendedTimestamp: timestamp(m.Header.AnchorUnixNS + r.TIntended), Completed: r.Status == report.StatusOK,
		Errored: r.Status != report.StatusOK && r.Status != report.StatusCut, RequestID: r.ID, Status: r.Status,
		QueueWaitMS: float64(r.QueueWait) / 1e6, DialMS: float64(r.Dial) / 1e6, ConnReused: r.ConnReused,
		TTFTMS: number("ttft"), ITLMS: number("tpot"), TPOTMS: number("tpot_over_n"), TTFTIntendedMS: number("ttft_intended"),
		TTFCMS: number("ttfc"), TPOTExclFirstMS: number("tpot"), TPOTInclMS: number("tpot_incl"),
		SchedLagMS: number("sched_lag"), TokensPerS: number("total_rate_user"), OutputTokensPerS: number("output_rate_user"),
		GapP50MS: r.ITLP50, GapP99MS: r.ITLP99, TokensIn: r.TokensIn, TokensOut: r.TokensOut, TokensCached: r.TokensCached,
		ErrorClass: r.ErrorClass, FinishReason: r.FinishReason, Pod: r.EndpointPod, HTTPStatus: r.HTTPStatus, SLOOK: r.SLOOK}
	if v := number("e2e"); v != nil {
		*v /= 1e3
		doc.RequestLatencySeconds = v
	}
	return doc
}
