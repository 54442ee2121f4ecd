package search

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"bflow.dev/bflow/runplan"
)

// server is a model of one under load: the share of good requests falls from base around its capacity.
type server struct {
	capacity float64 // where half of base is good
	width    float64 // of the fall, relative to the capacity; 0 = a step at the capacity
	base     float64
	seconds  float64 // of a level
	drift    float64 // relative standard deviation of the capacity from one measurement to the next
	client   float64 // the load from which the client is the limit; 0 = none
	rng      *rand.Rand
}

func (s *server) share(v, capacity float64) float64 {
	if s.width == 0 {
		if v <= capacity {
			return s.base
		}
		return 0
	}
	return s.base / (1 + math.Exp((v-capacity)/(s.width*capacity)))
}

// holds returns the load at which the share is the target.
func (s *server) holds(target float64) float64 {
	if s.width == 0 {
		return s.capacity
	}
	return s.capacity * (1 + s.width*math.Log(s.base/target-1))
}

func (s *server) measure(l Level) Outcome {
	if s.client > 0 && l.Value >= s.client {
		return Outcome{Invalid: true, Reason: "client_limited", Good: 1000, Of: 1000}
	}
	capacity := s.capacity * (1 + s.drift*s.rng.NormFloat64())
	o := Outcome{Of: int64(l.Value * s.seconds * float64(l.Stretch))}
	p := s.share(l.Value, capacity)
	for range o.Of {
		if s.rng.Float64() < p {
			o.Good++
		}
	}
	return o
}

// search runs a search against s to its end.
func run(t testing.TB, plan runplan.Search, s *server) Result {
	t.Helper()
	search, err := New(plan)
	if err != nil {
		t.Fatal(err)
	}
	for {
		l, ok := search.Next()
		if !ok {
			return search.Result()
		}
		if again, _ := search.Next(); again != l {
			t.Fatalf("asked twice, the search wants %+v and %+v", l, again)
		}
		if l.Value < plan.Low || l.Value > plan.High || l.Stretch < 1 || l.Stretch > maxStretch {
			t.Fatalf("the search wants %+v", l)
		}
		if plan.Over == runplan.SearchConcurrency && l.Value != math.Trunc(l.Value) {
			t.Fatalf("the search wants concurrency %v", l.Value)
		}
		search.Report(l, s.measure(l))
		if len(search.Result().Trials) > 200 {
			t.Fatal("the search does not end")
		}
	}
}

func random(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }

// upper is the end of the bracket above the answer.
func (r Result) upper() float64 {
	switch {
	case r.Failed != nil:
		return *r.Failed
	case r.Invalid != nil:
		return *r.Invalid
	}
	return math.Inf(1)
}

func TestASharpCapacityIsAlwaysFound(t *testing.T) {
	for seed := range uint64(300) {
		rng := random(seed)
		low := math.Exp(rng.Float64()*6 - 2)
		plan := runplan.Search{Goodput: 0.5 + 0.49*rng.Float64(), Low: low, High: low * math.Exp(0.1+5*rng.Float64())}
		s := &server{capacity: plan.Low + rng.Float64()*(plan.High-plan.Low), base: 1, seconds: 1 + 1000/low, rng: rng}
		r := run(t, plan, s)
		if r.Ended == EndedHighPasses && s.capacity >= plan.High {
			continue
		}
		if r.Ended != EndedFound || *r.Value > s.capacity || *r.Failed < s.capacity || *r.Failed > *r.Value*1.05000001 {
			t.Fatalf("seed %d: capacity %v in [%v, %v]: %s, %s", seed, s.capacity, plan.Low, plan.High, r.Ended, r.Conclusion)
		}
	}
}

// counts sums up many searches.
type counts struct{ found, held, most, all int }

func many(t *testing.T, plan runplan.Search, s server, seeds int) counts {
	var c counts
	for seed := range seeds {
		s.rng = random(uint64(seed))
		s.capacity = 80 * (1 + 0.5*s.rng.Float64())
		r := run(t, plan, &s)
		c.all++
		c.most = max(c.most, len(r.Trials))
		if r.Ended == EndedFound {
			c.found++
			if truth := s.holds(plan.Goodput); *r.Value <= truth && truth <= *r.Failed {
				c.held++
			}
		}
	}
	return c
}

func TestTheBracketHoldsTheCapacityOfANoisyServer(t *testing.T) {
	tests := []struct {
		name    string
		plan    runplan.Search
		server  server
		held    float64 // least share of the answers whose bracket holds the truth
		most    int     // measurements
		unfound int     // of 200
	}{
		{name: "a steep fall", plan: runplan.Search{Goodput: 0.95, Low: 4, High: 500},
			server: server{width: 0.02, base: 1, seconds: 30}, held: 0.97, most: 24},
		{name: "a gentle fall, where levels near the target look alike",
			plan:   runplan.Search{Goodput: 0.9, Low: 4, High: 500},
			server: server{width: 0.15, base: 1, seconds: 30}, held: 0.95, most: 30},
		{name: "some requests are bad at every load", plan: runplan.Search{Goodput: 0.9, Low: 4, High: 500},
			server: server{width: 0.03, base: 0.96, seconds: 30}, held: 0.95, most: 30, unfound: 2},
		{name: "short levels", plan: runplan.Search{Goodput: 0.9, Low: 10, High: 500},
			server: server{width: 0.05, base: 1, seconds: 4}, held: 0.95, most: 30},
		{name: "three repeats", plan: runplan.Search{Goodput: 0.95, Low: 4, High: 500, Repeats: 3},
			server: server{width: 0.02, base: 1, seconds: 30}, held: 0.97, most: 32},
		{name: "concurrency",
			plan:   runplan.Search{Goodput: 0.95, Low: 1, High: 512, Over: runplan.SearchConcurrency, Tolerance: 0.1},
			server: server{width: 0.03, base: 1, seconds: 20}, held: 0.95, most: 30},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c := many(t, tt.plan, tt.server, 200)
			if c.all-c.found > tt.unfound {
				t.Errorf("%d of %d searches have no answer", c.all-c.found, c.all)
			}
			if share := float64(c.held) / float64(c.found); share < tt.held {
				t.Errorf("%.3f of the brackets hold the capacity, want %v", share, tt.held)
			}
			if c.most > tt.most {
				t.Errorf("a search took %d measurements, want %d at most", c.most, tt.most)
			}
			t.Logf("%+v", c)
		})
	}
}

func TestAServerThatChangesEndsTheSearchToo(t *testing.T) {
	for seed := range uint64(300) {
		s := &server{capacity: 100, width: 0.02, base: 1, seconds: 30, drift: 0.2, rng: random(seed)}
		r := run(t, runplan.Search{Goodput: 0.95, Low: 3, High: 1000, Repeats: 2}, s)
		if r.Ended == "" || r.Value == nil && r.Ended != EndedLowFails && r.Ended != EndedLimit {
			t.Fatalf("seed %d: %s, %s", seed, r.Ended, r.Conclusion)
		}
	}
}

func TestAServerThatChangesALittleMovesTheAnswerALittle(t *testing.T) {
	near, all := 0, 0
	for seed := range uint64(200) {
		s := &server{capacity: 70 + float64(seed)/5, width: 0.02, base: 1, seconds: 30, drift: 0.02, rng: random(seed)}
		r := run(t, runplan.Search{Goodput: 0.95, Low: 3, High: 1000}, s)
		all++
		if r.Value != nil && math.Abs(*r.Value/s.holds(0.95)-1) < 0.1 {
			near++
		}
	}
	if share := float64(near) / float64(all); share < 0.95 {
		t.Errorf("%.3f of the answers are within 10 %% of a capacity that varies by 2 %%", share)
	}
}

func TestAResultIsWrittenAndReadAgain(t *testing.T) {
	r := run(t, runplan.Search{Goodput: 0.9, Low: 10, High: 1000}, &server{
		capacity: 170, base: 1, seconds: 30, client: 300, rng: random(1),
	})
	b, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	var again Result
	if err := json.Unmarshal(b, &again); err != nil || !reflect.DeepEqual(r, again) {
		t.Errorf("%v: %+v, want %+v", err, again, r)
	}
	if !strings.Contains(string(b), `"trials":[{"value":10,"stretch":1,"step":"double","good":300,"of":300}`) {
		t.Errorf("%s", b)
	}
}

func TestASearchThatWasCutOffGoesOn(t *testing.T) {
	plan := runplan.Search{Goodput: 0.9, Low: 10, High: 1000}
	whole := run(t, plan, &server{capacity: 170, width: 0.05, base: 1, seconds: 30, rng: random(1)})
	words := []string{}
	for n := range whole.Trials {
		s, err := New(plan)
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range whole.Trials[:n] {
			s.Report(x.Level, x.Outcome)
		}
		if next, ok := s.Next(); !ok || next != whole.Trials[n].Level || s.Most() < len(whole.Trials) {
			t.Fatalf("after %d trials it wants %+v, not %+v", n, next, whole.Trials[n].Level)
		}
		if r := s.Result(); r.Ended != "" || !slices.Contains(words, r.Conclusion) {
			words = append(words, r.Ended+r.Conclusion)
		}
	}
	want := []string{
		"not finished: no load was seen to hold 90 % good requests yet",
		"not finished: 10 requests/s holds 90 % good requests, and nothing was seen to fail yet",
	}
	if !slices.Equal(words[:2], want) ||
		!strings.Contains(words[len(words)-1], "not finished: the limit for 90 % good requests lies between") {
		t.Errorf("%q", words)
	}
}

func TestAnAnswerTakesTheStepsThatTheWordsPromise(t *testing.T) {
	r := run(t, runplan.Search{Goodput: 0.9, Low: 10, High: 1000}, &server{
		capacity: 90, base: 1, seconds: 30, rng: random(1),
	})
	var got []string
	for _, x := range r.Trials {
		got = append(got, fmt.Sprintf("%s %g", x.Step, x.Value))
	}
	want := []string{"double 10", "double 20", "double 40", "double 80", "double 160", "bisect 120", "bisect 100",
		"bisect 90", "bisect 95", "bisect 92.5",
		"repeat 90", "repeat 92.5", "repeat 80"}
	if !slices.Equal(got, want) {
		t.Errorf("steps %q\nwant  %q", got, want)
	}
	if r.Conclusion != "90 requests/s holds 90 % good requests, 92.5 requests/s does not" ||
		!strings.Contains(r.Confidence, "6 of 6") {
		t.Errorf("%q, %q", r.Conclusion, r.Confidence)
	}
}

func TestASearchSaysWhyItHasNoAnswer(t *testing.T) {
	tests := []struct {
		name   string
		plan   runplan.Search
		server server
		ended  string
		value  float64 // 0 = none
		want   string
	}{
		{name: "the lowest load already fails", plan: runplan.Search{Goodput: 0.9, Low: 10, High: 100},
			server: server{capacity: 5, base: 1, seconds: 30},
			ended:  EndedLowFails, want: "10 requests/s, the lowest load of the search, does not hold 90 % good requests"},
		{name: "the highest load still passes", plan: runplan.Search{Goodput: 0.9, Low: 10, High: 100},
			server: server{capacity: 500, base: 1, seconds: 30},
			ended:  EndedHighPasses, value: 100, want: "raise high"},
		{name: "too few requests to pass", plan: runplan.Search{Goodput: 0.99, Low: 10, High: 30},
			server: server{capacity: 500, base: 1, seconds: 3},
			ended:  EndedLowUnresolved, want: "takes at least 381 requests, all of them good"},
		{name: "the client is the limit", plan: runplan.Search{Goodput: 0.9, Low: 10, High: 1000},
			server: server{capacity: 500, base: 1, seconds: 30, client: 200},
			ended:  EndedInvalid, value: 195, want: "the measurement at 200 requests/s cannot be believed " +
				"(client_limited), so nothing from there on is known: give the client more CPU"},
		{name: "the client is the limit above the answer", plan: runplan.Search{Goodput: 0.9, Low: 10, High: 1000},
			server: server{capacity: 170, base: 1, seconds: 30, client: 300},
			ended:  EndedFound, value: 170, want: "holds 90 % good requests"},
		{name: "the client is the limit at once", plan: runplan.Search{Goodput: 0.9, Low: 10, High: 1000},
			server: server{capacity: 500, base: 1, seconds: 30, client: 2},
			ended:  EndedInvalid, want: "no load was measured that can be believed"},
		{name: "the server is as good as the target at every load", plan: runplan.Search{Goodput: 0.9, Low: 10,
			High: 1000}, server: server{capacity: 5000, base: 0.9, seconds: 30},
			ended: EndedLowUnresolved, want: "could not be told"},
		{name: "whole concurrencies next to each other",
			plan:   runplan.Search{Goodput: 0.9, Low: 1, High: 64, Over: runplan.SearchConcurrency},
			server: server{capacity: 7, base: 1, seconds: 100}, ended: EndedFound, value: 7,
			want: "concurrency 7 holds 90 % good requests, concurrency 8 does not"},
		{name: "a single load", plan: runplan.Search{Goodput: 0.9, Low: 10, High: 10},
			server: server{capacity: 50, base: 1, seconds: 30}, ended: EndedHighPasses, value: 10},
		{name: "every request good", plan: runplan.Search{Goodput: 1, Low: 10, High: 100},
			server: server{capacity: 50, base: 1, seconds: 30}, ended: EndedFound, value: 50},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.server.rng = random(3)
			r := run(t, tt.plan, &tt.server)
			if r.Ended != tt.ended || !strings.Contains(r.Conclusion, tt.want) {
				t.Errorf("ended %s: %s\nwant %s: %s", r.Ended, r.Conclusion, tt.ended, tt.want)
			}
			switch {
			case tt.value == 0 && r.Value != nil:
				t.Errorf("value %v, want none", *r.Value)
			case tt.value > 0 && (r.Value == nil || *r.Value > tt.value || r.upper() <= tt.value || *r.Value < tt.value/1.05):
				t.Errorf("value %v, want %v (upper %v)", r.Value, tt.value, r.upper())
			}
		})
	}
}

// script answers levels by hand.
func script(t *testing.T, plan runplan.Search, answer func(l Level, nth int) Outcome) Result {
	t.Helper()
	s, err := New(plan)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[float64]int{}
	for l, ok := s.Next(); ok; l, ok = s.Next() {
		s.Report(l, answer(l, seen[l.Value]))
		seen[l.Value]++
	}
	return s.Result()
}

func TestARepeatTakesALuckyAnswerBack(t *testing.T) {
	r := script(t, runplan.Search{Goodput: 0.9, Low: 10, High: 100}, func(l Level, nth int) Outcome {
		if l.Value <= 40 || l.Value < 50 && nth == 0 { // between 40 and 50 only the first measurement is good
			return Outcome{Good: 1000, Of: 1000}
		}
		return Outcome{Good: 300, Of: 1000}
	})
	if r.Ended != EndedFound || *r.Value < 40 || *r.Value > 42 || *r.Failed > 43 {
		t.Errorf("%s: %s", r.Ended, r.Conclusion)
	}
}

func TestARepeatThatDisagreesIsSaid(t *testing.T) {
	r := script(t, runplan.Search{Goodput: 0.9, Low: 10, High: 100, Tolerance: 2}, func(l Level, _ int) Outcome {
		switch {
		case l.Step == StepRepeat && l.Value == 40:
			return Outcome{Good: 850, Of: 1000}
		case l.Value <= 40:
			return Outcome{Good: 1000, Of: 1000}
		}
		return Outcome{Of: 1000}
	})
	if *r.Value != 40 || !strings.Contains(r.Confidence, "5 of 6 measurements") ||
		!strings.Contains(r.Confidence, "differ") {
		t.Errorf("%v: %s", *r.Value, r.Confidence)
	}
}

func TestAnInvalidRepeatIsLeftOut(t *testing.T) {
	r := script(t, runplan.Search{Goodput: 0.9, Low: 10, High: 100}, func(l Level, _ int) Outcome {
		if l.Value <= 40 {
			return Outcome{Good: 1000, Of: 1000, Invalid: l.Step == StepRepeat}
		}
		return Outcome{Of: 1000}
	})
	if r.Ended != EndedFound || *r.Value != 40 || !strings.Contains(r.Confidence, "left out") {
		t.Errorf("%s: %s (%s)", r.Ended, r.Conclusion, r.Confidence)
	}
}

func TestWhatCannotBeSearchedIsAnError(t *testing.T) {
	good := runplan.Search{Goodput: 0.9, Low: 1, High: 10}
	tests := []struct {
		name   string
		change func(*runplan.Search)
		want   string
	}{
		{name: "low above high", change: func(s *runplan.Search) { s.Low = 11 }, want: "0 < low <= high"},
		{name: "no low", change: func(s *runplan.Search) { s.Low = 0 }, want: "0 < low <= high"},
		{name: "no whole number between",
			change: func(s *runplan.Search) { s.Low, s.High, s.Over = 3.1, 3.9, runplan.SearchConcurrency },
			want:   "0 < low <= high"},
		{name: "no target", change: func(s *runplan.Search) { s.Goodput = 0 }, want: "not above 0"},
		{name: "a target in per cent", change: func(s *runplan.Search) { s.Goodput = 95 }, want: "up to 1"},
		{name: "a negative tolerance", change: func(s *runplan.Search) { s.Tolerance = -1 }, want: "tolerance of -1"},
		{name: "an unknown axis", change: func(s *runplan.Search) { s.Over = "users" }, want: `"users"`},
	}
	for _, tt := range tests {
		plan := good
		tt.change(&plan)
		if _, err := New(plan); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: error %v, want %q", tt.name, err, tt.want)
		}
	}
}

func TestTheKneeLiesBetweenTheLastThatKeptUpAndTheNext(t *testing.T) {
	tests := []struct {
		name       string
		stages     []Point
		last, next int
		none       bool
	}{
		{name: "the third falls behind", stages: []Point{{10, 10}, {20, 19.1}, {30, 25}, {40, 26}}, last: 1, next: 2},
		{name: "stages in any order, closed loops between",
			stages: []Point{{40, 26}, {0, 99}, {10, 10}, {30, 25}, {20, 20}}, last: 4, next: 3},
		{name: "one that fell behind by chance is forgiven",
			stages: []Point{{10, 10}, {20, 15}, {30, 30}, {40, 26}}, last: 2, next: 3},
		{name: "more than was offered is kept up", stages: []Point{{10, 12}, {20, 5}}, last: 0, next: 1},
		{name: "all kept up: the last two", stages: []Point{{10, 10}, {20, 20}, {30, 30}}, last: 1, next: 2},
		{name: "a single stage that kept up", stages: []Point{{0, 30}, {10, 10}}, none: true},
		{name: "none kept up", stages: []Point{{10, 5}, {20, 6}}, none: true},
		{name: "nothing was offered", stages: []Point{{0, 5}}, none: true},
	}
	for _, tt := range tests {
		last, next, ok := Knee(tt.stages)
		if ok == tt.none || ok && (last != tt.last || next != tt.next) {
			t.Errorf("%s: %d, %d, %v", tt.name, last, next, ok)
		}
	}
}

func TestRatesOfASweep(t *testing.T) {
	stages := []Point{{0, 5}, {0, 45}, {15, 15}, {25, 25}, {35, 30}, {45, 31}}
	tests := []struct {
		name    string
		between runplan.Between
		want    float64
		err     string
	}{
		{name: "a quarter of the way", between: runplan.Between{Low: 0, High: 1, Fraction: 0.25}, want: 15},
		{name: "the middle of the knee", between: runplan.Between{Low: 2, High: 5, Fraction: 0.5, Knee: true}, want: 30},
		{name: "the knee of stages that all kept up",
			between: runplan.Between{Low: 2, High: 3, Fraction: 0.5, Knee: true}, want: 20},
		{name: "no knee where none kept up", between: runplan.Between{Low: 4, High: 5, Fraction: 0.5, Knee: true},
			err: "none of them kept up"},
		{name: "a stage that has not run", between: runplan.Between{Low: 0, High: 6}, err: "only 6 have run"},
		{name: "nothing was reached", between: runplan.Between{Low: 0, High: 0, Fraction: 0}, want: 5},
	}
	for _, tt := range tests {
		got, err := Rate(tt.between, stages)
		if tt.err != "" && (err == nil || !strings.Contains(err.Error(), tt.err)) ||
			tt.err == "" && (err != nil || math.Abs(got-tt.want) > 1e-9) {
			t.Errorf("%s: %v, %v", tt.name, got, err)
		}
	}
}
