package prompt

import (
	"context"
	"fmt"
	"strings"

	"bflow.dev/bflow/runplan"
)

// Methods by which prompts get their length, from the most exact to the least.
const (
	MethodTokenIDs   = "token_ids"  // prompts are token ids
	MethodTokenize   = "tokenize"   // the server's tokenizer counted the words
	MethodCalibrated = "calibrated" // the usage of probe requests told the tokens per word
	MethodAssumed    = "assumed"    // one token per word, because the server says nothing
	MethodFile       = "file"       // prompts are what a file says, of whatever length
)

// Counter returns how many tokens the server counts for a request with a user text and, where it is not empty, a
// system text before it.
type Counter func(ctx context.Context, system, user string) (int, error)

// Counters are the ways in which a server may count tokens; one that is nil is not tried.
type Counters struct {
	IDs       func(ctx context.Context, ids []int) (int, error) // tokens of a prompt of token ids, by a request's usage
	Tokenizer Counter                                           // without a request
	Usage     Counter                                           // by a request's usage
}

// Calibration is how prompts got their length.
type Calibration struct {
	Method string
	Checks []Check // prompts as they will be sent, counted
	Notes  []string
}

// Check is a prompt whose tokens were counted.
type Check struct {
	Asked, Counted int
	prefixed       bool
}

// Calibrate sets the style by the most exact method that the server offers, and proves it with prompts of the planned
// lengths. Prepare has been called when it returns.
func (s *Source) Calibrate(ctx context.Context, by Counters) Calibration {
	defer s.Prepare()
	if s.Data.File != nil && len(s.prefixes()) == 0 {
		return Calibration{Method: MethodFile}
	}
	if s.takesIDs() && by.IDs != nil {
		if n, err := by.IDs(ctx, []int{firstID + 1, firstID + 2, firstID + 3, firstID + 4, firstID + 5, firstID + 6,
			firstID + 7}); err == nil && n == 7 {
			s.Style.IDs = true
			return Calibration{Method: MethodTokenIDs}
		}
	}
	planned := s.Style
	var why []string
	for _, try := range []struct {
		method string
		count  Counter
	}{{MethodTokenize, by.Tokenizer}, {MethodCalibrated, by.Usage}} {
		if try.count == nil {
			continue
		}
		refine := try.method == MethodTokenize
		err := s.Style.Calibrate(ctx, try.count, refine, len(s.prefixes()) > 0)
		if err == nil {
			s.Style.setFrame()
			return s.prove(ctx, try.method, try.count)
		}
		why = append(why, fmt.Sprintf("prompts could not be %s: %v",
			map[bool]string{true: "tokenized", false: "counted by requests"}[refine], err))
		s.Style = planned
	}
	return Calibration{Method: MethodAssumed, Notes: why}
}

// takesIDs says whether all that the plan asks for can be said in token ids.
func (s *Source) takesIDs() bool {
	return s.Style.api.Type == runplan.APICompletions && !s.Style.isText() && s.Data.File == nil &&
		s.Data.Turns <= 1 && alone(s.Rows)
}

// isText says whether prompts are the same words whatever the API.
func (s *Style) isText() bool { return s.api.PromptForm == runplan.PromptText }

// setFrame takes what the server adds out of the length of prompts in text form: chat adds more than completions.
func (s *Style) setFrame() {
	if s.isText() {
		s.Frame, s.SystemFrame = s.Overhead, s.System
		s.Overhead, s.System = 0, 0
	}
}

// alone says whether no turn of the rows needs the history of its conversation, which ids cannot hold.
func alone(rows Rows) bool {
	if rows == nil {
		return true
	}
	r, ok := rows.(interface{ Alone() bool })
	return ok && r.Alone()
}

// Calibrate finds out what the words and the frame around them cost in tokens. With refine it keeps only words of
// exactly one token; with prefixed it counts system messages too.
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

// refineBy is how many words are counted at once: most vocabularies hold nearly all of them.
const refineBy = 16

// refine keeps the words that cost one token more behind two others, if these are enough. two is the count of the first
// two words; it returns that of those which are first then.
func (s *Style) refine(ctx context.Context, count Counter, two int) (int, error) {
	var single []string
	front := join(s.Words[:2]) + " "
	for i := 0; i < len(s.Words); i += refineBy {
		group := s.Words[i:min(len(s.Words), i+refineBy)]
		n, err := count(ctx, "", front+join(group))
		if err != nil {
			return 0, err
		}
		if n == two+len(group) {
			single = append(single, group...)
			continue
		}
		for _, w := range group {
			if n, err = count(ctx, "", front+w); err != nil {
				return 0, err
			}
			if n == two+1 {
				single = append(single, w)
			}
		}
	}
	if len(single) < enough {
		return two, nil
	}
	s.Words, s.PerWord = single, 1
	return count(ctx, "", join(s.Words[:2]))
}

// findLead finds words that cost as much at the start of a text, where no space precedes them, as behind others.
func (s *Style) findLead(ctx context.Context, count Counter) error {
	back := " " + join(s.Words[:2])
	by := map[int][]string{}
	cheapest := 0
	for _, w := range s.Words {
		n, err := count(ctx, "", w+back)
		if err != nil {
			return err
		}
		if by[n] = append(by[n], w); cheapest == 0 || n < cheapest {
			cheapest = n
		}
		if len(by[n]) >= enough && n == cheapest {
			break
		}
	}
	if len(by[cheapest]) >= enough/2 {
		s.Leads, s.Overhead = by[cheapest], cheapest-3
	}
	return nil
}

func join(words []string) string { return strings.Join(words, " ") }

func round(x float64) int { return int(x + 0.5) }

// Rehearsal returns a prompt like those of the load, but with an answer of one token, to try the server with.
func (s *Source) Rehearsal(number int) Prompt {
	s.Prepare()
	c, ok := s.rehearse(number)
	if !ok {
		c, _ = s.rehearse(0)
	}
	return c.Next(nil, nil)
}

// farRow is a row that few loads come to; what rows a file has it takes in turn.
const farRow = 1<<31 - 1<<16

// rehearse returns a conversation of a stage that is none.
func (s *Source) rehearse(number int) (*Session, bool) {
	st := Stage{Key: rehearsalStage, Prefixes: s.Data.Prefixes}
	for _, planned := range s.stages {
		if len(st.Prefixes) == 0 {
			st.Prefixes = planned.Prefixes
		}
	}
	content, ok := int64(0), false
	if s.Rows != nil { // texts that the load comes to late, if at all
		content, ok = s.content(farRow + int64(number))
	}
	if !ok {
		content, ok = s.content(int64(number))
	}
	c := new(Session)
	c.begin(s, st, int64(number), content)
	c.rehearsal = true
	return c, ok
}
