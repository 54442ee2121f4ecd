package page

import (
	"fmt"

	"bflow.dev/bflow/report"
)

// headline is the tiles of the stage that stands for the run.
type headline struct {
	Note      string
	Tiles     []tile
	Latencies []tile
}

// tile shows one number, or a small table of quantiles, never without the error rate.
type tile struct {
	Title, Unit string
	Value       string
	Sub         string
	Columns     []string
	Rows        []tileRow
	Better      string
	Errors      string
	Failing     bool
}

type tileRow struct {
	Name   string
	Values []string
}

func headlineOf(r *report.Report) *headline {
	s := report.Headline(r)
	if s == nil {
		return nil
	}
	h := &headline{Note: headlineNote(s)}
	add := func(t tile) {
		if t.Title != "Errors" {
			t.Errors, t.Failing = "errors "+errorShare(s), failing(s)
		}
		if len(t.Rows) > 0 {
			h.Latencies = append(h.Latencies, t)
		} else {
			h.Tiles = append(h.Tiles, t)
		}
	}
	add(tile{
		Title: "Requests", Unit: "per second", Value: rate(s, "request_rate"), Sub: offered(s),
		Better: "higher is better",
	})
	add(tile{Title: "Output", Unit: "tokens per second", Value: rate(s, "output_token_rate"), Better: "higher is better"})
	_, n := report.GPUs(r.Plan)
	if v, ok := s.Rates["output_token_rate"]; ok && n > 0 {
		add(tile{Title: "Output per GPU", Unit: "tokens per second", Value: num(v / float64(n)), Better: "higher is better"})
	}
	add(tile{
		Title: "Errors", Unit: fmt.Sprintf("of %d requests", s.Counts.Total), Value: errorShare(s), Sub: errorDetail(s),
		Better: "lower is better",
	})
	if s.Goodput != nil {
		add(tile{
			Title: "Goodput", Unit: "of requests", Value: goodput(s), Sub: num(s.Goodput.RequestsPerS) + " req/s",
			Better: "higher is better",
		})
	}
	add(latencyTile(s, "Time to first token", "ttft", "p50", "p95", "p99"))
	add(latencyTile(s, "Between tokens", "itl", "p50", "p95", "p99"))
	add(latencyTile(s, "Whole request", "e2e", "p50", "p95", "p99"))
	return h
}

func headlineNote(s *report.Stage) string {
	where := fmt.Sprintf("Stage %q, %s: ", s.Planned.Name, loadWords(s))
	if s.Verdict == "pass" {
		return where + "the highest load that is valid and holds every objective."
	}
	if s.Verdict == report.NotJudged {
		return where + "the highest load."
	}
	return where + "the last measured load, because none is valid and holds every objective."
}

func latencyTile(s *report.Stage, title, metric string, quantiles ...string) tile {
	t := tile{Title: title, Unit: "ms", Columns: quantiles, Better: "lower is better"}
	for _, row := range []tileRow{{Name: "from send"}, {Name: "intended"}} {
		name := metric
		if row.Name == "intended" {
			name += "_intended"
			if _, ok := s.Metrics[name]; !ok {
				continue
			}
		}
		for _, q := range quantiles {
			row.Values = append(row.Values, quantile(s, name, q))
		}
		t.Rows = append(t.Rows, row)
	}
	if metric == "itl" {
		t.Rows[0].Name = "per gap"
	}
	return t
}
