package prompt

import (
	"fmt"
	"strings"
	"testing"

	"bflow.dev/bflow/runplan"
)

// numbered is a source whose rows have a text.
type numbered string

func (n numbered) Turn(int64, int) (TurnSpec, bool) {
	return TurnSpec{Text: string(n), Last: true}, true
}

var kinds = []struct {
	name string
	api  runplan.API
	data runplan.Data
	rows Rows
	ids  bool
}{
	{name: "chat of 190 words, 1 kB", data: runplan.Data{Input: fixed(190), Output: fixed(16)}},
	{name: "chat with lengths drawn",
		data: runplan.Data{Input: &runplan.Length{Shape: "normal", Mean: 190, Stdev: 20, Max: 300},
			Output: &runplan.Length{Shape: "lognormal", Mean: 16, Stdev: 5, Max: 40}}},
	{name: "chat with a shared prefix", data: runplan.Data{Input: fixed(190), Output: fixed(16),
		Prefixes: []runplan.Prefix{{Weight: 1, Count: 10, Tokens: 1000}}}},
	{name: "chat with adapters and priorities",
		api: runplan.API{Adapters: []runplan.Adapter{{Name: "a", Weight: 1}, {Name: "b", Weight: 1}},
			Priorities: []runplan.Weight{{Value: 1, Weight: 1}}}, data: runplan.Data{Input: fixed(190)}},
	{name: "chat of three turns", data: runplan.Data{Input: fixed(190), Output: fixed(16), Turns: 3}},
	{name: "token ids", api: runplan.API{Type: "completions"},
		data: runplan.Data{Input: fixed(190), Output: fixed(16)}, ids: true},
	{name: "50 000 words, 270 kB", data: runplan.Data{Input: fixed(50000), Output: fixed(16)}},
	{name: "text of a file, 1 kB", data: runplan.Data{Output: fixed(16)},
		rows: numbered(strings.Repeat("all is \"well\" ", 72))},
	{name: "ascii text of a file, 1 kB", data: runplan.Data{Output: fixed(16)},
		rows: numbered(strings.Repeat("all is well, so ", 64))},
}

func kind(t testing.TB, i int) *Source {
	k := kinds[i]
	if k.api.Type == "" {
		k.api.Type = "chat"
	}
	k.api.Stream, k.api.ExactOutput, k.data.Seed = true, true, 7
	s, err := NewSource("m", &runplan.Measurement{API: k.api, Data: k.data})
	if err != nil {
		t.Fatal(err)
	}
	s.Rows, s.Style.IDs = k.rows, k.ids
	s.Prepare()
	return s
}

// converse makes every turn of one conversation.
func converse(s *Source, st Stage, index int64, buf []byte) []byte {
	c, _ := s.Session(st, index)
	for {
		p := c.Next(buf, []byte("an answer\nof two lines"))
		buf = p.Body
		if p.Last {
			s.Recycle(c)
			return buf
		}
	}
}

func TestMakingPromptsAllocatesNothing(t *testing.T) {
	for i, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			s := kind(t, i)
			st := s.Stage(0, 0, 0, runplan.Stage{})
			buf := make([]byte, 0, 1<<20)
			for index := range int64(100) {
				buf = converse(s, st, index, buf)
			}
			index := int64(100)
			if n := testing.AllocsPerRun(500, func() { buf = converse(s, st, index, buf); index++ }); n != 0 {
				t.Errorf("%v allocations per conversation", n)
			}
		})
	}
}

func BenchmarkNext(b *testing.B) {
	for i, k := range kinds {
		b.Run(strings.ReplaceAll(k.name, " ", "_"), func(b *testing.B) {
			s := kind(b, i)
			st := s.Stage(0, 0, 0, runplan.Stage{})
			var buf []byte
			b.ReportAllocs()
			for index := int64(0); b.Loop(); index++ {
				buf = converse(s, st, index, buf)
			}
			b.SetBytes(int64(len(buf)))
		})
	}
}

func BenchmarkPrepare(b *testing.B) {
	for b.Loop() {
		kind(b, 0)
	}
}

func BenchmarkSum(b *testing.B) {
	s := kind(b, 0)
	for b.Loop() {
		_ = s.Sum([]Stage{{}, {Key: 1}})
	}
}

func ExampleSession_Next() {
	s, _ := NewSource("m", &runplan.Measurement{
		API: runplan.API{Type: "chat"}, Data: runplan.Data{Input: fixed(6), Output: fixed(2)},
	})
	c, _ := s.Session(Stage{}, 0)
	fmt.Println(strings.ReplaceAll(string(c.Next(nil, nil).Body), `,"`, ",\n\""))
	// Output:
	// {"model":"m",
	// "stream":false,
	// "temperature":0,
	// "max_completion_tokens":2,
	// "max_tokens":2,
	// "messages":[{"role":"user",
	// "content":"about of east cat fast them"}]}
}
