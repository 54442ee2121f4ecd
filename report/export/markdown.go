package export

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/verdict"
)

// markdownLimit is what a step summary may hold.
const markdownLimit = 1 << 20

// markdown writes a step summary: verdict, headline, gates, notes and files.
func markdown(w io.Writer, run Run) error {
	var b bytes.Buffer
	r := run.Report
	fmt.Fprintf(&b, "## %s: %s\n\n", md(r.Plan.Experiment+" "+report.PointName(r)), r.Verdict.Verdict)
	for _, reason := range r.Verdict.Reasons {
		fmt.Fprintf(&b, "- %s\n", md(reason))
	}
	fmt.Fprintf(&b, "\nRun `%s`, model %s, engine %s, exit code %d.\n\n", r.Run.ID, md(r.Plan.Deployment.Model.Name),
		md(r.Plan.Deployment.Engine.Kind), r.Verdict.ExitCode)
	stagesTable(&b, r)
	gatesTable(&b, r)
	notes(&b, r)
	fmt.Fprintf(&b, "\nPage: `%s`, numbers: `%s`. A quantile marked ~ has fewer than ten values beyond it.\n",
		contract.FileReportHTML, contract.FileReport)
	text := b.Bytes()
	if len(text) > markdownLimit {
		note := []byte("\n\nThis summary was cut at 1 MiB.\n")
		cut := bytes.LastIndexByte(text[:markdownLimit-len(note)], '\n')
		text = append(text[:cut], note...)
	}
	_, err := w.Write(text)
	return err
}

func stagesTable(b *bytes.Buffer, r *report.Report) {
	b.WriteString("| stage | req/s | tok/s | TTFT p50 / p95 / p99 ms (intended) | ITL p50 / p99 ms | E2E p50 / p99 " +
		"ms | errors | goodput | verdict |\n")
	b.WriteString("|---|--:|--:|--:|--:|--:|--:|--:|---|\n")
	_ = eachStage(r, func(_ *report.Measurement, s *report.Stage) error {
		fmt.Fprintf(b, "| %s | %s | %s | %s (%s) | %s | %s | %s | %s | %s |\n", md(s.Planned.Name),
			rateText(s, "request_rate"),
			rateText(s, "output_token_rate"), quantiles(s, "ttft", "p50", "p95", "p99"),
			quantiles(s, "ttft_intended", "p50", "p95", "p99"),
			quantiles(s, "itl", "p50", "p99"), quantiles(s, "e2e", "p50", "p99"), shareText(s.ErrorRate),
			goodputText(s), s.Verdict)
		return nil
	})
}

func gatesTable(b *bytes.Buffer, r *report.Report) {
	if len(r.Verdict.Gates) == 0 {
		return
	}
	b.WriteString("\n| objective | stage | measured | limit | n | verdict |\n|---|---|--:|--:|--:|---|\n")
	for _, g := range r.Verdict.Gates {
		value := "not measured"
		if g.Value != nil {
			value = verdict.Quantity(*g.Value, g.Unit)
		}
		fmt.Fprintf(b, "| %s | %s | %s | %s | %d | %s |\n", verdict.Name(g), md(g.StageName), value,
			verdict.Limit(g), g.N, g.Verdict)
	}
}

func notes(b *bytes.Buffer, r *report.Report) {
	for _, v := range r.Verdict.Validity {
		kind := "invalid"
		if v.Note {
			kind = "note"
		}
		fmt.Fprintf(b, "\n- %s, stage %s, sample %d: %s: %s is %.4g, limit %.4g. %s", kind, md(v.StageName), v.Sample,
			v.Reason, v.Name, v.Value, v.Limit, md(v.Text))
	}
	if len(r.Verdict.Validity) > 0 {
		b.WriteString("\n")
	}
}

// md escapes what Markdown and its tables would read as their own.
func md(s string) string {
	return strings.NewReplacer("|", `\|`, "\n", " ", "\r", " ", "<", "&lt;", ">", "&gt;", "`", "'", "*", `\*`,
		"_", `\_`, "[", `\[`).Replace(s)
}

func rateText(s *report.Stage, name string) string {
	if v, ok := s.Rates[name]; ok {
		return fmt.Sprintf("%.4g", v)
	}
	return "–"
}

func quantiles(s *report.Stage, metric string, names ...string) string {
	m, ok := s.Metrics[metric]
	if !ok {
		return "–"
	}
	parts := make([]string, len(names))
	for i, q := range names {
		if !m.Has(q) {
			parts[i] = "–"
			continue
		}
		parts[i] = fmt.Sprintf("%.4g", m.Quantiles[q])
		if m.IsLowN(q) {
			parts[i] += "~"
		}
	}
	return strings.Join(parts, " / ")
}

func shareText(v *float64) string {
	if v == nil {
		return "–"
	}
	return verdict.Quantity(*v, "share")
}

func goodputText(s *report.Stage) string {
	if s.Goodput == nil {
		return "–"
	}
	return verdict.Quantity(s.Goodput.Attainment, "share")
}
