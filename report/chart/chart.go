// Package chart draws line charts as inline SVG: axes with units, ticks, a legend, and a tooltip per point. Colours
// are CSS classes, so that the page can define them for light and dark mode. It knows no metric and reads nothing.
package chart

import (
	"fmt"
	"html/template"
	"math"
	"strings"
)

// Size of every chart, in the units of its view box; text is set for it to be shown at about its own size.
const (
	width, height              = 420, 290
	left, right, top, bottom   = 54, 14, 14, 40
	plotRight, plotBottom      = width - right, height - bottom
	hitRadius, markerRadius    = 9, 3.2
	plotWidth, plotHeight      = width - left - right, height - top - bottom
	logarithmicFrom            = 20 // highest / lowest value above which an automatic axis is logarithmic
	charWidth, bandLabelHeight = 6, 11
)

// Axis is one of the two.
type Axis struct {
	Label string
	Log   bool // ignored where a value is not positive
	Tight bool // a linear axis need not begin at zero
	Auto  bool // logarithmic when the values span a wide range
	Max   float64
	Names []string // of the places 0, 1, 2, ... instead of numbers
}

// Point is one value. A point whose Warn is set is drawn with a warning ring.
type Point struct {
	X, Y  float64
	Tip   string
	Warn  bool
	Gap   bool   // the line does not come from the point before
	Label string // beside the point
}

// Series is one line.
type Series struct {
	Name   string
	Class  string // CSS class that sets the colour, e.g. "s1"
	Dash   string // SVG dash pattern, "" for a whole line
	Points []Point
	Plain  bool // no markers
	Area   bool // filled down to zero
}

// Band is a span of the x axis with a name.
type Band struct {
	From, To float64
	Name     string
}

// Chart is what is drawn.
type Chart struct {
	Title  string
	X, Y   Axis
	Series []Series
	Bands  []Band
}

// Empty says whether there is nothing to draw.
func (c *Chart) Empty() bool {
	for _, s := range c.Series {
		if len(s.Points) > 0 {
			return false
		}
	}
	return true
}

// SVG returns the chart as one element. All text is escaped.
func (c *Chart) SVG() template.HTML {
	var b strings.Builder
	fmt.Fprintf(&b,
		`<svg class="chart" viewBox="0 0 %d %d" role="img" aria-label="%s" preserveAspectRatio="xMidYMid meet">`,
		width, height, esc(c.Title))
	x, y := c.scales()
	c.drawBands(&b, x)
	drawX(&b, x, c.X)
	drawY(&b, y, c.Y)
	for i := range c.Series {
		drawLine(&b, &c.Series[i], x, y)
	}
	for i := range c.Series {
		drawMarkers(&b, &c.Series[i], x, y)
	}
	b.WriteString(`</svg>`)
	return template.HTML(b.String()) //nolint:gosec // built here, every text through esc
}

func esc(s string) string { return template.HTMLEscapeString(s) }

func (c *Chart) scales() (x, y scale) {
	x, y = newScale(left, plotRight, c.X), newScale(plotBottom, top, c.Y)
	for _, s := range c.Series {
		for _, p := range s.Points {
			x.include(p.X)
			y.include(p.Y)
		}
	}
	for _, band := range c.Bands {
		x.include(band.From)
		x.include(band.To)
	}
	x.settle(len(c.Bands) > 0)
	y.settle(false)
	return x, y
}

func (c *Chart) drawBands(b *strings.Builder, x scale) {
	for i, band := range c.Bands {
		from, to := x.at(band.From), x.at(band.To)
		if i%2 == 0 {
			fmt.Fprintf(b, `<rect class="band" x="%.1f" y="%d" width="%.1f" height="%d"/>`, from, top,
				math.Max(0, to-from), plotHeight)
		}
		if name := clip(band.Name, int((to-from)/charWidth)); name != "" {
			fmt.Fprintf(b, `<text class="bandname" x="%.1f" y="%d">%s<title>%s</title></text>`, (from+to)/2,
				top+bandLabelHeight, esc(name), esc(band.Name))
		}
	}
}

// clip shortens a name to n characters, to nothing where that says too little.
func clip(s string, n int) string {
	r := []rune(s)
	switch {
	case len(r) <= n:
		return s
	case n < 4:
		return ""
	}
	return string(r[:n-1]) + "…"
}

func drawX(b *strings.Builder, x scale, a Axis) {
	for _, t := range x.ticks() {
		fmt.Fprintf(b, `<line class="tick" x1="%.1f" y1="%d" x2="%.1f" y2="%d"/><text class="num" x="%.1f" y="%d" `+
			`text-anchor="middle">%s</text>`,
			x.at(t.value), plotBottom, x.at(t.value), plotBottom+4, x.at(t.value), plotBottom+16, esc(t.label))
	}
	fmt.Fprintf(b, `<line class="axis" x1="%d" y1="%d" x2="%d" y2="%d"/><text class="label" x="%d" y="%d" `+
		`text-anchor="middle">%s</text>`,
		left, plotBottom, plotRight, plotBottom, left+plotWidth/2, height-6, esc(label(a, x)))
}

func drawY(b *strings.Builder, y scale, a Axis) {
	for _, t := range y.ticks() {
		fmt.Fprintf(b, `<line class="grid" x1="%d" y1="%.1f" x2="%d" y2="%.1f"/><text class="num" x="%d" y="%.1f" `+
			`text-anchor="end">%s</text>`,
			left, y.at(t.value), plotRight, y.at(t.value), left-6, y.at(t.value)+3.5, esc(t.label))
	}
	fmt.Fprintf(b, `<text class="label" transform="translate(12 %d) rotate(-90)" text-anchor="middle">%s</text>`,
		top+plotHeight/2, esc(label(a, y)))
}

func label(a Axis, s scale) string {
	if s.log {
		return a.Label + ", log"
	}
	return a.Label
}

func drawLine(b *strings.Builder, s *Series, x, y scale) {
	dash := ""
	if s.Dash != "" {
		dash = fmt.Sprintf(` stroke-dasharray="%s"`, s.Dash)
	}
	for _, part := range s.parts() {
		path := linePath(part, x, y)
		if s.Area {
			first, last := part[0], part[len(part)-1]
			fmt.Fprintf(b, `<path class="area %s" d="%sL%.1f %dL%.1f %dZ"/>`, s.Class, path, x.at(last.X), plotBottom,
				x.at(first.X), plotBottom)
		}
		fmt.Fprintf(b, `<path class="line %s"%s d="%s"><title>%s</title></path>`, s.Class, dash, path, esc(s.Name))
	}
}

// parts are the points between gaps.
func (s *Series) parts() [][]Point {
	var out [][]Point
	for _, p := range s.Points {
		if len(out) == 0 || p.Gap {
			out = append(out, nil)
		}
		out[len(out)-1] = append(out[len(out)-1], p)
	}
	return out
}

func linePath(points []Point, x, y scale) string {
	var b strings.Builder
	for i, p := range points {
		command := "L"
		if i == 0 {
			command = "M"
		}
		fmt.Fprintf(&b, "%s%.1f %.1f", command, x.at(p.X), y.at(p.Y))
	}
	return b.String()
}

// drawMarkers draws small points with a large invisible disc around each, so that its tooltip can be hit.
func drawMarkers(b *strings.Builder, s *Series, x, y scale) {
	for _, p := range s.Points {
		if s.Plain && p.Tip == "" {
			continue
		}
		px, py := x.at(p.X), y.at(p.Y)
		fmt.Fprintf(b, `<g class="point %s">`, s.Class)
		if p.Warn {
			fmt.Fprintf(b, `<circle class="warn" cx="%.1f" cy="%.1f" r="6"/>`, px, py)
		}
		if !s.Plain {
			fmt.Fprintf(b, `<circle class="dot" cx="%.1f" cy="%.1f" r="%.1f"/>`, px, py, markerRadius)
		}
		if p.Label != "" {
			fmt.Fprintf(b, `<text class="bandname" x="%.1f" y="%.1f">%s</text>`, px, py-9, esc(p.Label))
		}
		fmt.Fprintf(b, `<circle class="hit" cx="%.1f" cy="%.1f" r="%d"><title>%s</title></circle></g>`, px, py,
			hitRadius, esc(p.Tip))
	}
}
