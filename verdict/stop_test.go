package verdict

import (
	"math"
	"strings"
	"testing"

	"bflow.dev/bflow/runplan"
)

func rule(kind string, numbers map[string]float64) []runplan.StopRule {
	return []runplan.StopRule{{Kind: kind, Numbers: numbers}}
}

func TestStopByErrors(t *testing.T) {
	tests := []struct {
		name  string
		rules []runplan.StopRule
		ends  string // . ok, x failed
		at    int    // place of the end that stops the stage, -1 = none does
	}{
		{name: "no rule stops nothing", ends: "xxxxxxxx", at: -1},
		{name: "the third error stops", rules: rule(StopMaxErrors, map[string]float64{"count": 3}), ends: "x.x..x", at: 5},
		{name: "too few errors do not", rules: rule(StopMaxErrors, map[string]float64{"count": 3}), ends: "x.x.....", at: -1},
		{name: "the rate of the last requests counts once there are enough",
			rules: rule(StopMaxErrorRate, map[string]float64{"rate": 0.5, "window": 4}), ends: "xx..xx", at: -1 + 5},
		{name: "old errors leave the window",
			rules: rule(StopMaxErrorRate, map[string]float64{"rate": 0.5, "window": 4}), ends: ".x...x...x..", at: -1},
		{name: "the window is thirty unless it is set", rules: rule(StopMaxErrorRate, map[string]float64{"rate": 0.1}),
			ends: strings.Repeat("x", 40), at: 29},
		{name: "the global rate waits for its minimum",
			rules: rule(StopMaxGlobalErrorRate, map[string]float64{"rate": 0.5, "minimum": 6}), ends: "xxxxxx", at: 5},
		{name: "the global rate remembers everything", rules: rule(StopMaxGlobalErrorRate,
			map[string]float64{"rate": 0.5, "minimum": 2}), ends: "....xxx", at: -1},
		{name: "of several rules the first that holds stops",
			rules: append(rule(StopMaxErrors, map[string]float64{"count": 9}),
				rule(StopMaxErrors, map[string]float64{"count": 1})...), ends: ".x", at: 1},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, at := NewStop(tt.rules), -1
			for i, end := range tt.ends {
				if s.Ended(end == 'x') != "" {
					at = i
					break
				}
			}
			if at != tt.at {
				t.Errorf("stopped at %d, want %d", at, tt.at)
			}
		})
	}
}

// overload tells a Stop of a server whose requests in flight and times to first token grow by so much per second.
func overload(rules []runplan.StopRule, inFlight, ttft float64) (*Stop, string, float64) {
	s := NewStop(rules)
	for at := 1.0; at < 300; at++ {
		wobble := math.Sin(at * 7)
		s.FirstToken(at, 1+ttft*at+0.05*wobble)
		if kind := s.InFlight(at, 10+inFlight*at+wobble); kind != "" {
			return s, kind, at
		}
	}
	return s, "", 0
}

func TestStopBySaturation(t *testing.T) {
	rules := rule(StopOverSaturation, nil)
	tests := []struct {
		name     string
		inFlight float64
		ttft     float64
		stops    bool
	}{
		{name: "both rise: it stops", inFlight: 2, ttft: 0.2, stops: true},
		{name: "a steady server goes on", inFlight: 0, ttft: 0},
		{name: "more in flight at the same latency goes on", inFlight: 2, ttft: 0},
		{name: "rising latency below 2.5 s goes on", inFlight: 2, ttft: 0.001},
		{name: "a server that recovers goes on", inFlight: -0.01, ttft: 0.2},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, kind, at := overload(rules, tt.inFlight, tt.ttft)
			if (kind == StopOverSaturation) != tt.stops || s.Saturated() != tt.stops || tt.stops && (at < 30 || at > 90) {
				t.Errorf("stopped by %q at %v s", kind, at)
			}
		})
	}
}

func TestMonitoringSaturationStopsNothing(t *testing.T) {
	rules := rule(StopOverSaturation, nil)
	rules[0].Mode = "monitor"
	if s, kind, _ := overload(rules, 2, 0.2); kind != "" || !s.Saturated() {
		t.Errorf("stopped by %q, seen %v", kind, s.Saturated())
	}
}

func TestAScopeOfAllSkipsTheRest(t *testing.T) {
	rules := []runplan.StopRule{{Kind: StopMaxErrors, Scope: "all"}, {Kind: StopMaxErrorRate}}
	for kind, want := range map[string]bool{StopMaxErrors: true, StopMaxErrorRate: false, "duration": false} {
		if SkipsRest(rules, kind) != want {
			t.Errorf("a stage that ended by %s: skips the rest %v, want %v", kind, !want, want)
		}
	}
}

func TestANilStopHasNoRules(t *testing.T) {
	var s *Stop
	s.FirstToken(1, 1)
	if s.Ended(true) != "" || s.InFlight(1, 1) != "" || s.Saturated() {
		t.Error("it stopped something")
	}
}

func TestStudentT(t *testing.T) {
	for df, want := range map[float64]float64{3: 3.182, 5: 2.571, 10: 2.228, 30: 2.042, 1000: 1.962} {
		if got := studentT(0.95, df); math.Abs(got/want-1) > 0.015 {
			t.Errorf("%v degrees of freedom: %v, want %v", df, got, want)
		}
	}
}
