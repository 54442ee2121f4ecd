package main

import (
	"math"
	"strings"
	"testing"
)

func TestVerdicts(t *testing.T) {
	more := figure{goal: "G1", name: "requests", unit: "/s", bound: atLeast, target: 100, ratio: 1.8}
	less := figure{goal: "G5", name: "error", unit: "µs", bound: atMost, target: 10}
	for _, row := range []struct {
		name    string
		figure  figure
		values  []value
		verdict string
		median  float64
		worst   float64
	}{
		{"the median counts, the worst is told", more, []value{{v: 90}, {v: 110}, {v: 120}}, met, 110, 90},
		{"of what should be small the largest is the worst", less, []value{{v: 9}, {v: 5}, {v: 20}}, met, 9, 20},
		{"a ratio to the floor makes up for a slow machine", more, []value{{v: 54, floor: 30}}, metByRatio, 54, 54},
		{"a ratio that is too small does not", more, []value{{v: 50, floor: 30}}, missed, 50, 50},
		{"a figure without a ratio has to reach its target", less, []value{{v: 11, floor: 100}}, missed, 11, 11},
		{"void repeats do not count", less, []value{{v: 1, void: "late"}, {v: 12}}, missed, 12, 12},
		{"the engine's limit excuses", more, []value{{v: 50, limited: true}}, metAtLimit, 50, 50},
		{"one repeat without the excuse is enough to miss", more, []value{{v: 50, limited: true}, {v: 40}}, missed, 45, 40},
		{"the target itself is met", less, []value{{v: 10}}, met, 10, 10},
	} {
		t.Run(row.name, func(t *testing.T) {
			l := judge(row.figure, row.values)
			if l.Verdict != row.verdict || *l.Median != row.median || *l.Worst != row.worst {
				t.Errorf("%s, median %v, worst %v; want %s, %v, %v",
					l.Verdict, *l.Median, *l.Worst, row.verdict, row.median, row.worst)
			}
		})
	}
}

func TestNothingMeasuredIsNoVerdict(t *testing.T) {
	f := figure{goal: "G5", name: "error", bound: atMost, target: 10}
	if l := judge(f, nil); l.Verdict != absent || l.Median != nil {
		t.Errorf("%+v", l)
	}
	if l := judge(f, []value{{v: 1, void: "late"}}); l.Verdict != "void, else met" || *l.Median != 1 ||
		l.Repeats != 0 || len(l.Notes) != 1 {
		t.Errorf("%+v", l)
	}
}

func TestStreamsWithinTheLimit(t *testing.T) {
	of := func(v level) float64 { return v.user }
	for _, row := range []struct {
		name    string
		tried   []level
		streams float64
		limited bool
		void    bool
	}{
		{"the last level within the limit counts", []level{{streams: 100, proved: true, user: 30},
			{streams: 200, proved: true, user: 2000}}, 100, false, false},
		{"where the engine fails, nothing is known of more",
			[]level{{streams: 100, proved: true, user: 30}, {streams: 200, user: 40}}, 100, true, false},
		{"the first level above the limit ends it, whatever follows",
			[]level{{streams: 100, proved: true, user: 3000}, {streams: 200, proved: true, user: 30}}, 0, false, false},
		{"an engine that is never on time proves nothing", []level{{streams: 100, user: 30}}, 0, true, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			v, known := highest(row.tried, userLimit, of)
			if !known || v.v != row.streams || v.limited != row.limited || (v.void != "") != row.void {
				t.Errorf("%+v, %v", v, known)
			}
		})
	}
	if _, known := highest([]level{{streams: 100, proved: true, user: -1}}, userLimit, of); known {
		t.Error("stamps that were not taken were judged")
	}
}

func TestTheTable(t *testing.T) {
	var out strings.Builder
	f := figure{goal: "G1", name: "requests", unit: "/s", bound: atLeast, target: 100_000, ratio: 1.8}
	print(&out, []line{judge(f, []value{{v: 54_321.9, floor: 30_000, disturbed: true, notes: []string{"slow"}}})})
	for _, want := range []string{">= 100000 /s", "54322 /s", "1.81", "met by ratio, disturbed", "G1, requests: slow"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("the table lacks %q:\n%s", want, out.String())
		}
	}
}

func TestAmounts(t *testing.T) {
	for v, want := range map[float64]string{0: "0", 0.0123456: "0.0123", 9.876: "9.88", 54.3: "54.3", 600: "600",
		100_000.4: "100000", 2: "2"} {
		if got := amount(&v, ""); got != want {
			t.Errorf("%v is written %q, want %q", v, got, want)
		}
	}
}

// TestEveryFigureHasAGroup: a figure whose goal no group measures would always say "not measured".
func TestEveryFigureHasAGroup(t *testing.T) {
	measured := map[string]bool{}
	for _, g := range groups() {
		for _, goal := range g.goals {
			measured[goal] = true
		}
	}
	seen := map[string]bool{}
	for _, f := range figures() {
		if !measured[f.goal] {
			t.Errorf("nothing measures %s", f.goal)
		}
		if seen[f.key()] {
			t.Errorf("%q is there twice", f.key())
		}
		seen[f.key()] = true
	}
	if len(measured) != 16 {
		t.Errorf("%d goals, want 16", len(measured))
	}
}

// TestTheFreezeHasAFormula: request by request the value has to be the same within half of the goal.
func TestTheFreezeHasAFormula(t *testing.T) {
	for _, limit := range []int{0, 10} {
		c := frozenCase(limit)
		want, ok := c.Formula(99)
		if got := c.TTFTIntended(99); !ok || math.Abs(float64(got)/float64(want)-1) > 0.01 {
			t.Errorf("cap %d: %v by formula (%v), %v request by request", limit, want, ok, got)
		}
	}
}
