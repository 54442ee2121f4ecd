package trace

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"bflow.dev/bflow/runplan"
)

// collector gathers rows in the order of the file and makes a trace of them.
type collector struct {
	Trace
	plan     runplan.Trace
	sessions map[string]*session
	lone     session // of a row without a name
	starts   []int64 // of each session that is kept, time of the file or undated
}

// session is what is known of one while the file is read.
type session struct {
	index    int32 // Absent = its first turn is left out
	turns    int32
	closed   bool  // a turn was left out, and so are those that follow
	at       int64 // of the turn before, or undated
	duration int64
}

func newCollector(plan runplan.Trace) *collector {
	if plan.TimeScale == 0 {
		plan.TimeScale = 1
	}
	return &collector{plan: plan, sessions: map[string]*session{}}
}

// full says whether the plan wants no more rows.
func (c *collector) full() bool { return c.plan.Limit > 0 && c.Read.Rows >= c.plan.Limit }

// add takes a row of the file.
func (c *collector) add(line int, x *row) error {
	c.Read.Rows++
	if err := x.check(); err != nil {
		return err
	}
	s := c.session(x.session)
	switch {
	case s.closed:
		c.Read.Orphans++
		return nil
	case !c.inside(s, x.at):
		c.Read.Outside++
		s.closed = true
		return nil
	case c.plan.MaxInput > 0 && x.in > int64(c.plan.MaxInput):
		c.Read.TooLong++
		s.closed = true
		return nil
	case s.turns > 0 && s.at != undated && x.at != undated && x.at < s.at:
		return errors.New("its session goes back in time: sort the rows of a session by timestamp")
	case len(c.requests) == maxRequests:
		return fmt.Errorf("more than %d requests: set limit, or from and to", maxRequests)
	}
	if s.turns == 0 {
		c.open(line, s, x)
	}
	c.keep(s, x)
	return nil
}

// session returns that of a name; without one, a new one.
func (c *collector) session(name []byte) *session {
	if len(name) == 0 {
		c.lone = session{at: undated}
		return &c.lone
	}
	s, ok := c.sessions[string(name)]
	if !ok {
		s = &session{at: undated}
		c.sessions[string(name)] = s
	}
	return s
}

// inside says whether a turn lies in the window. A session belongs to it by its first turn, and ends with it.
func (c *collector) inside(s *session, at int64) bool {
	if at == undated {
		return true
	}
	return (s.turns > 0 || at >= int64(c.plan.From)) && (c.plan.To <= 0 || at < int64(c.plan.To))
}

// open begins a session that is kept.
func (c *collector) open(line int, s *session, x *row) {
	if x.at == undated && c.untimed == 0 {
		c.untimed = line
	}
	s.index = int32(len(c.starts))
	c.starts = append(c.starts, x.at)
}

// keep adds the next turn of a session.
func (c *collector) keep(s *session, x *row) {
	r := Request{At: x.at, Session: s.index, Turn: s.turns, In: c.tokens(x.in), Out: c.tokens(x.out)}
	if c.plan.MaxOutput > 0 && r.Out > int32(c.plan.MaxOutput) {
		r.Out = int32(c.plan.MaxOutput)
		c.Read.Cut++
	}
	if s.turns > 0 {
		r.Idle = idle(s, x)
	}
	switch {
	case x.entry != 0:
		r.content = c.addText(x.entry, x.text)
	case len(x.blocks) > 0:
		r.content = c.addBlocks(x.blocks)
	}
	c.requests = append(c.requests, r)
	s.turns++
	s.duration = x.duration
	if x.at != undated {
		s.at = x.at
	}
}

// idle is the time between the end of the turn before and a turn: as recorded, or between their times less what the
// turn before took. A trace that does not say how long requests took has them take no time.
func idle(s *session, x *row) int64 {
	switch {
	case x.delay != Absent:
		return x.delay
	case x.at == undated || s.at == undated:
		return 0
	}
	return max(0, x.at-s.at-s.duration)
}

// tokens makes an empty input or output one of 1 token: no server takes less.
func (c *collector) tokens(n int64) int32 {
	if n == 0 {
		c.Read.Raised++
		n = 1
	}
	return int32(n)
}

// check says what of a row cannot be played.
func (x *row) check() error {
	if x.in == Absent && x.entry == 0 {
		return errors.New("it has neither input_length nor text_input nor messages")
	}
	if x.in > math.MaxInt32 || x.out > math.MaxInt32 {
		return fmt.Errorf("input_length %d or output_length %d is too large", x.in, x.out)
	}
	// The last block is the rest of the input and has at least one token.
	if n := int64(len(x.blocks)); n > 0 && x.entry == 0 && (x.in <= (n-1)*BlockTokens || x.in > n*BlockTokens) {
		return fmt.Errorf("%d hash_ids stand for %d to %d input tokens, input_length is %d: correct it, or remove hash_ids",
			n, (n-1)*BlockTokens+1, n*BlockTokens, x.in)
	}
	return nil
}

// finish orders the sessions by their starts and puts the times on the scale of the plan.
func (c *collector) finish() (*Trace, error) {
	if len(c.requests) == 0 {
		return nil, fmt.Errorf("no request is left of %d rows: %d lie outside of %s, %d are longer than max_input",
			c.Read.Rows, c.Read.Outside, window(c.plan), c.Read.TooLong)
	}
	c.order()
	zero, last, timed := int64(math.MaxInt64), int64(math.MinInt64), 0
	wait := int64(0) // the longest
	for _, r := range c.requests {
		wait = max(wait, r.Idle)
		if r.At != undated {
			zero, last, timed = min(zero, r.At), max(last, r.At), timed+1
		}
	}
	c.Plays = max(1, c.plan.Repeat)
	if span := float64(last) - float64(zero); max(float64(wait), span)*c.plan.TimeScale > longest ||
		span*c.plan.TimeScale*float64(c.Plays) > longest {
		return nil, errors.New("it lasts longer than 104 days, by its times, time_scale and repeat: set from and to, " +
			"or a smaller time_scale")
	}
	for i := range c.requests {
		r := &c.requests[i]
		r.At = c.scale(r.At, zero)
		r.Idle = int64(math.Round(float64(r.Idle) * c.plan.TimeScale))
	}
	if timed > 1 {
		span := c.scale(last, zero)
		c.Period = span + span/int64(timed-1)
	}
	t := c.Trace
	return &t, nil
}

// longest is how many nanoseconds a trace may last: a float counts them without a gap.
const longest = 1 << 53

// scale puts a time of the file on the scale of the plan; exact to the nanosecond.
func (c *collector) scale(at, zero int64) int64 {
	switch {
	case at == undated:
		return Absent
	case c.plan.TimeScale == 1:
		return at - zero
	}
	return int64(math.Round(float64(at-zero) * c.plan.TimeScale))
}

// order numbers the sessions by their starts, those without a time last, and puts their requests together.
func (c *collector) order() {
	order := make([]int32, len(c.starts))
	for i := range order {
		order[i] = int32(i)
	}
	slices.SortStableFunc(order, func(a, b int32) int {
		x, y := c.starts[a], c.starts[b]
		if (x == undated) != (y == undated) {
			return cmp.Compare(y, x)
		}
		return cmp.Compare(x, y)
	})
	rank := make([]int32, len(order))
	for i, s := range order {
		rank[s] = int32(i)
	}
	for i := range c.requests {
		c.requests[i].Session = rank[c.requests[i].Session]
	}
	slices.SortFunc(c.requests, func(a, b Request) int {
		return cmp.Or(cmp.Compare(a.Session, b.Session), cmp.Compare(a.Turn, b.Turn))
	})
	c.first = make([]int32, 0, len(order)+1)
	for i, r := range c.requests {
		if r.Turn == 0 {
			c.first = append(c.first, int32(i))
		}
	}
	c.first = append(c.first, int32(len(c.requests)))
}
