package export

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strconv"
	"strings"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/report/sheet"
	"bflow.dev/bflow/runplan/contract"
)

// rowColumn is one column of the rows.
type rowColumn struct {
	name  string
	value func(r *report.Row) string
}

// rowsCSV writes every request of every measurement, the columns of the native rows and the derived latencies.
func rowsCSV(ctx context.Context, w io.Writer, run Run) error {
	out, columns := sheet.NewWriter(w), rowColumns()
	head := []string{"measurement"}
	for _, c := range columns {
		head = append(head, c.name)
	}
	if err := out.Write(head); err != nil {
		return fmt.Errorf("exporting rows: %w", err)
	}
	for _, m := range run.Report.Measurements {
		path := filepath.Join(report.MeasurementDir(run.Dir, m.Index), contract.FileRequests)
		if err := copyRows(ctx, out, path, strconv.Itoa(m.Index), columns); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("exporting rows: %w", err)
		}
	}
	out.Flush()
	return out.Error()
}

func copyRows(ctx context.Context, out *sheet.Writer, path, measurement string, columns []rowColumn) error {
	rows, err := report.OpenRows(path)
	if err != nil {
		return err
	}
	defer rows.Close()
	line := make([]string, len(columns)+1)
	line[0] = measurement
	for row, err := range rows.All() {
		if err = errors.Join(err, ctx.Err()); err != nil {
			return err
		}
		for i, c := range columns {
			line[i+1] = c.value(&row)
		}
		if err := out.Write(line); err != nil {
			return err
		}
	}
	return nil
}

func rowColumns() []rowColumn {
	columns := []rowColumn{
		{"id", func(r *report.Row) string { return r.ID }},
		{"stage", func(r *report.Row) string { return strconv.Itoa(r.Stage) }},
		{"sample", func(r *report.Row) string { return strconv.Itoa(r.Sample) }},
		{"session", func(r *report.Row) string { return strconv.Itoa(r.Session) }},
		{"turn", func(r *report.Row) string { return strconv.Itoa(r.Turn) }},
		{"slot", func(r *report.Row) string { return strconv.Itoa(r.Slot) }},
		{"phase", func(r *report.Row) string { return r.Phase }},
		{"status", func(r *report.Row) string { return r.Status }},
		{"error_class", func(r *report.Row) string { return r.ErrorClass }},
		{"http_status", func(r *report.Row) string { return unlessZero(r.HTTPStatus) }},
		{"error", func(r *report.Row) string { return r.Error }},
		{"t_intended_ns", func(r *report.Row) string { return strconv.FormatInt(r.TIntended, 10) }},
		{"t_send_ns", func(r *report.Row) string { return integer(r.TSend) }},
		{"t_sent_ns", func(r *report.Row) string { return integer(r.TSent) }},
		{"t_first_byte_ns", func(r *report.Row) string { return integer(r.TFirstByte) }},
		{"t_first_ns", func(r *report.Row) string { return integer(r.TFirst) }},
		{"t_content_ns", func(r *report.Row) string { return integer(r.TContent) }},
		{"t_last_ns", func(r *report.Row) string { return integer(r.TLast) }},
		{"t_end_ns", func(r *report.Row) string { return integer(r.TEnd) }},
		{"queue_wait_ns", func(r *report.Row) string { return strconv.FormatInt(r.QueueWait, 10) }},
		{"dial_ns", func(r *report.Row) string { return strconv.FormatInt(r.Dial, 10) }},
		{"client_lag_max_ns", func(r *report.Row) string { return strconv.FormatInt(r.ClientLagMax, 10) }},
	}
	columns = append(columns, tokenColumns()...)
	return append(columns, derivedColumns()...)
}

func tokenColumns() []rowColumn {
	return []rowColumn{
		{"tokens_in_asked", func(r *report.Row) string { return count(r.TokensInAsked) }},
		{"tokens_in", func(r *report.Row) string { return count(r.TokensIn) }},
		{"tokens_cached", func(r *report.Row) string { return count(r.TokensCached) }},
		{"tokens_out_asked", func(r *report.Row) string { return count(r.TokensOutAsked) }},
		{"tokens_out", func(r *report.Row) string { return count(r.TokensOut) }},
		{"tokens_reasoning", func(r *report.Row) string { return count(r.TokensReasoning) }},
		{"tokens_hidden", func(r *report.Row) string { return count(r.TokensHidden) }},
		{"events", func(r *report.Row) string { return count(r.Events) }},
		{"token_source", func(r *report.Row) string { return r.TokenSource }},
		{"finish_reason", func(r *report.Row) string { return r.FinishReason }},
		{"endpoint_pod", func(r *report.Row) string { return r.EndpointPod }},
		{"bytes_out", func(r *report.Row) string { return strconv.FormatInt(r.BytesOut, 10) }},
		{"bytes_in", func(r *report.Row) string { return strconv.FormatInt(r.BytesIn, 10) }},
		{"conn", func(r *report.Row) string { return strconv.Itoa(r.Conn) }},
		{"conn_reused", func(r *report.Row) string { return strconv.FormatBool(r.ConnReused) }},
		{"prefix_bucket", func(r *report.Row) string { return count(r.PrefixBucket) }},
		{"prefix_index", func(r *report.Row) string { return count(r.PrefixIndex) }},
		{"prompt_hash", func(r *report.Row) string { return r.PromptHash }},
		{"slo_ok", func(r *report.Row) string {
			if r.SLOOK == nil {
				return ""
			}
			return strconv.FormatBool(*r.SLOOK)
		}},
		{"slo_missed", func(r *report.Row) string { return strings.Join(r.SLOMissed, " ") }},
	}
}

// derivedColumns are the latencies of the request in ms, by the formulas of the metrics of a stage. What did not
// happen is empty.
func derivedColumns() []rowColumn {
	return []rowColumn{
		{"ttft_ms", func(r *report.Row) string { return since(r.TFirst, r.TSend) }},
		{"ttft_intended_ms", func(r *report.Row) string { return since(r.TFirst, &r.TIntended) }},
		{"ttfc_ms", func(r *report.Row) string { return since(r.TContent, r.TSend) }},
		{"tpot_ms", func(r *report.Row) string { return perToken(r.TLast, r.TFirst, r.TokensOut, 1) }},
		{"tpot_incl_ms", func(r *report.Row) string { return perToken(r.TLast, r.TSend, r.TokensOut, 0) }},
		{"ntpot_ms", func(r *report.Row) string { return perToken(finished(r), r.TSend, r.TokensOut, 0) }},
		{"e2e_ms", func(r *report.Row) string { return since(finished(r), r.TSend) }},
		{"e2e_intended_ms", func(r *report.Row) string { return since(finished(r), &r.TIntended) }},
		{"sched_lag_ms", schedLag},
		{"itl_mean_ms", func(r *report.Row) string { return milliseconds(r.ITLMean) }},
		{"itl_p50_ms", func(r *report.Row) string { return milliseconds(r.ITLP50) }},
		{"itl_p99_ms", func(r *report.Row) string { return milliseconds(r.ITLP99) }},
		{"itl_max_ms", func(r *report.Row) string { return milliseconds(r.ITLMax) }},
	}
}

// finished is the end of a request that ended well: latencies to the end exist for those only.
func finished(r *report.Row) *int64 {
	if r.Status != report.StatusOK {
		return nil
	}
	return r.TEnd
}

func schedLag(r *report.Row) string {
	if r.TSend == nil {
		return ""
	}
	lag := float64(*r.TSend-r.TIntended-r.QueueWait-r.Dial) / 1e6
	return milliseconds(&lag)
}

func since(t, from *int64) string {
	if t == nil || from == nil {
		return ""
	}
	d := float64(*t-*from) / 1e6
	return milliseconds(&d)
}

// perToken is the time between two stamps divided by the number of tokens less those that are left out.
func perToken(t, from *int64, tokens *int, less int) string {
	if t == nil || from == nil || tokens == nil || *tokens-less < 1 {
		return ""
	}
	d := float64(*t-*from) / 1e6 / float64(*tokens-less)
	return milliseconds(&d)
}

func milliseconds(v *float64) string {
	if v == nil {
		return ""
	}
	return strconv.FormatFloat(*v, 'f', 6, 64)
}

func integer(v *int64) string {
	if v == nil {
		return ""
	}
	return strconv.FormatInt(*v, 10)
}

func count(v *int) string {
	if v == nil {
		return ""
	}
	return strconv.Itoa(*v)
}

func unlessZero(v int) string {
	if v == 0 {
		return ""
	}
	return strconv.Itoa(v)
}
