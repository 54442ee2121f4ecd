package sim

// immediate tells that nothing has to be paced: no time passes between tokens, and requests share nothing. Answers
// are then sent by the goroutine that read the request, which costs no hand-over.
func (c Config) immediate() bool {
	timeless := c.TTFT == 0 && c.TTFTStdev == 0 && c.ITL == 0 && c.ITLStdev == 0
	return timeless && !c.batched() && c.MaxNumSeqs == 0 && !c.PrefixCache
}

// floodEvents is the number of events per send of a flood.
const floodEvents = 100

// sendAtOnce sends the whole answer, and keeps what it was made in for the next one.
func (x *exchange) sendAtOnce(s *stream) bool {
	s.flood()
	if !s.over { // a fault that never ends
		return true
	}
	x.waitForStream(false)
	x.prefix, x.spare = s.ans.Lent(), s
	return !s.closing && !x.ending.Load()
}

// flood sends the whole answer at once, as fast as the client reads.
func (s *stream) flood() {
	s.inline, s.scratch = true, &s.c.scratch
	s.seq.Started = s.rec.Arrival
	burst := max(s.seq.Stride, floodEvents*s.perEvent)
	for wanted := true; wanted && s.seq.Done < s.seq.Want; s.c.out.wait() {
		n := min(burst, s.seq.Want-s.seq.Done)
		s.seq.Done += n
		wanted = s.Tokens(n, 0)
	}
}
