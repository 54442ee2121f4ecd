// Package prompt makes requests of exact length: which words, which answer length, which shared prefix, all drawn from
// seeds. It must not know when a request is sent or read its answer from a connection.
package prompt

import (
	"github.com/cespare/xxhash/v2"

	"bflow.dev/bflow/tasks/runplan"
)

// Prompt is the content of one request.
type Prompt struct {
	Body     []byte
	InAsked  int64 // tokens that the server should count; -1 on later turns, whose history holds real answers
	OutAsked int64 // -1 = left to the server
	Turn     int
	Last     bool // no turn follows
	Bucket   int64
	Prefix   int64 // place in the bucket; both -1 without a shared prefix
	Hash     uint64 // of the texts, 0 = none
	Adapter  int    // index into API.Adapters, -1 = none
}

// Source makes the prompts of a measurement.
type Source struct {
	Data  runplan.Data
	Style Style
}

// Stage names a stage for drawing: stages that share a Key get the same prompts.
type Stage struct {
	Key      uint64
	Prefixes []runplan.Prefix
}

// Stage returns the stage of a sample; without fresh content every stage has the same key.
func (s *Source) Stage(measurement, sample, stage int, plan runplan.Stage) Stage {
	st := Stage{Prefixes: s.Data.Prefixes}
	if plan.Prefixes != nil {
		st.Prefixes = plan.Prefixes
	}
	if s.Data.FreshPerStage {
		st.Key = mix(uint64(measurement)<<40 | uint64(sample)<<20 | uint64(stage) + 1)
	}
	return st
}

// Session is one conversation: its turns come one after the other.
type Session struct {
	Index   int64 // of the stage, never given twice
	content int64 // conversations of one content have the same prompts
	source  *Source
	stage   Stage
	turn    int
	history history
}

// Session returns conversation index of a stage; false when the plan has no conversation of that number.
func (s *Source) Session(st Stage, index int64) (*Session, bool) {
	content := index
	if n := int64(s.Data.Conversations); n > 0 && index >= n {
		if !s.Data.Reuse {
			return nil, false
		}
		content = index % n
	}
	return &Session{Index: index, content: content, source: s, stage: st}, true
}

// Next returns the next turn, its body appended to buf[:0]. answer is the text that the server gave to the turn before.
// The body belongs to the caller.
func (c *Session) Next(buf, answer []byte) Prompt {
	s := c.source
	p := Prompt{Turn: c.turn, Bucket: -1, Prefix: -1, OutAsked: -1, Adapter: -1}
	if c.turn == 0 {
		s.openWith(c, &p)
	} else {
		c.history.answer(answer)
	}
	in, out := s.lengths(c.turn)
	draw := newDraw(uint64(s.Data.Seed), c.stage.Key, uint64(c.content)<<8|uint64(c.turn))
	asked := draw.length(purposeInput, in)
	if out != nil {
		p.OutAsked = int64(draw.length(purposeOutput, out))
	}
	c.history.ask(s.Style.words(draw, nonce(s.Data.Seed, c.stage.Key, c.content, c.turn), max(1, asked-s.Style.overhead(c.turn))))
	p.InAsked += int64(asked)
	if c.turn > 0 {
		p.InAsked = -1
	}
	p.Body = s.Style.body(buf[:0], &c.history, p.OutAsked)
	p.Hash = c.history.hash()
	c.turn++
	p.Last = c.turn >= max(1, s.Data.Turns)
	return p
}

func (s *Source) lengths(turn int) (in, out *runplan.Length) {
	in, out = s.Data.Input, s.Data.Output
	if turn == 0 && s.Data.FirstInput != nil {
		in = s.Data.FirstInput
	}
	if turn == 0 && s.Data.FirstOutput != nil {
		out = s.Data.FirstOutput
	}
	if in == nil {
		in = &runplan.Length{Shape: "fixed", Mean: 1000}
	}
	return in, out
}

// openWith puts a shared prefix, where the stage has any, before the first turn.
func (s *Source) openWith(c *Session, p *Prompt) {
	if len(c.stage.Prefixes) == 0 {
		return
	}
	draw := newDraw(uint64(s.Data.Seed), c.stage.Key, uint64(c.content))
	bucket, index := draw.prefix(c.stage.Prefixes)
	tokens := c.stage.Prefixes[bucket].Tokens
	if tokens <= 0 {
		return
	}
	p.Bucket, p.Prefix, p.InAsked = int64(bucket), int64(index), int64(tokens)
	// The text depends on seed, bucket and index alone: it is the same in every stage.
	fixed := newDraw(uint64(s.Data.Seed), uint64(bucket)<<32|uint64(index)|1<<63, 0)
	c.history.open(s.Style.words(fixed, 0, max(1, tokens-s.Style.System)))
}

// nonce is a number that no other turn of the measurement has, to begin its text with.
func nonce(seed int64, stage uint64, index int64, turn int) uint64 {
	return mix(uint64(seed)^stage) + uint64(index)<<8 + uint64(turn) | 1<<63
}

// mix spreads the bits of x.
func mix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}

func textHash(parts ...[]byte) uint64 {
	h := xxhash.New()
	for _, p := range parts {
		_, _ = h.Write(p)
	}
	return h.Sum64()
}
