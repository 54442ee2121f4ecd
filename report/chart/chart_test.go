package chart

import (
	"encoding/xml"
	"errors"
	"io"
	"math"
	"strings"
	"testing"
)

func TestTicksAreRoundAndCoverTheValues(t *testing.T) {
	tests := []struct {
		name   string
		axis   Axis
		values []float64
		want   string
	}{
		{name: "from zero to a round maximum", values: []float64{3, 72}, want: "0 20 40 60 80"},
		{name: "a wide range on an automatic axis is logarithmic", axis: Axis{Auto: true}, values: []float64{32, 1143},
			want: "20 50 100 200 500 1000 2000"},
		{name: "a narrow one is not", axis: Axis{Auto: true}, values: []float64{32, 64}, want: "0 20 40 60 80"},
		{name: "zero cannot be on a logarithmic axis", axis: Axis{Log: true}, values: []float64{0, 100},
			want: "0 20 40 60 80 100"},
		{name: "many decades have one tick each", axis: Axis{Log: true}, values: []float64{1, 100000},
			want: "1 10 100 1000 10k 100k"},
		{name: "a tight axis begins near the values", axis: Axis{Tight: true}, values: []float64{910, 1060},
			want: "900 950 1000 1050 1100"},
		{name: "small values keep their digits", values: []float64{0.0021}, want: "0 0.0005 0.001 0.0015 0.002 0.0025"},
		{name: "a fixed maximum", axis: Axis{Max: 100}, values: []float64{20}, want: "0 20 40 60 80 100"},
		{name: "only zeros", values: []float64{0, 0}, want: "0 0.2 0.4 0.6 0.8 1"},
		{name: "nothing", want: "0 0.2 0.4 0.6 0.8 1"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := newScale(0, 100, tt.axis)
			for _, v := range tt.values {
				s.include(v)
			}
			s.settle(false)
			var got []string
			for _, tick := range s.ticks() {
				got = append(got, tick.label)
			}
			if text := strings.Join(got, " "); text != tt.want {
				t.Errorf("ticks %s, want %s", text, tt.want)
			}
		})
	}
}

func TestNumber(t *testing.T) {
	for v, want := range map[float64]string{0: "0", -0.0000001: "0", 1: "1", 0.05: "0.05", 12.345: "12.3", 99.96: "100",
		123.4: "123", 9999: "9999", 12345: "12.3k", 2.5e6: "2.5M", 1000: "1000"} {
		if got := Number(v); got != want {
			t.Errorf("Number(%v) = %s, want %s", v, got, want)
		}
	}
}

func TestSVGIsWellFormedAndEscaped(t *testing.T) {
	c := Chart{Title: `<script>alert("x")</script>`, X: Axis{Label: "a & b"}, Y: Axis{Label: "<y>"},
		Series: []Series{{
			Name: `"><img>`, Class: "s1", Area: true,
			Points: []Point{{X: 1, Y: 2, Tip: "<b>", Warn: true, Label: "<i>"}, {X: 2, Y: math.MaxFloat32, Gap: true}},
		}},
		Bands: []Band{{From: 0, To: 3, Name: "<stage>&"}}}
	svg := string(c.SVG())
	for _, bad := range []string{"<script", "<img", "<b>", "<i>", "<stage>", "NaN", "Inf"} {
		if strings.Contains(svg, bad) {
			t.Errorf("%s stands in %s", bad, svg)
		}
	}
	dec := xml.NewDecoder(strings.NewReader(svg))
	for {
		if _, err := dec.Token(); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
	}
}

func TestEmpty(t *testing.T) {
	if !(&Chart{Series: []Series{{}}}).Empty() || (&Chart{Series: []Series{{Points: []Point{{}}}}}).Empty() {
		t.Error("a chart is empty when no series has a point")
	}
}
