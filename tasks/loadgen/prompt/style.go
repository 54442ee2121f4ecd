package prompt

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"bflow.dev/bflow/tasks/runplan"
)

// Style is how prompts are written for one server: as token ids or as words, and in which body.
type Style struct {
	Chat  bool     // the content is a list of messages
	Field string   // of the body that holds the content
	IDs   bool     // prompts are lists of token ids; completions only
	Words []string // each is one token behind a space; at least two

	PerWord  float64 // tokens per word
	Overhead int     // tokens that the server adds to a prompt without a system message
	System   int     // tokens that a system message adds beside its text

	LengthKeys []string // names of the answer's length in the body
	Exact      bool     // ask for exactly so many tokens

	fixed []byte // body up to the fields that change, without the closing brace
	given map[string]bool
}

// Token ids of random prompts: no server's special tokens lie here, and every vocabulary in use is larger.
const (
	firstID = 1_000
	lastID  = 30_000
)

// NewStyle returns the style for the body of api, before the server has been asked anything.
func NewStyle(model string, api runplan.API) (Style, error) {
	s := Style{Words: Words(), PerWord: 1, Exact: api.ExactOutput}
	body := s.frame(model, api)
	s.given = map[string]bool{}
	for key, value := range api.Body {
		if key == s.Field || key == "stream" {
			return Style{}, fmt.Errorf("load.api.body.%s belongs to the generator and cannot be set", key)
		}
		body[key] = merged(body[key], value)
		s.given[key] = true
	}
	text, err := json.Marshal(body)
	if err != nil {
		return Style{}, fmt.Errorf("encoding load.api.body: %w", err)
	}
	s.fixed = text[:len(text)-1]
	return s, nil
}

// frame sets what depends on the kind of the API and returns the fields that every request has.
func (s *Style) frame(model string, api runplan.API) map[string]any {
	body := map[string]any{"model": model}
	switch api.Type {
	case runplan.APIEmbeddings:
		s.Field, s.Exact = "input", false
		return body
	case runplan.APIResponses:
		s.Chat, s.Field, s.LengthKeys = true, "input", []string{"max_output_tokens"}
	case runplan.APIMessages:
		s.Chat, s.Field, s.LengthKeys = true, "messages", []string{"max_tokens"}
	case runplan.APIChat:
		s.Chat, s.Field, s.LengthKeys = true, "messages", []string{"max_completion_tokens", "max_tokens"}
	default:
		s.Field, s.LengthKeys = "prompt", []string{"max_tokens"}
	}
	body["stream"], body["temperature"] = api.Stream, 0
	if api.Stream && (api.Type == runplan.APIChat || api.Type == runplan.APICompletions) {
		body["stream_options"] = map[string]any{"include_usage": true}
	}
	return body
}

// merged returns value over base, key by key where both are objects.
func merged(base, value any) any {
	under, ok1 := base.(map[string]any)
	over, ok2 := value.(map[string]any)
	if !ok1 || !ok2 {
		return value
	}
	out := maps.Clone(under)
	for k, v := range over {
		out[k] = merged(out[k], v)
	}
	return out
}

// overhead is what the server adds to the text of a turn.
func (s *Style) overhead(turn int) int {
	if s.IDs || turn > 0 {
		return 0
	}
	return s.Overhead
}

// words returns the text of n tokens, or with IDs their list, beginning with the nonce where it is not 0.
func (s *Style) words(d draw, nonce uint64, n int) []byte {
	rng := d.rng(purposeWords)
	if s.IDs {
		return appendIDs(nil, nonce, n, rng.Uint64)
	}
	n = max(1, int(math.Round(float64(n)/s.PerWord)))
	size := uint64(len(s.Words))
	text := make([]byte, 0, 6*n)
	for i := range n {
		if i > 0 {
			text = append(text, ' ')
		}
		if nonce > 0 {
			text = append(text, s.Words[nonce%size]...)
			nonce = rest(nonce/size, i)
			continue
		}
		text = append(text, s.Words[rng.Uint64N(size)]...)
	}
	return text
}

// nonceTokens is how many tokens a nonce takes: enough for any count of requests with a few hundred words.
const nonceTokens = 5

// rest returns what is left of a nonce behind its token i, 0 when it is used up.
func rest(nonce uint64, i int) uint64 {
	if i+1 >= nonceTokens {
		return 0
	}
	return max(nonce, 1)
}

func appendIDs(b []byte, nonce uint64, n int, random func() uint64) []byte {
	const span = lastID - firstID
	for i := range n {
		if i > 0 {
			b = append(b, ',')
		}
		v := random()
		if nonce > 0 {
			v = nonce
			nonce = rest(nonce/span, i)
		}
		b = strconv.AppendUint(b, firstID+v%span, 10)
	}
	return b
}

// body appends the whole body of a request.
func (s *Style) body(b []byte, h *history, out int64) []byte {
	b = append(slices.Grow(b, len(s.fixed)+h.size()+160), s.fixed...)
	if out > 0 {
		for _, key := range s.LengthKeys {
			b = s.number(b, key, out)
		}
		if s.Exact {
			b = s.number(b, "min_tokens", out)
			if !s.given["ignore_eos"] {
				b = append(b, `,"ignore_eos":true`...)
			}
		}
	}
	return append(h.encode(b, s), '}')
}

func (s *Style) number(b []byte, key string, n int64) []byte {
	if s.given[key] {
		return b
	}
	b = append(append(append(b, `,"`...), key...), `":`...)
	return strconv.AppendInt(b, n, 10)
}
