package prompt

import (
	"context"
	"fmt"
	"math"
	"slices"
)

// Proof by prompts as they will be sent.
const (
	proofSearched = 64   // first conversations, of which the shortest and the longest prompt are counted
	proofMore     = 9    // every so many of the others too, where counting is cheap
	proofCheap    = 4096 // tokens
	proofOff      = 0.02 // share by which a count may differ before the tokens per word are corrected
)

// prove counts prompts of the planned lengths and corrects the style until they are as long as asked, or as near as
// it gets.
func (s *Source) prove(ctx context.Context, method string, count Counter) Calibration {
	out := Calibration{Method: method}
	var err error
	for range 3 {
		s.Prepare()
		if out.Checks, err = s.check(ctx, count, method == MethodTokenize); err != nil {
			out.Notes = append(out.Notes, fmt.Sprintf("prompts of the planned lengths could not be counted: %v", err))
			return out
		}
		if done, err := s.correct(ctx, count, out.Checks, method == MethodTokenize && s.Style.PerWord == 1); done ||
			err != nil {
			break
		}
	}
	for _, c := range out.Checks {
		if c.off() > proofOff {
			out.Notes = append(out.Notes, fmt.Sprintf("a prompt of %d tokens has %d by the server's count", c.Asked, c.Counted))
		}
	}
	return out
}

func (c Check) off() float64 { return math.Abs(float64(c.Counted-c.Asked)) / float64(max(1, c.Asked)) }

// correct changes the style by what the checks tell; true when there was nothing to change.
func (s *Source) correct(ctx context.Context, count Counter, checks []Check, exact bool) (done bool, err error) {
	done = true
	for _, prefixed := range []bool{false, true} {
		low, high, worst := spread(checks, prefixed)
		switch {
		case low == 0 && high == 0:
			continue
		case s.Style.isText():
			s.correctFrame(low, high, prefixed)
			continue
		case low == high && prefixed:
			s.Style.System += low
		case low == high:
			s.Style.Overhead += low
		case exact && len(s.Style.Leads) == 0:
			if err := s.Style.findLead(ctx, count); err != nil {
				return false, err
			}
			if len(s.Style.Leads) == 0 {
				continue
			}
		case worst > proofOff:
			s.Style.PerWord *= ratio(checks)
		default:
			continue
		}
		done = false
	}
	return done, nil
}

// correctFrame is correct for prompts in text form: the words stay as they are.
func (s *Source) correctFrame(low, high int, prefixed bool) {
	switch {
	case low != high:
	case prefixed:
		s.Style.SystemFrame += low
	default:
		s.Style.Frame += low
	}
}

// spread returns the smallest and the largest difference of the checks with or without a prefix, and the largest share.
func spread(checks []Check, prefixed bool) (low, high int, worst float64) {
	first := true
	for _, c := range checks {
		if c.prefixed != prefixed {
			continue
		}
		d := c.Counted - c.Asked
		if first {
			low, high, first = d, d, false
		}
		low, high, worst = min(low, d), max(high, d), max(worst, c.off())
	}
	return low, high, worst
}

// ratio is how many tokens were counted per token asked.
func ratio(checks []Check) float64 {
	asked, counted := 0, 0
	for _, c := range checks {
		asked, counted = asked+c.Asked, counted+c.Counted
	}
	return float64(max(1, counted)) / float64(max(1, asked))
}

// check counts the shortest and the longest prompts of the first conversations, with and without a shared prefix.
func (s *Source) check(ctx context.Context, count Counter, more bool) ([]Check, error) {
	var out []Check
	for _, number := range s.proofs(more) {
		c, _ := s.rehearse(number)
		pl := c.plan()
		text, border := s.texts(nil, &pl)
		n, err := count(ctx, string(text[:border]), string(text[border:]))
		if err != nil {
			return nil, err
		}
		out = append(out, Check{Asked: int(pl.inAsked), Counted: n, prefixed: pl.prefixTokens > 0})
	}
	return out, nil
}

// extreme holds the numbers of the conversations with the shortest and the longest first prompts.
type extreme struct {
	seen             bool
	low, high        int // numbers
	shortest, length int // tokens
}

func (e *extreme) add(number, tokens int) {
	if !e.seen || tokens < e.shortest {
		e.low, e.shortest = number, tokens
	}
	if !e.seen || tokens >= e.length { // of equal ones the last: another prompt than the shortest
		e.high, e.length = number, tokens
	}
	e.seen = true
}

// proofs returns the numbers of the conversations to be counted.
func (s *Source) proofs(more bool) []int {
	var (
		kinds [2]extreme // without, with a shared prefix
		out   []int
	)
	for number := range proofSearched {
		c, ok := s.rehearse(number)
		if !ok {
			break
		}
		pl := c.plan()
		if pl.tokens <= 0 || pl.inAsked < 0 {
			continue // a text of a file, an image, or less than what the server adds
		}
		kind := 0
		if pl.prefixTokens > 0 {
			kind = 1
		}
		kinds[kind].add(number, int(pl.inAsked))
		if more && number%proofMore == 1 && pl.inAsked <= proofCheap {
			out = append(out, number)
		}
	}
	for _, e := range kinds {
		if e.seen {
			out = append(out, e.low, e.high)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}
