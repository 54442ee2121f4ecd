package prompt

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"

	"bflow.dev/bflow/runplan"
)

// tokenizer counts as a server might.
type tokenizer struct {
	frame   int // around a user text
	system  int // around a system text
	letters int // longer words have two tokens; 0 = none has
	first   int // a word of more letters has one token more where no space precedes it; 0 = none has
	border  int // tokens more where a text has more than 20 words
	calls   int
}

func (k *tokenizer) count(_ context.Context, system, user string) (int, error) {
	k.calls++
	n := k.frame + k.text(user)
	if system != "" {
		n += k.system + k.text(system)
	}
	return n, nil
}

func (k *tokenizer) text(s string) int {
	words := strings.Fields(s)
	n := len(words)
	for i, w := range words {
		if k.letters > 0 && len(w) > k.letters {
			n++
		}
		if k.first > 0 && i == 0 && len(w) > k.first {
			n++
		}
	}
	if len(words) > 20 {
		n += k.border
	}
	return n
}

var errNone = errors.New("not offered")

func none(context.Context, string, string) (int, error) { return 0, errNone }

func TestPromptsHaveTheLengthThatWasAsked(t *testing.T) {
	drawn := &runplan.Length{Shape: "uniform", Min: 30, Max: 900, Mean: 400}
	prefixes := []runplan.Prefix{{Weight: 1, Count: 9, Tokens: 100}, {Weight: 1, Count: 3}}
	tests := []struct {
		name   string
		server tokenizer
		data   runplan.Data
		usage  bool // the server counts by usage alone
		want   string
		off    float64 // share by which a prompt may be off
		most   int     // calls
	}{
		{name: "a tokenizer that knows every word", server: tokenizer{frame: 7}, data: runplan.Data{Input: drawn},
			want: MethodTokenize, most: 12},
		{name: "a template around system texts too", server: tokenizer{frame: 7, system: 5},
			data: runplan.Data{Input: drawn, Prefixes: prefixes}, want: MethodTokenize, most: 14},
		{name: "words of two tokens are left out", server: tokenizer{frame: 7, letters: 4},
			data: runplan.Data{Input: drawn}, want: MethodTokenize, most: 900},
		{name: "words that cost more where no space precedes them do not come first", server: tokenizer{frame: 7,
			first: 4}, data: runplan.Data{Input: fixed(100)}, want: MethodTokenize, most: 300},
		{name: "not in system texts either", server: tokenizer{frame: 3, system: 4, first: 3},
			data: runplan.Data{Input: fixed(100), Prefixes: prefixes}, want: MethodTokenize, most: 400},
		{name: "an offset that shows in real prompts alone", server: tokenizer{frame: 7, border: 2},
			data: runplan.Data{Input: drawn}, want: MethodTokenize, most: 60},
		{name: "the usage of requests", server: tokenizer{frame: 7}, data: runplan.Data{Input: drawn}, usage: true,
			want: MethodCalibrated, most: 5},
		{name: "the usage of requests with half of the words too long: some tokens off",
			server: tokenizer{frame: 7, letters: 4}, data: runplan.Data{Input: fixed(1000)}, usage: true,
			want: MethodCalibrated, off: 0.055, most: 12},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.data.Seed = 11
			s := makeSource(t, runplan.API{Type: "chat"}, tt.data)
			by := Counters{Tokenizer: tt.server.count, Usage: none}
			if tt.usage {
				by = Counters{Tokenizer: none, Usage: tt.server.count}
			}
			c := s.Calibrate(context.Background(), by)
			if c.Method != tt.want || len(c.Checks) == 0 || len(c.Notes) > 0 || tt.server.calls > tt.most {
				t.Errorf("method %s, checks %v, notes %v, %d calls; want %s with at most %d",
					c.Method, c.Checks, c.Notes, tt.server.calls, tt.want, tt.most)
			}
			for i := range int64(300) {
				var talk Session
				talk.begin(s, Stage{Key: 5, Prefixes: tt.data.Prefixes}, i, i)
				pl := talk.plan()
				text, border := s.texts(nil, &pl)
				n, _ := tt.server.count(context.Background(), string(text[:border]), string(text[border:]))
				if off := math.Abs(float64(n)/float64(pl.inAsked) - 1); off > tt.off {
					t.Fatalf("prompt %d has %d tokens, asked %d", i, n, pl.inAsked)
				}
			}
		})
	}
}

func TestTheMostExactMethodIsTaken(t *testing.T) {
	server := &tokenizer{frame: 1}
	count := func(n int) func(context.Context, []int) (int, error) {
		return func(_ context.Context, ids []int) (int, error) { return len(ids) + n, nil }
	}
	tests := []struct {
		name string
		api  string
		data runplan.Data
		by   Counters
		want string
	}{
		{name: "token ids in completions", api: "completions", by: Counters{IDs: count(0), Tokenizer: server.count},
			want: MethodTokenIDs},
		{name: "not where the server adds to them", api: "completions",
			by: Counters{IDs: count(1), Tokenizer: server.count}, want: MethodTokenize},
		{name: "not where real answers come between", api: "completions", data: runplan.Data{Turns: 2},
			by: Counters{IDs: count(0), Usage: server.count}, want: MethodCalibrated},
		{name: "not in chats", api: "chat", by: Counters{IDs: count(0)}, want: MethodAssumed},
		{name: "texts of a file are as long as they are", api: "chat", data: runplan.Data{File: &runplan.File{}},
			by: Counters{Tokenizer: server.count}, want: MethodFile},
		{name: "a prefix before them is counted", api: "chat",
			data: runplan.Data{File: &runplan.File{}, Prefixes: []runplan.Prefix{{Weight: 1, Count: 1, Tokens: 9}}},
			by:   Counters{Tokenizer: server.count}, want: MethodTokenize},
		{name: "a server that counts nothing", api: "chat", by: Counters{Tokenizer: none, Usage: none}, want: MethodAssumed},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.data.Input = fixed(30)
			s := makeSource(t, runplan.API{Type: tt.api}, tt.data)
			if c := s.Calibrate(context.Background(), tt.by); c.Method != tt.want {
				t.Errorf("method %s, want %s", c.Method, tt.want)
			}
			if p := first(t, s, Stage{}, 0); len(p.Body) == 0 || (tt.want == MethodTokenIDs) != s.Style.IDs {
				t.Errorf("ids %v: %s", s.Style.IDs, p.Body)
			}
		})
	}
}

func TestWhatCannotBeExactIsSaid(t *testing.T) {
	odd := func(_ context.Context, _, user string) (int, error) { // counts letters, so that no number of words fits
		return 1 + len(user)*len(user)/50, nil
	}
	s := makeSource(t, runplan.API{Type: "chat"}, runplan.Data{
		Input: &runplan.Length{Shape: "uniform", Min: 100, Max: 2000, Mean: 1000},
	})
	if c := s.Calibrate(context.Background(), Counters{Usage: odd}); len(c.Notes) == 0 ||
		!strings.Contains(c.Notes[0], "tokens has") {
		t.Errorf("%+v", c)
	}
}
