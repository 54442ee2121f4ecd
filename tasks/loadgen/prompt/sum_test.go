package prompt

import (
	"testing"

	"bflow.dev/bflow/runplan"
)

// sum returns the sum of two stages for a plan.
func sum(t *testing.T, model string, api runplan.API, change func(*runplan.Data)) string {
	t.Helper()
	data := runplan.Data{
		Input: fixed(40), Output: fixed(8), Seed: 1, FreshPerStage: true, Turns: 2,
		Prefixes: []runplan.Prefix{{Weight: 1, Count: 3, Tokens: 20}},
	}
	if change != nil {
		change(&data)
	}
	s, err := NewSource(model, &runplan.Measurement{API: api, Data: data})
	if err != nil {
		t.Fatal(err)
	}
	return s.Sum([]Stage{s.Stage(0, 0, 0, runplan.Stage{}), s.Stage(0, 0, 1, runplan.Stage{})})
}

func TestTheSumNamesWhatIsSaid(t *testing.T) {
	chat := runplan.API{Type: runplan.APIChat, Stream: true, ExactOutput: true}
	base := sum(t, "m", chat, nil)
	same := []struct {
		name string
		got  string
	}{
		{"the same once more", sum(t, "m", chat, nil)},
		{"Triton, by another name", sum(t, "ensemble", runplan.API{Type: runplan.APITriton}, nil)},
		{"Anthropic's messages",
			sum(t, "claude", runplan.API{Type: runplan.APIMessages, Body: map[string]any{"top_p": 0.5}}, nil)},
		{"adapters draw the model, not the text",
			sum(t, "m", runplan.API{Type: runplan.APIChat, Adapters: []runplan.Adapter{{Name: "a", Weight: 1}}}, nil)},
	}
	for _, tt := range same {
		if tt.got != base {
			t.Errorf("%s: %s, want %s", tt.name, tt.got, base)
		}
	}
	other := []struct {
		name   string
		change func(*runplan.Data)
	}{
		{"another seed", func(d *runplan.Data) { d.Seed++ }},
		{"longer prompts", func(d *runplan.Data) { d.Input = fixed(41) }},
		{"longer answers", func(d *runplan.Data) { d.Output = fixed(9) }},
		{"another prefix", func(d *runplan.Data) { d.Prefixes[0].Tokens = 21 }},
		{"fewer prefixes", func(d *runplan.Data) { d.Prefixes[0].Count = 2 }},
		{"no prefix", func(d *runplan.Data) { d.Prefixes = nil }},
		{"one turn more", func(d *runplan.Data) { d.Turns = 3 }},
		{"fewer conversations", func(d *runplan.Data) { d.Conversations = 5 }},
		{"the same prompts in every stage", func(d *runplan.Data) { d.FreshPerStage = false }},
		{"an image", func(d *runplan.Data) { d.Images = &runplan.Images{Count: 1, Width: 4, Height: 4} }},
	}
	seen := map[string]string{base: "the base"}
	for _, tt := range other {
		got := sum(t, "m", chat, tt.change)
		if was := seen[got]; was != "" {
			t.Errorf("%s has the sum of %s", tt.name, was)
		}
		seen[got] = tt.name
	}
}

func TestTheSumDoesNotDependOnWhatWasMadeBefore(t *testing.T) {
	s := makeSource(t, runplan.API{Type: "chat"}, runplan.Data{Input: fixed(40), Seed: 1})
	before := s.Sum([]Stage{{}})
	for i := int64(3); i < 900; i += 7 { // a shard of the load
		first(t, s, Stage{}, i)
	}
	if after := s.Sum([]Stage{{}}); after != before {
		t.Errorf("%s became %s", before, after)
	}
}

func TestLongPromptsDoNotMakeTheSumSlow(t *testing.T) {
	s := makeSource(t, runplan.API{Type: "chat"}, runplan.Data{Input: fixed(50000), Seed: 1})
	s.Prepare()
	w := sumWriter{Hash: nowhere{}}
	w.stage(s, Stage{})
	if w.size < sumBytes || w.size > 2*sumBytes {
		t.Errorf("%d bytes were summed", w.size)
	}
}

// nowhere is a hash of nothing.
type nowhere struct{}

func (nowhere) Write(p []byte) (int, error) { return len(p), nil }
func (nowhere) Sum(b []byte) []byte         { return b }
func (nowhere) Reset()                      {}
func (nowhere) Size() int                   { return 0 }
func (nowhere) BlockSize() int              { return 1 }
