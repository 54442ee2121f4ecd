package prompt

import (
	"strings"
	"testing"

	"bflow.dev/bflow/runplan"
)

// scripted are the rows of a test: of each conversation its turns.
type scripted [][]TurnSpec

func (s scripted) Turn(session int64, turn int) (TurnSpec, bool) {
	if session >= int64(len(s)) || turn >= len(s[session]) {
		return TurnSpec{}, false
	}
	t := s[session][turn]
	t.Last = turn+1 == len(s[session])
	return t, true
}

func (s scripted) Alone() bool { return true }

// asked returns the words, or ids, of the prompt of a completion.
func asked(t *testing.T, body []byte) []string {
	t.Helper()
	_, text, ok := strings.Cut(string(body), `"prompt":`)
	if !ok {
		t.Fatalf("no prompt in %s", body)
	}
	return strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(` ,"[]}`, r) })
}

// common counts the words that two prompts have in common at their start.
func common(a, b []string) int {
	n := 0
	for n < min(len(a), len(b)) && a[n] == b[n] {
		n++
	}
	return n
}

func TestEqualBlocksAreEqualPrefixes(t *testing.T) {
	rows := scripted{
		{{In: 1200, Out: 3, Blocks: []uint64{1, 2, 3}}},
		{{In: 1500, Blocks: []uint64{1, 2, 4}}},
		{{In: 1100, Blocks: []uint64{1, 2, 3}}},
		{{In: 1200, Blocks: []uint64{5, 2, 3}}},
		{{In: 1200, Blocks: []uint64{1, 2}}},
		{{In: 1200, Blocks: []uint64{1, 2}}},
		{{In: 300}},
	}
	for _, ids := range []bool{false, true} {
		s := makeSource(t, runplan.API{Type: "completions"}, runplan.Data{Seed: 9, Output: fixed(8)})
		s.Rows, s.Style.IDs = rows, ids
		var texts [][]string
		for i, row := range rows {
			p := first(t, s, s.Stage(0, 0, i, runplan.Stage{}), int64(i))
			texts = append(texts, asked(t, p.Body))
			if len(texts[i]) != row[0].In || p.InAsked != int64(row[0].In) {
				t.Errorf("row %d: %d words, %d asked, want %d", i, len(texts[i]), p.InAsked, row[0].In)
			}
			if want := map[bool]int64{true: 3, false: 8}[i == 0]; p.OutAsked != want {
				t.Errorf("row %d: %d tokens of answer asked, want %d", i, p.OutAsked, want)
			}
		}
		for _, tt := range []struct {
			name    string
			a, b, n int
		}{
			{"two of three blocks", 0, 1, 1024},
			{"the rest of a block is its start", 0, 2, 1100},
			{"another first block", 0, 3, 0},
			{"what no block covers is unique", 4, 5, 1024},
		} {
			if n := common(texts[tt.a], texts[tt.b]); n != tt.n {
				t.Errorf("ids %v: %s: %d common tokens, want %d", ids, tt.name, n, tt.n)
			}
		}
		if _, ok := s.Session(Stage{}, int64(len(rows))); ok {
			t.Error("a conversation beyond the rows")
		}
	}
}

func TestRecordedAnswersAreTheHistory(t *testing.T) {
	s := makeSource(t, runplan.API{Type: "chat"}, runplan.Data{Turns: 3})
	s.Rows = scripted{{{Text: "one \"1\"", Answer: "was \"recorded\" so"}, {Text: "two", Out: 4}, {Text: "three"}}}
	c, ok := s.Session(Stage{}, 0)
	if !ok {
		t.Fatal("no conversation")
	}
	a := c.Next(nil, nil)
	b := c.Next(nil, []byte("real"))
	d := c.Next(nil, []byte("said really"))
	for _, tt := range []struct {
		p    Prompt
		want string
		out  int64
		last bool
	}{
		{a, `[{"role":"user","content":"one \"1\""}]}`, 3, false},
		{b, `[{"role":"user","content":"one \"1\""},{"role":"assistant","content":"was \"recorded\" so"},` +
			`{"role":"user","content":"two"}]}`, 4, false},
		{d, `{"role":"user","content":"two"},{"role":"assistant","content":"said really"},{"role":"user",` +
			`"content":"three"}]}`, -1, true},
	} {
		if !strings.HasSuffix(string(tt.p.Body), tt.want) || tt.p.OutAsked != tt.out || tt.p.Last != tt.last ||
			tt.p.InAsked != -1 {
			t.Errorf("asked %d and %d, last %v: %s\nwant %s", tt.p.InAsked, tt.p.OutAsked, tt.p.Last, tt.p.Body, tt.want)
		}
	}
}

func TestBlocksReplaceTheHistory(t *testing.T) {
	s := makeSource(t, runplan.API{Type: "completions"}, runplan.Data{})
	s.Rows = scripted{{{In: 600, Blocks: []uint64{1, 2}}, {In: 1000, Blocks: []uint64{1, 2}}}}
	c, _ := s.Session(Stage{}, 0)
	a := asked(t, c.Next(nil, nil).Body)
	p := c.Next(nil, []byte("an answer"))
	if b := asked(t, p.Body); len(b) != 1000 || common(a, b) != 600 || p.InAsked != 1000 {
		t.Errorf("the second turn has %d words, %d of them in common with the first", len(b), common(a, b))
	}
}

func TestThePlaceOfAConversationDecidesAlone(t *testing.T) {
	data := runplan.Data{
		Input:  &runplan.Length{Shape: "uniform", Min: 10, Max: 90, Mean: 50},
		Output: &runplan.Length{Shape: "normal", Mean: 9, Stdev: 3, Max: 20}, Turns: 2, Seed: 5, FreshPerStage: true,
	}
	a, b := makeSource(t, runplan.API{Type: "chat"}, data), makeSource(t, runplan.API{Type: "chat"}, data)
	st := a.Stage(0, 1, 2, runplan.Stage{Rate: 5})
	var want []string
	for i := range int64(50) {
		c, _ := a.Session(st, i)
		want = append(want, string(c.Next(nil, nil).Body)+string(c.Next(nil, []byte("x")).Body))
	}
	var buf []byte
	for i := int64(49); i >= 0; i-- { // in another order, with one buffer, at another rate
		c, _ := b.Session(b.Stage(0, 1, 2, runplan.Stage{Rate: 99}), i)
		buf = c.Next(buf, nil).Body
		got := string(buf)
		buf = c.Next(buf, []byte("x")).Body
		if got += string(buf); got != want[i] {
			t.Fatalf("conversation %d differs", i)
		}
		b.Recycle(c)
	}
}

func TestARehearsalWarmsNoCache(t *testing.T) {
	s := makeSource(t, runplan.API{Type: "completions"}, runplan.Data{
		Seed: 9, Output: fixed(8), Input: fixed(50), Prefixes: []runplan.Prefix{{Weight: 1, Count: 1, Tokens: 600}},
	})
	if a, b := s.Rehearsal(0), first(t, s, Stage{Prefixes: s.Data.Prefixes}, 0); common(asked(t, a.Body),
		asked(t, b.Body)) > 1 || a.OutAsked != 1 || a.InAsked != b.InAsked {
		t.Errorf("a prefix is rehearsed as it is sent: %s", a.Body)
	}
	s.Rows = scripted{{{In: 1200, Blocks: []uint64{1, 2, 3}}}}
	if a, b := s.Rehearsal(3),
		first(t, s, Stage{}, 0); common(asked(t, a.Body), asked(t, b.Body)) > 1 || a.InAsked != 1200 {
		t.Errorf("blocks are rehearsed as they are sent: %d tokens asked", a.InAsked)
	}
}

func TestRecordedMessagesAreSentAsTheyAre(t *testing.T) {
	const one, two = `[{"role":"system","content":"s"},{"role":"user","content":[{"type":"text","text":"a"}]}]`,
		`[{"role":"user","content":"b"}]`
	for kind, field := range map[string]string{runplan.APIChat: "messages", runplan.APIResponses: "input",
		runplan.APIMessages: "messages"} {
		s := makeSource(t, runplan.API{Type: kind}, runplan.Data{
			Output: fixed(5), Prefixes: []runplan.Prefix{{Weight: 1, Count: 1, Tokens: 9}},
		})
		if !s.Messages() {
			t.Fatalf("%s takes no messages", kind)
		}
		s.Rows = scripted{{{Messages: one}, {Messages: two, Out: 3}}}
		before := s.Sum([]Stage{{}})
		c, _ := s.Session(Stage{Prefixes: s.Data.Prefixes}, 0)
		a, b := c.Next(nil, nil), c.Next(nil, []byte("answer"))
		if !strings.HasSuffix(string(a.Body), `:5,"`+field+`":`+one+"}") || !strings.HasSuffix(string(b.Body),
			`:3,"`+field+`":`+two+"}") || a.InAsked != -1 || a.Hash == b.Hash || !b.Last || a.Bucket != -1 {
			t.Errorf("%s: %s and %s", kind, a.Body, b.Body)
		}
		s.Rows = scripted{{{Messages: one}, {Messages: one, Out: 3}}}
		if s.Sum([]Stage{{}}) == before {
			t.Errorf("%s: other messages have the same sum", kind)
		}
	}
	if makeSource(t, runplan.API{Type: runplan.APITriton}, runplan.Data{}).Messages() {
		t.Error("Triton takes messages")
	}
}
