package prompt

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"bflow.dev/bflow/runplan"
)

func makeSource(t *testing.T, api runplan.API, data runplan.Data) *Source {
	t.Helper()
	s, err := NewSource("m", &runplan.Measurement{API: api, Data: data})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func first(t *testing.T, s *Source, st Stage, index int64) Prompt {
	t.Helper()
	c, ok := s.Session(st, index)
	if !ok {
		t.Fatalf("no conversation %d", index)
	}
	return c.Next(nil, nil)
}

func fixed(n int) *runplan.Length { return &runplan.Length{Shape: "fixed", Mean: float64(n)} }

func TestBodies(t *testing.T) {
	chat := runplan.API{Type: "chat", Stream: true, ExactOutput: true}
	tests := []struct {
		name string
		api  runplan.API
		data runplan.Data
		has  []string
		not  []string
	}{
		{name: "an exact answer forbids an early end", api: chat, data: runplan.Data{Input: fixed(3), Output: fixed(7)},
			has: []string{`"max_tokens":7`, `"max_completion_tokens":7`, `"min_tokens":7`, `"ignore_eos":true`,
				`"include_usage":true`}},
		{name: "without a length the server decides", api: chat, data: runplan.Data{Input: fixed(3)},
			not: []string{"max_tokens", "min_tokens", "ignore_eos"}},
		{name: "the plan's body wins",
			api: runplan.API{Type: "chat", Stream: true, ExactOutput: true, Body: map[string]any{
				"max_tokens": 5, "temperature": 0.7, "stream_options": map[string]any{"continuous_usage_stats": true}}},
			data: runplan.Data{Input: fixed(3), Output: fixed(7)}, has: []string{`"max_tokens":5`, `"temperature":0.7`,
				`"continuous_usage_stats":true,"include_usage":true`}, not: []string{`"max_tokens":7`}},
		{name: "a prefix is a system message before the user's", api: chat,
			data: runplan.Data{Input: fixed(3), Prefixes: []runplan.Prefix{{Weight: 1, Count: 1, Tokens: 4}}},
			has:  []string{`"messages":[{"role":"system","content":"`, `{"role":"user","content":"`}},
		{name: "completions hold one text", api: runplan.API{Type: "completions"}, data: runplan.Data{Input: fixed(3)},
			has: []string{`"prompt":"`, `"stream":false`}, not: []string{"stream_options"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			body := string(first(t, makeSource(t, tt.api, tt.data), Stage{Prefixes: tt.data.Prefixes}, 0).Body)
			if !json.Valid([]byte(body)) {
				t.Fatalf("no JSON: %s", body)
			}
			for _, want := range tt.has {
				if !strings.Contains(body, want) {
					t.Errorf("%s lacks %s", body, want)
				}
			}
			for _, want := range tt.not {
				if strings.Contains(body, want) {
					t.Errorf("%s holds %s", body, want)
				}
			}
		})
	}
}

func TestPromptsAreUnique(t *testing.T) {
	for _, ids := range []bool{false, true} {
		s := makeSource(t, runplan.API{Type: "completions"}, runplan.Data{Input: fixed(40), Seed: 1, FreshPerStage: true})
		s.Style.IDs = ids
		starts, wholes := map[string]int{}, map[string]bool{}
		for stage := range 3 {
			st := s.Stage(0, 0, stage, runplan.Stage{})
			for i := range int64(2000) {
				p := first(t, s, st, i)
				_, text, _ := strings.Cut(string(p.Body), `"prompt":`)
				wholes[text] = true
				starts[strings.Join(strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == ',' })[:5], " ")]++
			}
		}
		if len(wholes) != 6000 || len(starts) != 6000 {
			t.Errorf("ids %v: %d different prompts and %d different starts of five tokens, want 6000",
				ids, len(wholes), len(starts))
		}
	}
}

func TestStagesWithoutFreshContentRepeat(t *testing.T) {
	for _, fresh := range []bool{false, true} {
		s := makeSource(t, runplan.API{Type: "chat"}, runplan.Data{Input: fixed(40), Seed: 1, FreshPerStage: fresh})
		a := first(t, s, s.Stage(0, 0, 0, runplan.Stage{}), 3)
		b := first(t, s, s.Stage(0, 1, 2, runplan.Stage{}), 3)
		if (a.Hash != b.Hash) != fresh {
			t.Errorf("fresh %v: prompts %x and %x", fresh, a.Hash, b.Hash)
		}
	}
}

func TestAnswersAreEscaped(t *testing.T) {
	s := makeSource(t, runplan.API{Type: "chat"}, runplan.Data{Input: fixed(3), Turns: 2})
	c, _ := s.Session(Stage{}, 0)
	c.Next(nil, nil)
	answer := []byte("\"é\\\n\x01 </s>")
	p := c.Next(nil, answer)
	copy(answer, "overwritten")
	var body struct {
		Messages []struct{ Role, Content string }
	}
	if err := json.Unmarshal(p.Body, &body); err != nil {
		t.Fatal(err)
	}
	if len(body.Messages) != 3 || body.Messages[1].Role != "assistant" ||
		body.Messages[1].Content != "\"é\\\n\x01 </s>" || !p.Last || p.InAsked != -1 {
		t.Errorf("turn 2: %+v, last %v", body.Messages, p.Last)
	}
}

// framed counts like a server that adds 7 tokens to a user text and 5 more for a system message, and makes two tokens
// of words that are longer than so many letters.
func framed(letters int) Counter {
	return func(_ context.Context, system, user string) (int, error) {
		n := 7
		if system != "" {
			n += 5
		}
		for _, w := range strings.Fields(system + " " + user) {
			n++
			if len(w) > letters {
				n++
			}
		}
		return n, nil
	}
}

func TestCalibration(t *testing.T) {
	tests := []struct {
		name    string
		count   Counter
		refine  bool
		perWord float64
		words   int
	}{
		{name: "words of one token each are all kept", count: framed(100), refine: true, perWord: 1, words: len(Words())},
		{name: "longer words are left out", count: framed(4), refine: true, perWord: 1, words: shortWords(4)},
		{name: "without a tokenizer the mean is taken", count: framed(4),
			perWord: 1 + float64(len(Words())-shortWords(4))/float64(len(Words())-2), words: len(Words())},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s, err := NewStyle("m", runplan.API{Type: "chat"})
			if err != nil {
				t.Fatal(err)
			}
			if err := s.Calibrate(context.Background(), tt.count, tt.refine, true); err != nil {
				t.Fatal(err)
			}
			if math.Abs(s.PerWord-tt.perWord) > 0.01 || s.Overhead != 7 && tt.refine || s.System != 5 && tt.refine ||
				len(s.Words) != tt.words {
				t.Errorf("per word %v, overhead %d, system %d, %d words; want %v, 7, 5, %d",
					s.PerWord, s.Overhead, s.System, len(s.Words), tt.perWord, tt.words)
			}
		})
	}
	s, _ := NewStyle("m", runplan.API{Type: "chat"})
	if err := s.Calibrate(context.Background(),
		func(context.Context, string, string) (int, error) { return 0, fmt.Errorf("no") }, true, true); err == nil {
		t.Error("a counter that fails is no error")
	}
}

func shortWords(letters int) int {
	n := 0
	for _, w := range Words() {
		if len(w) <= letters {
			n++
		}
	}
	return n
}

func TestLengthsFollowTheirDistribution(t *testing.T) {
	tests := []struct {
		name      string
		l         runplan.Length
		low, high int
		mean      float64
	}{
		{name: "fixed", l: runplan.Length{Shape: "fixed", Mean: 128}, low: 128, high: 128, mean: 128},
		{name: "uniform integers with both ends", l: runplan.Length{Shape: "uniform", Min: 10, Max: 12, Mean: 11},
			low: 10, high: 12, mean: 11},
		{name: "normal is clamped", l: runplan.Length{Shape: "normal", Mean: 100, Stdev: 50, Min: 80, Max: 120},
			low: 80, high: 120, mean: 100},
		{name: "the mean of lognormal is that of the lengths", l: runplan.Length{Shape: "lognormal", Mean: 200,
			Stdev: 100, Min: 1, Max: 100000}, low: 1, high: 100000, mean: 200},
		{name: "no length is below one", l: runplan.Length{Shape: "normal", Mean: 1, Stdev: 5}, low: 1, high: 100, mean: 2.9},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			sum := 0.0
			for i := range int64(20000) {
				n := newDraw(1, 2, i, 0).length(purposeInput, &tt.l)
				if n < tt.low || n > tt.high {
					t.Fatalf("length %d outside [%d, %d]", n, tt.low, tt.high)
				}
				sum += float64(n) / 20000
			}
			if sum < 0.97*tt.mean || sum > 1.03*tt.mean {
				t.Errorf("mean %v, want %v", sum, tt.mean)
			}
		})
	}
}

func TestBucketsAreDrawnByWeight(t *testing.T) {
	buckets := []runplan.Prefix{{Weight: 1, Count: 2}, {Weight: 3, Count: 5}}
	counts, seen := [2]int{}, map[[2]int]bool{}
	for i := range int64(20000) {
		b, k := newDraw(1, 2, i, 0).prefix(buckets)
		counts[b]++
		seen[[2]int{b, k}] = true
	}
	if share := float64(counts[1]) / 20000; share < 0.73 || share > 0.77 || len(seen) != 7 {
		t.Errorf("share of the second bucket %v, %d prefixes seen, want 0.75 and 7", share, len(seen))
	}
}
