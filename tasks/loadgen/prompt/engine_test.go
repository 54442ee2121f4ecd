package prompt

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"testing"

	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/sim"
)

// asker asks the simulated engine.
type asker struct{ url string }

func (a asker) post(path string, body []byte) ([]byte, error) {
	resp, err := http.Post(a.url+path, "application/json", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("HTTP %d: %s", resp.StatusCode, text)
	}
	return text, err
}

// counters are the ways of the engine to count, its tokenizer only where it may be asked.
func (a asker) counters(s *Source, path string, tokenizer bool) Counters {
	by := Counters{Usage: func(_ context.Context, system, user string) (int, error) {
		body, err := s.Style.Probe(system, user)
		if err != nil {
			return 0, err
		}
		answer, err := a.post(path, body)
		if err != nil {
			return 0, err
		}
		return UsageOf(answer)
	}}
	if tokenizer {
		by.Tokenizer = func(_ context.Context, system, user string) (int, error) {
			body, err := s.Style.Tokenize(system, user)
			if err != nil {
				return 0, err
			}
			answer, err := a.post("/tokenize", body)
			if err != nil {
				return 0, err
			}
			return CountOf(answer)
		}
	}
	return by
}

// TestTheEngineCountsWhatWasAsked sends prompts through every API, with shared prefixes and without.
func TestTheEngineCountsWhatWasAsked(t *testing.T) {
	engine, err := sim.Listen(sim.Config{Models: []string{"m"}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { engine.Close() })
	ask := asker{engine.URL()}
	for _, api := range []struct{ kind, path string }{
		{runplan.APIChat, "/v1/chat/completions"}, {runplan.APICompletions, "/v1/completions"},
		{runplan.APIResponses, "/v1/responses"},
		{runplan.APIMessages, "/v1/messages"}, {runplan.APIEmbeddings, "/v1/embeddings"},
		{runplan.APITriton, "/v2/models/m/generate"},
	} {
		for _, tokenizer := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, tokenizer %v", api.kind, tokenizer), func(t *testing.T) {
				data := runplan.Data{Input: &runplan.Length{Shape: "uniform", Min: 20, Max: 300, Mean: 160},
					Output: fixed(2), Seed: 3,
					Prefixes: []runplan.Prefix{{Weight: 1, Count: 3, Tokens: 64}, {Weight: 1}}}
				s := makeSource(t, runplan.API{Type: api.kind}, data)
				if c := s.Calibrate(context.Background(), ask.counters(s, api.path, tokenizer)); len(c.Checks) == 0 ||
					len(c.Notes) > 0 {
					t.Fatalf("calibration %+v", c)
				}
				prefixed := 0
				for i := range int64(20) {
					p := first(t, s, Stage{Key: 1, Prefixes: data.Prefixes}, i)
					answer, err := ask.post(api.path, p.Body)
					if err != nil {
						t.Fatalf("%v to %s", err, p.Body)
					}
					if n, err := UsageOf(answer); err != nil || int64(n) != p.InAsked {
						t.Fatalf("prompt %d has %d tokens, asked %d, error %v", i, n, p.InAsked, err)
					}
					if p.Bucket == 0 {
						prefixed++
					}
				}
				if prefixed == 0 || prefixed == 20 {
					t.Errorf("%d of 20 prompts have a prefix", prefixed)
				}
			})
		}
	}
}
