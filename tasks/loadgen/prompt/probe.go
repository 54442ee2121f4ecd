package prompt

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"bflow.dev/bflow/runplan"
)

// errNoCount is an answer without a token count.
var errNoCount = errors.New("the server gives no token count")

// Probe returns the body of a request with these texts that asks for one token in one answer, to have its prompt
// counted: UsageOf reads the answer. system may be empty.
func (s *Style) Probe(system, user string) ([]byte, error) {
	plain := *s
	plain.IDs = false
	l, err := plain.probe()
	if err != nil {
		return nil, err
	}
	b := l.start(nil, -1, -1, 1)
	open := l.open
	if system != "" {
		if !l.outside {
			b, open = append(b, l.open...), l.between
		}
		b = append(appendJSONString(append(b, l.system.before...), system), l.system.after...)
	}
	b = append(append(b, open...), l.user.before...)
	return append(append(appendJSONString(b, user), l.user.after...), l.end...), nil
}

// ProbeIDs is Probe of a prompt of token ids.
func (s *Style) ProbeIDs(ids []int) ([]byte, error) {
	plain := *s
	plain.IDs = true
	l, err := plain.probe()
	if err != nil {
		return nil, err
	}
	list := strings.Trim(strings.Join(strings.Fields(fmt.Sprint(ids)), ","), "[]")
	return append(append(append(l.start(nil, -1, -1, 1), l.open...), list...), l.end...), nil
}

// probe returns the layout of a request that is answered whole and may end early.
func (s *Style) probe() (layout, error) {
	h, err := s.head("", false)
	if err != nil {
		return layout{}, err
	}
	s.heads, s.Exact = []head{h}, false
	return s.layout(), nil
}

// UsageOf returns the prompt tokens that the answer to a probe counts, in the words of any of the APIs.
func UsageOf(answer []byte) (int, error) {
	var a struct {
		Usage struct {
			Prompt int `json:"prompt_tokens"`
			Input  int `json:"input_tokens"`
		} `json:"usage"`
		NumInput int `json:"num_input_tokens"` // Triton
		Details  struct {
			Input int `json:"input_length"`
		} `json:"details"` // TGI
	}
	if err := json.Unmarshal(answer, &a); err != nil {
		return 0, fmt.Errorf("reading the answer to a probe: %w", err)
	}
	n := max(a.Usage.Prompt, a.Usage.Input, a.NumInput, a.Details.Input)
	if n <= 0 {
		return 0, errNoCount
	}
	return n, nil
}

// Tokenize returns the body for POST /tokenize, whose answer CountOf reads: as vLLM wants it, or TGI. With messages
// the server's chat template is counted.
func (s *Style) Tokenize(system, user string) ([]byte, error) {
	whole := strings.TrimSpace(system + " " + user)
	body := map[string]any{"model": s.model, "prompt": whole}
	switch {
	case s.api.Type == runplan.APITGI:
		body = map[string]any{"inputs": whole}
	case s.Chat:
		messages := []map[string]string{{"role": "user", "content": user}}
		if system != "" {
			messages = append([]map[string]string{{"role": "system", "content": system}}, messages...)
		}
		body = map[string]any{"model": s.model, "messages": messages}
	}
	return json.Marshal(body)
}

// CountOf returns the tokens that an answer of /tokenize counts: an object with a count, or a list of tokens.
func CountOf(answer []byte) (int, error) {
	var list []json.RawMessage
	if err := json.Unmarshal(answer, &list); err == nil {
		if len(list) == 0 {
			return 0, errNoCount
		}
		return len(list), nil
	}
	var a struct {
		Count int `json:"count"`
	}
	if err := json.Unmarshal(answer, &a); err != nil {
		return 0, fmt.Errorf("reading the answer of the tokenizer: %w", err)
	}
	if a.Count <= 0 {
		return 0, errNoCount
	}
	return a.Count, nil
}
