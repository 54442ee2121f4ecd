package prompt

import (
	"context"
	"testing"

	"bflow.dev/bflow/runplan"
)

func TestPromptsInTextFormAreTheSameForChatAndCompletions(t *testing.T) {
	data := runplan.Data{
		Seed: 11, Input: &runplan.Length{Shape: "uniform", Min: 30, Max: 300, Mean: 165},
		Prefixes: []runplan.Prefix{{Weight: 1, Count: 4, Tokens: 100}},
	}
	prompts := func(api string, server *tokenizer) (all []string) {
		s := makeSource(t, runplan.API{Type: api, PromptForm: runplan.PromptText}, data)
		ids := func(_ context.Context, ids []int) (int, error) { return len(ids), nil }
		if c := s.Calibrate(context.Background(),
			Counters{IDs: ids, Tokenizer: server.count}); c.Method != MethodTokenize || len(c.Notes) > 0 {
			t.Errorf("%s: method %s, notes %v", api, c.Method, c.Notes)
		}
		for i := range int64(50) {
			var talk Session
			talk.begin(s, Stage{Key: 5, Prefixes: data.Prefixes}, i, i)
			pl := talk.plan()
			text, border := s.texts(nil, &pl)
			if n, _ := server.count(context.Background(), string(text[:border]), string(text[border:])); int64(n) != pl.inAsked {
				t.Fatalf("%s: prompt %d has %d tokens, asked %d", api, i, n, pl.inAsked)
			}
			all = append(all, string(text))
		}
		return all
	}
	chat := prompts(runplan.APIChat, &tokenizer{frame: 20, system: 5, letters: 6})
	completions := prompts(runplan.APICompletions, &tokenizer{frame: 1, letters: 6})
	for i := range chat {
		if chat[i] != completions[i] {
			t.Fatalf("prompt %d:\nchat        %s\ncompletions %s", i, chat[i], completions[i])
		}
	}
}
