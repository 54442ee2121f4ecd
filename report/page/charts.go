package page

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"bflow.dev/bflow/load/shape"
	"bflow.dev/bflow/report"
	"bflow.dev/bflow/report/chart"
)

// percentiles that latency charts draw, each with its own dash.
func percentiles() []struct{ name, dash, class string } {
	return []struct{ name, dash, class string }{{"p50", "", "s1"}, {"p95", "7 4", "s3"}, {"p99", "2 4", "s2"}}
}

func figuresOf(m *report.Measurement) []figure {
	stages := byLoad(measuredStages(m))
	var out []figure
	if len(stages) > 1 {
		out = append(out,
			latencyFigure(stages, "ttft_intended", "Time to first token (intended) against load"),
			latencyFigure(stages, "itl", "Inter-token latency against load"),
			latencyFigure(stages, "e2e_intended", "Whole request (intended) against load"),
			throughputFigure(stages, "request_rate", "Request rate against load", "requests/s"),
			throughputFigure(stages, "output_token_rate", "Output tokens against load", "tokens/s"),
			kneeFigure(stages))
	}
	out = append(out, cdfFigure(stages, "ttft", "Distribution of time to first token"),
		cdfFigure(stages, "itl", "Distribution of inter-token latency"),
		cdfFigure(stages, "e2e", "Distribution of whole requests"))
	out = append(out, timeline(m)...)
	var drawn []figure
	for _, f := range out {
		if f.SVG != "" {
			drawn = append(drawn, f)
		}
	}
	return drawn
}

// byLoad orders stages for lines: by load, closed loops before rates, what has no load value last. A sweep and a search
// measure in another order.
func byLoad(stages []*report.Stage) []*report.Stage {
	rank := func(s *report.Stage) int { return shape.Rank(s.Planned.Shape) }
	slices.SortStableFunc(stages, func(a, b *report.Stage) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(report.LoadOf(a), report.LoadOf(b)))
	})
	return stages
}

// draw finishes a figure; an empty chart gives none.
func draw(c chart.Chart, caption string, t table) figure {
	if c.Empty() {
		return figure{}
	}
	f := figure{Title: c.Title, Caption: caption, SVG: c.SVG(), Table: t}
	for _, s := range c.Series {
		if len(s.Points) == 0 {
			continue
		}
		f.Legend = append(f.Legend, legendItem{Name: s.Name, Class: s.Class, Dash: s.Dash != ""})
	}
	if len(f.Legend) == 1 {
		f.Legend = nil
	}
	return f
}

// errorCaption is the error rates of the stages beside the numbers of a chart.
func errorCaption(stages []*report.Stage) string {
	parts := make([]string, len(stages))
	none := true
	for i, s := range stages {
		parts[i] = fmt.Sprintf("%s %s", s.Planned.Name, errorShare(s))
		none = none && !failing(s)
	}
	if none {
		return "Errors: 0 % at every stage."
	}
	return "Errors: " + strings.Join(parts, ", ") + "."
}

// loadAxis is that of the load values where all stages have one of the same kind, else their names.
func loadAxis(stages []*report.Stage) (chart.Axis, func(i int) float64) {
	first := stages[0].Planned.Shape
	for _, s := range stages {
		if s.Planned.Shape != first || report.LoadOf(s) == 0 {
			return namesAxis(stages), func(i int) float64 { return float64(i) }
		}
	}
	load := func(i int) float64 { return report.LoadOf(stages[i]) }
	return chart.Axis{Label: shape.AxisOf(first).Label, Auto: true}, load
}

func namesAxis(stages []*report.Stage) chart.Axis {
	a := chart.Axis{Label: "stage"}
	for _, s := range stages {
		a.Names = append(a.Names, s.Planned.Name)
	}
	return a
}

func latencyFigure(stages []*report.Stage, metric, title string) figure {
	axis, at := loadAxis(stages)
	c := chart.Chart{Title: title, X: axis, Y: chart.Axis{Label: "ms", Auto: true}}
	t := table{Head: heads("Stage", "Load", "Errors", "p50, ms", "p90, ms", "p95, ms", "p99, ms", "n")}
	for _, p := range percentiles() {
		series := chart.Series{Name: p.name, Class: p.class, Dash: p.dash}
		for i, s := range stages {
			if m, ok := s.Metrics[metric]; ok && m.Has(p.name) {
				series.Points = append(series.Points, chart.Point{X: at(i), Y: m.Quantiles[p.name], Warn: failing(s),
					Tip: fmt.Sprintf("%s, %s: %s %s ms (n=%d, errors %s)",
						s.Planned.Name, loadWords(s), p.name, quantile(s, metric, p.name), m.N, errorShare(s))})
			}
		}
		c.Series = append(c.Series, series)
	}
	for _, s := range stages {
		t.Rows = append(t.Rows, []cell{{Text: s.Planned.Name}, {Text: loadWords(s)}, {Text: errorShare(s)},
			{Text: quantile(s, metric, "p50")},
			{Text: quantile(s, metric, "p90")}, {Text: quantile(s, metric, "p95")}, {Text: quantile(s, metric, "p99")},
			{Text: fmt.Sprint(s.Metrics[metric].N)}})
	}
	return draw(c, errorCaption(stages), t)
}

func throughputFigure(stages []*report.Stage, name, title, unit string) figure {
	axis, at := loadAxis(stages)
	c := chart.Chart{Title: title, X: axis, Y: chart.Axis{Label: unit}}
	series := chart.Series{Name: "completed", Class: "s1"}
	offeredSeries := chart.Series{Name: "offered", Class: "s5", Dash: "2 4", Plain: true}
	good := chart.Series{Name: "within the objectives", Class: "s3", Dash: "7 4"}
	t := table{Head: heads("Stage", "Load", "Errors", unit, "good "+unit)}
	for i, s := range stages {
		v, ok := s.Rates[name]
		if !ok || s.WindowS == 0 {
			continue
		}
		tip := fmt.Sprintf("%s, %s: %s %s (errors %s)", s.Planned.Name, loadWords(s), num(v), unit, errorShare(s))
		series.Points = append(series.Points, chart.Point{X: at(i), Y: v, Warn: failing(s), Tip: tip})
		row := []cell{{Text: s.Planned.Name}, {Text: loadWords(s)}, {Text: errorShare(s)}, {Text: num(v)}, {Text: absent}}
		if o, ok := s.Rates["offered_rate"]; ok && o > 0 && name == "request_rate" {
			offeredSeries.Points = append(offeredSeries.Points, chart.Point{X: at(i), Y: o})
		}
		if s.Goodput != nil {
			g := s.Goodput.TokensPerS
			if name == "request_rate" {
				g = s.Goodput.RequestsPerS
			}
			row[4].Text = num(g)
			good.Points = append(good.Points, chart.Point{
				X: at(i), Y: g, Tip: fmt.Sprintf("%s: %s good %s", s.Planned.Name, num(g), unit),
			})
		}
		t.Rows = append(t.Rows, row)
	}
	for _, s := range []chart.Series{offeredSeries, series, good} {
		if len(s.Points) > 0 {
			c.Series = append(c.Series, s)
		}
	}
	return draw(c, errorCaption(stages), t)
}

// kneeFigure is latency against throughput: the curve bends where more load buys only waiting.
func kneeFigure(stages []*report.Stage) figure {
	c := chart.Chart{
		Title: "Knee: latency against throughput", X: chart.Axis{Label: "output tokens/s"},
		Y: chart.Axis{Label: "TTFT (intended), ms", Auto: true},
	}
	t := table{Head: heads("Stage", "Load", "Errors", "Output tok/s", "p50, ms", "p95, ms", "p99, ms")}
	for _, p := range percentiles() {
		series := chart.Series{Name: p.name, Class: p.class, Dash: p.dash}
		for _, s := range stages {
			m, ok := s.Metrics["ttft_intended"]
			x, known := s.Rates["output_token_rate"]
			if ok && known && m.Has(p.name) {
				point := chart.Point{X: x, Y: m.Quantiles[p.name], Warn: failing(s),
					Tip: fmt.Sprintf("%s, %s: %s tok/s, %s %s ms (errors %s)", s.Planned.Name, loadWords(s), num(x),
						p.name, quantile(s, "ttft_intended", p.name), errorShare(s))}
				if p.name == "p99" {
					point.Label = loadLabel(s)
				}
				series.Points = append(series.Points, point)
			}
		}
		c.Series = append(c.Series, series)
	}
	for _, s := range stages {
		t.Rows = append(t.Rows, []cell{{Text: s.Planned.Name}, {Text: loadWords(s)}, {Text: errorShare(s)},
			{Text: rate(s, "output_token_rate")},
			{Text: quantile(s, "ttft_intended", "p50")}, {Text: quantile(s, "ttft_intended", "p95")},
			{Text: quantile(s, "ttft_intended", "p99")}})
	}
	return draw(c, "Labels are the load. "+errorCaption(stages), t)
}

// colour is the class of the i-th of n things in an order.
func colour(i, n int) string {
	if n <= 1 {
		return "q3"
	}
	return fmt.Sprintf("q%d", 1+i*5/(n-1))
}

func cdfFigure(stages []*report.Stage, metric, title string) figure {
	c := chart.Chart{
		Title: title, X: chart.Axis{Label: "ms", Auto: true, Tight: true},
		Y: chart.Axis{Label: "share of values, %", Max: 100},
	}
	t := table{Head: heads("Stage", "Errors", "n", "mean, ms", "p50, ms", "p90, ms", "p95, ms", "p99, ms", "max, ms")}
	for i, s := range stages {
		series := chart.Series{Name: s.Planned.Name, Class: colour(i, len(stages)), Plain: true}
		for j, p := range s.CDF[metric] {
			point := chart.Point{X: p[0], Y: p[1] * 100}
			if j%10 == 0 {
				point.Tip = fmt.Sprintf("%s: %s %% within %s ms (errors %s)",
					s.Planned.Name, num(p[1]*100), num(p[0]), errorShare(s))
			}
			series.Points = append(series.Points, point)
		}
		if len(series.Points) > 0 {
			c.Series = append(c.Series, series)
		}
		m := s.Metrics[metric]
		t.Rows = append(t.Rows, []cell{{Text: s.Planned.Name}, {Text: errorShare(s)}, {Text: fmt.Sprint(m.N)},
			{Text: num(m.Mean)}, {Text: quantile(s, metric, "p50")},
			{Text: quantile(s, metric, "p90")}, {Text: quantile(s, metric, "p95")}, {Text: quantile(s, metric, "p99")},
			{Text: greatest(m)}})
	}
	return draw(c, errorCaption(stages), t)
}
