package page

import (
	"fmt"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/report/chart"
)

// timelinePoints bounds a series: more seconds than that are averaged in groups.
const timelinePoints = 360

// moment is one or more seconds of the first sample: a time in seconds since the load began, and rates per second.
type moment struct {
	at                           float64
	stage                        string
	first                        bool // of its stage
	inFlight, sent, done, errors float64
	ttftP50, ttftP99             float64 // ms; the worst of the seconds, 0 where no token came
}

func timeline(m *report.Measurement) []figure {
	if len(m.Samples) == 0 {
		return nil
	}
	moments, bands := moments(m.Samples[0].Stages)
	x := chart.Axis{Label: "seconds since the load began"}
	note := ""
	if len(m.Samples) > 1 {
		note = fmt.Sprintf("Sample 0 of %d. ", len(m.Samples))
	}
	flight := chart.Chart{Title: "Requests in flight over time", X: x,
		Y: chart.Axis{Label: "requests in flight"}, Bands: bands,
		Series: []chart.Series{line(moments, "in flight", "s1", func(m moment) float64 { return m.inFlight })}}
	flight.Series[0].Area = true
	rates := chart.Chart{Title: "Sent, answered and failed over time", X: x, Y: chart.Axis{Label: "requests/s"},
		Bands: bands, Series: []chart.Series{
			line(moments, "sent", "s5", func(m moment) float64 { return m.sent }),
			line(moments, "answered", "s1", func(m moment) float64 { return m.done }),
			line(moments, "errors", "bad", func(m moment) float64 { return m.errors })}}
	t := table{
		Head: heads("Second", "!Stage", "In flight", "Sent/s", "Answered/s", "Errors/s",
			"TTFT p50, ms", "TTFT p99, ms"),
	}
	for _, m := range moments {
		t.Rows = append(t.Rows, []cell{
			{Text: num(m.at)}, {Text: m.stage, Class: "text"}, {Text: num(m.inFlight)}, {Text: num(m.sent)},
			{Text: num(m.done)}, {Text: num(m.errors)}, {Text: orDash(m.ttftP50)}, {Text: orDash(m.ttftP99)},
		})
	}
	caption := note + "Shaded bands are stages; errors are drawn in the second chart."
	return []figure{draw(flight, caption, t),
		draw(rates, note+"Per second of the stage in which the request was sent or ended.", t),
		draw(ttftOverTime(moments, bands, x), note+"Of the requests whose first token came in that second. Errors "+
			"are in the chart of answered and failed requests.", t)}
}

// orDash is a number, or a dash for what was not measured.
func orDash(v float64) string {
	if v == 0 {
		return absent
	}
	return num(v)
}

func ttftOverTime(moments []moment, bands []chart.Band, x chart.Axis) chart.Chart {
	var seen []moment
	gap := false
	for _, m := range moments {
		m.first = m.first || gap
		if gap = m.ttftP50 == 0; !gap {
			seen = append(seen, m)
		}
	}
	c := chart.Chart{Title: "Time to first token over time", X: x, Y: chart.Axis{Label: "ms", Auto: true}}
	if len(seen) > 0 {
		c.Bands = bands
		c.Series = []chart.Series{
			line(seen, "p50", "s1", func(m moment) float64 { return m.ttftP50 }),
			line(seen, "p99", "s2", func(m moment) float64 { return m.ttftP99 }),
		}
	}
	return c
}

func line(moments []moment, name, class string, of func(moment) float64) chart.Series {
	s := chart.Series{Name: name, Class: class, Plain: true}
	for _, m := range moments {
		s.Points = append(s.Points, chart.Point{X: m.at, Y: of(m), Gap: m.first,
			Tip: fmt.Sprintf("second %s, %s: %s %s (errors %s/s)", num(m.at), m.stage, num(of(m)), name, num(m.errors))})
	}
	return s
}

func moments(stages []report.Stage) ([]moment, []chart.Band) {
	var out []moment
	var bands []chart.Band
	total := 0
	for _, s := range stages {
		total += len(s.Series)
	}
	group := max(1, (total+timelinePoints-1)/timelinePoints)
	for _, s := range stages {
		begin := float64(s.StartNS-stages[0].StartNS) / 1e9
		if len(s.Series) > 0 {
			bands = append(bands, chart.Band{From: begin, To: begin + float64(len(s.Series)), Name: s.Planned.Name})
		}
		for i := 0; i < len(s.Series); i += group {
			out = append(out, average(s.Series[i:min(i+group, len(s.Series))], begin+float64(i), s.Planned.Name, i == 0))
		}
	}
	return out, bands
}

func average(seconds []report.Second, at float64, stage string, first bool) moment {
	m := moment{stage: stage, first: first}
	for _, s := range seconds {
		m.inFlight += s.InFlight
		m.sent += float64(s.Sent)
		m.done += float64(s.Done)
		m.errors += float64(s.Errors)
		m.ttftP50, m.ttftP99 = max(m.ttftP50, s.TTFTP50), max(m.ttftP99, s.TTFTP99)
	}
	n := float64(len(seconds))
	m.at = at + n/2
	m.inFlight, m.sent = m.inFlight/n, m.sent/n
	m.done, m.errors = m.done/n, m.errors/n
	return m
}
