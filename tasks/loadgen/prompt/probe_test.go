package prompt

import (
	"strings"
	"testing"

	"bflow.dev/bflow/runplan"
)

func TestCountsAreReadInEveryShape(t *testing.T) {
	tests := []struct {
		name   string
		read   func([]byte) (int, error)
		answer string
		want   int // 0 = an error
	}{
		{"usage of a chat", UsageOf, `{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":1}}`, 9},
		{"usage of a response or a message", UsageOf, `{"usage":{"input_tokens":8,"output_tokens":1}}`, 8},
		{"Triton", UsageOf, `{"text_output":"a","num_input_tokens":7,"num_output_tokens":1}`, 7},
		{"TGI", UsageOf, `{"generated_text":"a","details":{"generated_tokens":1,"input_length":6}}`, 6},
		{"no usage", UsageOf, `{"choices":[]}`, 0},
		{"no JSON", UsageOf, `<html>`, 0},
		{"vLLM's tokenizer", CountOf, `{"count":5,"max_model_len":100,"tokens":[1,2,3,4,5]}`, 5},
		{"TGI's tokenizer", CountOf, `[{"id":1,"text":"a","start":0,"stop":1},{"id":2}]`, 2},
		{"no token", CountOf, `[]`, 0},
		{"no count", CountOf, `{"error":"x"}`, 0},
		{"a page", CountOf, `<html>`, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if n, err := tt.read([]byte(tt.answer)); n != tt.want || (err != nil) != (tt.want == 0) {
				t.Errorf("%d, error %v, want %d", n, err, tt.want)
			}
		})
	}
}

func TestTokenizersAreAskedInTheirWords(t *testing.T) {
	for kind, want := range map[string]string{
		runplan.APIChat:        `{"messages":[{"content":"s","role":"system"},{"content":"u","role":"user"}],"model":"m"}`,
		runplan.APICompletions: `{"model":"m","prompt":"s u"}`,
		runplan.APITGI:         `{"inputs":"s u"}`,
	} {
		s, err := NewStyle("m", runplan.API{Type: kind})
		if err != nil {
			t.Fatal(err)
		}
		if got, err := s.Tokenize("s", "u"); string(got) != want || err != nil {
			t.Errorf("%s: %s, error %v, want %s", kind, got, err, want)
		}
	}
	s, _ := NewStyle("m", runplan.API{
		Type: runplan.APICompletions, Stream: true, ExactOutput: true,
		Body: map[string]any{"top_p": 0.5, "stream_options": map[string]any{"x": true}},
	})
	if got, err := s.ProbeIDs([]int{7, 8}); string(got) != `{"model":"m","stream":false,"temperature":0,"top_p":0.5,`+
		`"max_tokens":1,"prompt":[7,8]}` || err != nil {
		t.Errorf("probe of ids: %s, error %v", got, err)
	}
	if len(s.heads) != 1 || !strings.Contains(string(s.heads[0].text), `"stream":true`) || !s.Exact {
		t.Error("a probe changed the style")
	}
}
