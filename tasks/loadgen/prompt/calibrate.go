package prompt

import (
	"context"
	"fmt"
	"strings"
)

// Methods by which prompts get their length, from the most exact to the least.
const (
	MethodTokenIDs   = "token_ids"  // prompts are token ids
	MethodTokenize   = "tokenize"   // the server's tokenizer counted the words
	MethodCalibrated = "calibrated" // the usage of probe requests told the tokens per word
	MethodAssumed    = "assumed"    // one token per word, because the server says nothing
)

// Counter returns how many tokens the server counts for a request with a user text and, where it is not empty, a
// system text before it.
type Counter func(ctx context.Context, system, user string) (int, error)

// Calibrate finds out what the words and the frame around them cost in tokens. With refine it keeps only words of
// exactly one token, at the price of one call per word where not all are; with prefixed it counts system messages too.
func (s *Style) Calibrate(ctx context.Context, count Counter, refine, prefixed bool) error {
	two, err := count(ctx, "", join(s.Words[:2]))
	if err != nil {
		return err
	}
	all, err := count(ctx, "", join(s.Words))
	if err != nil {
		return err
	}
	s.PerWord = float64(all-two) / float64(len(s.Words)-2)
	if s.PerWord != 1 && refine {
		if two, err = s.refine(ctx, count, two); err != nil {
			return err
		}
	}
	if s.PerWord <= 0 {
		return fmt.Errorf("counting tokens: %d words have %d tokens, 2 have %d", len(s.Words), all, two)
	}
	s.Overhead = two - round(2*s.PerWord)
	if !prefixed {
		return nil
	}
	both, err := count(ctx, join(s.Words[:2]), join(s.Words[:2]))
	if err != nil {
		return err
	}
	s.System = both - two - round(2*s.PerWord)
	return nil
}

// enough words for nonces to be short.
const enough = 64

// refine keeps the words that cost one token more behind two others, if these are enough. two is the count of the first
// two words; it returns that of those which are first then.
func (s *Style) refine(ctx context.Context, count Counter, two int) (int, error) {
	var single []string
	for _, w := range s.Words {
		n, err := count(ctx, "", join(s.Words[:2])+" "+w)
		if err != nil {
			return 0, err
		}
		if n == two+1 {
			single = append(single, w)
		}
	}
	if len(single) < enough {
		return two, nil
	}
	s.Words, s.PerWord = single, 1
	return count(ctx, "", join(s.Words[:2]))
}

func join(words []string) string { return strings.Join(words, " ") }

func round(x float64) int { return int(x + 0.5) }

// Rehearsal returns a prompt like those of the load, but with an answer of one token, to try the server with.
func (s *Source) Rehearsal(number int) Prompt {
	c := &Session{Index: int64(number), source: s, stage: Stage{Key: mix(^uint64(0)), Prefixes: s.Data.Prefixes}}
	p := c.Next(nil, nil)
	p.OutAsked = 1
	p.Body = s.Style.body(nil, &c.history, 1)
	return p
}
