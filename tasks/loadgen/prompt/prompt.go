// Package prompt builds requests of exact length: words, output length and shared prefix, all drawn from seeds. It
// must not know when a request is sent or read its response from a connection.
package prompt

import (
	"strings"

	"bflow.dev/bflow/runplan"
)

// Prompt is the content of one request.
type Prompt struct {
	Body     []byte
	InAsked  int64 // tokens that the server should count; -1 where nobody can know: real answers, images, texts of a file
	OutAsked int64 // -1 = left to the server
	Turn     int
	Last     bool // no turn follows
	Bucket   int64
	Prefix   int64  // place in the bucket; both -1 without a shared prefix
	Hash     uint64 // xxh64 of the texts, a zero byte between two of them, and the sums of the images
	Adapter  int    // index into API.Adapters, -1 = none
}

// plan is what a turn says, before it is written.
type plan struct {
	TurnSpec
	draw                        draw
	stage                       uint64
	content                     int64
	turn                        int
	tokens                      int // of the synthetic text, without what the server adds
	bucket, index, prefixTokens int
	images                      int
	inAsked, outAsked           int64
}

// plan decides what the next turn says: a pure function of the seed, the stage, the conversation and the turn.
func (c *Session) plan() plan {
	s := c.source
	pl := plan{draw: newDraw(s.Data.Seed, c.stage.Key, c.content, c.turn), stage: c.stage.Key,
		content: c.content, turn: c.turn,
		bucket: -1, index: -1, inAsked: -1, outAsked: -1}
	if s.Rows != nil {
		var ok bool
		pl.TurnSpec, ok = s.Rows.Turn(c.content, c.turn)
		pl.Last = pl.Last || !ok
	} else {
		pl.Last = c.turn+1 >= max(1, s.Data.Turns)
	}
	if c.turn == 0 && !pl.whole() {
		pl.drawPrefix(c.stage.Prefixes)
	}
	s.setOutput(&pl)
	s.setInput(&pl)
	if c.turn == 0 && pl.Messages == "" && s.Data.Images != nil && s.Data.Images.Count > 0 {
		pl.images, pl.inAsked = s.Data.Images.Count, -1
	}
	if c.rehearsal {
		pl.rehearse()
	}
	return pl
}

// rehearse makes the turn one that leaves nothing in a server's cache for the turns that are measured.
func (pl *plan) rehearse() {
	pl.Blocks = nil
	if pl.index >= 0 {
		pl.index += rehearsalIndex
	}
	pl.outAsked = 1
}

// rehearsalIndex is where the shared prefixes of rehearsals begin.
const rehearsalIndex = 1 << 20

// whole says whether the turn stands for the conversation: nothing that was said before is sent with it.
func (pl *plan) whole() bool { return len(pl.Blocks) > 0 || pl.Messages != "" }

// drawPrefix draws a shared prefix, where there are any.
func (pl *plan) drawPrefix(buckets []runplan.Prefix) {
	if len(buckets) == 0 {
		return
	}
	bucket, index := pl.draw.prefix(buckets)
	if tokens := buckets[bucket].Tokens; tokens > 0 {
		pl.bucket, pl.index, pl.prefixTokens = bucket, index, tokens
	}
}

// setInput settles the length of the prompt.
func (s *Source) setInput(pl *plan) {
	if pl.Text != "" || pl.Messages != "" {
		return
	}
	asked := pl.In
	if asked <= 0 {
		asked = s.length(pl, purposeInput, s.Data.Input, s.Data.FirstInput)
	}
	if asked <= 0 {
		asked = defaultInput
	}
	pl.tokens = asked
	whole := pl.turn == 0 || pl.whole()
	if whole && !s.Style.IDs {
		pl.tokens = asked - s.Style.Overhead
	}
	if whole {
		pl.inAsked = int64(asked + pl.prefixTokens + s.Style.Frame)
		if pl.prefixTokens > 0 {
			pl.inAsked += int64(s.Style.SystemFrame)
		}
	}
}

// defaultInput is the length of a prompt that nothing is said about.
const defaultInput = 1000

// setOutput settles the length of the answer.
func (s *Source) setOutput(pl *plan) {
	out := pl.Out
	if out <= 0 {
		out = s.length(pl, purposeOutput, s.Data.Output, s.Data.FirstOutput)
	}
	if out <= 0 && pl.Answer != "" {
		for range strings.FieldsSeq(pl.Answer) {
			out++
		}
	}
	if out > 0 && s.Style.api.Type != runplan.APIEmbeddings {
		pl.outAsked = int64(out)
	}
}

// length draws from first in the first turn, where that is set, else from each; 0 where neither is.
func (s *Source) length(pl *plan, purpose uint64, each, first *runplan.Length) int {
	if pl.turn == 0 && first != nil {
		each = first
	}
	if each == nil {
		return 0
	}
	return pl.draw.length(purpose, each)
}

func (pl *plan) prompt() Prompt {
	return Prompt{
		InAsked: pl.inAsked, OutAsked: pl.outAsked, Turn: pl.turn, Last: pl.Last, Bucket: int64(pl.bucket),
		Prefix: int64(pl.index),
	}
}
