package prompt

import "github.com/cespare/xxhash/v2"

// Session is one conversation: its turns come one after the other.
type Session struct {
	Index int64 // of the stage, never given twice

	content           int64 // conversations of one content have the same prompts
	source            *Source
	stage             Stage
	turn              int
	adapter, priority int    // indices, -1 = none
	past              []byte // of the content of the next body, up to the end of the turn before
	recorded          string // answer to the turn before
	rehearsal         bool   // nobody measures it: answers of one token will do
	hash              xxhash.Digest
}

func (c *Session) begin(s *Source, st Stage, index, content int64) {
	*c = Session{Index: index, content: content, source: s, stage: st, past: c.past[:0]}
	d := newDraw(s.Data.Seed, st.Key, content, 0)
	c.adapter, c.priority = d.choose(purposeAdapter, s.adapters), d.choose(purposePriority, s.priority)
	c.hash.Reset()
}

// Next returns the next turn, its body appended to buf[:0]. answer is the text, decoded, that the server gave to the
// turn before. The body belongs to the caller, who also keeps answer.
func (c *Session) Next(buf, answer []byte) Prompt {
	pl := c.plan()
	if pl.whole() {
		c.past = c.past[:0]
		c.hash.Reset()
	} else if len(c.past) > 0 {
		c.addAnswer(answer)
	}
	p := pl.prompt()
	p.Adapter = c.adapter
	b := c.source.layout.start(buf[:0], c.adapter, c.priority, p.OutAsked)
	p.Body = c.say(b, &pl)
	p.Hash = c.hash.Sum64()
	c.turn++
	c.recorded = pl.Answer
	return p
}

// textBorder is hashed between two texts.
const textBorder = "\x00"

// addAnswer adds the answer to what has been said.
func (c *Session) addAnswer(answer []byte) {
	l := &c.source.layout
	c.past = append(append(c.past, l.between...), l.assistant.before...)
	_, _ = c.hash.WriteString(textBorder)
	if c.recorded != "" {
		c.past = appendJSONString(c.past, c.recorded)
		_, _ = c.hash.WriteString(c.recorded)
	} else {
		c.past = appendJSON(c.past, answer)
		_, _ = c.hash.Write(answer)
	}
	c.past = append(c.past, l.assistant.after...)
	_, _ = c.hash.WriteString(textBorder)
}

// say appends everything that has been said, and the turn.
func (c *Session) say(b []byte, pl *plan) []byte {
	l := &c.source.layout
	if pl.Messages != "" {
		_, _ = c.hash.WriteString(pl.Messages)
		return append(append(append(b, l.field...), pl.Messages...), '}')
	}
	b = append(b, c.past...)
	fresh := len(b)
	if len(c.past) > 0 {
		b = append(b, l.between...)
	} else {
		b = c.open(b, pl)
	}
	b = c.ask(b, pl)
	if !pl.Last {
		c.past = append(c.past, b[fresh:]...)
	}
	return append(b, l.end...)
}

// open appends what stands before the first user text: a shared prefix, where there is one.
func (c *Session) open(b []byte, pl *plan) []byte {
	l := &c.source.layout
	if pl.prefixTokens <= 0 {
		return append(b, l.open...)
	}
	before, after := l.open, l.between
	if l.outside {
		before, after = "", l.open
	}
	b = append(append(b, before...), l.system.before...)
	mark := len(b)
	b = c.source.shared(b, pl)
	_, _ = c.hash.Write(b[mark:])
	_, _ = c.hash.WriteString(textBorder)
	return append(append(b, l.system.after...), after...)
}

// ask appends the user text of a turn, and its images.
func (c *Session) ask(b []byte, pl *plan) []byte {
	s := c.source
	around := &s.layout.user
	if pl.images > 0 {
		around = &s.layout.parts
	}
	b = append(b, around.before...)
	if pl.Text != "" {
		b = appendJSONString(b, pl.Text)
		_, _ = c.hash.WriteString(pl.Text)
	} else {
		mark := len(b)
		b = s.synthetic(b, pl)
		_, _ = c.hash.Write(b[mark:])
	}
	b = append(b, around.after...)
	if pl.images == 0 {
		return b
	}
	for i := range pl.images {
		picture := s.image(pl, i)
		b = append(append(b, ','), picture.part...)
		_, _ = c.hash.Write(picture.sum[:])
	}
	return append(b, "]}"...)
}
