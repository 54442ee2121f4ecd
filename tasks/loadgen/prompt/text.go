package prompt

import (
	"math"
	"strconv"
)

// Token ids of random prompts: no server's special tokens lie here, and every vocabulary in use is larger.
const (
	firstID = 1_000
	idSpan  = 29_000
)

// nonceTokens is how many tokens a nonce takes: enough for any count of requests with a few hundred words.
const nonceTokens = 5

// BlockTokens is how many tokens of a prompt one block id of a trace stands for.
const BlockTokens = 512

// phrase appends n words: those that spell the nonce, then words of the corpus from number from.
func (s *Source) phrase(b []byte, nonce uint64, from, n int) []byte {
	head := min(n, nonceTokens)
	for i := range head {
		if i > 0 {
			b = append(b, s.between)
		}
		b, nonce = s.digit(b, nonce, i)
	}
	if n == head {
		return b
	}
	return s.corpus.slice(append(b, s.between), from, n-head)
}

// digit appends word i of a nonce and returns what is left of it.
func (s *Source) digit(b []byte, nonce uint64, i int) ([]byte, uint64) {
	if s.Style.IDs {
		return strconv.AppendUint(b, firstID+nonce%idSpan, 10), nonce / idSpan
	}
	words := s.Style.Words
	if i == 0 && len(s.Style.Leads) > 0 {
		words = s.Style.Leads
	}
	size := uint64(len(words))
	return append(b, words[nonce%size]...), nonce / size
}

// nonce is a number that no other turn of a stage has, to begin its text with.
func (s *Source) nonce(stage uint64, content int64, turn int) uint64 {
	n := uint64(content)
	if s.Rows != nil || s.Data.Turns > 1 {
		n = n<<8 + uint64(turn)
	}
	return mix(uint64(s.Data.Seed)^mix(stage+1))>>1 + n
}

func (s *Source) from(d draw) int {
	g := d.generator(purposeWords)
	return below(&g, uint64(s.corpus.size()))
}

// synthetic appends the text of a turn that the plan gives no text.
func (s *Source) synthetic(b []byte, pl *plan) []byte {
	left := s.Style.words(pl.tokens)
	block := s.Style.words(BlockTokens)
	for _, id := range pl.Blocks {
		if left == 0 {
			return b
		}
		n := min(left, block)
		b = s.phrase(b, mix(uint64(s.Data.Seed))>>1+id, s.from(newDraw(s.Data.Seed, blockStage, int64(id), 0)), n)
		if left -= n; left > 0 {
			b = append(b, s.between)
		}
	}
	if left == 0 {
		return b
	}
	return s.phrase(b, s.nonce(pl.stage, pl.content, pl.turn), s.from(pl.draw), left)
}

// shared appends a shared prefix. It depends on seed, bucket and index alone: it is the same in every stage.
func (s *Source) shared(b []byte, pl *plan) []byte {
	number := uint64(pl.bucket)<<24 + uint64(pl.index)
	from := s.from(newDraw(s.Data.Seed, prefixStage, int64(number), 0))
	return s.phrase(b, mix(uint64(s.Data.Seed)+1)>>1+number, from, s.Style.words(pl.prefixTokens-s.Style.System))
}

// Keys of draws that belong to no stage: keys of stages come from mix and do not meet them.
const (
	prefixStage = 1<<63 + iota
	blockStage
	rehearsalStage
)

// words returns how many words make so many tokens, at least 1.
func (s *Style) words(tokens int) int {
	if s.IDs || s.PerWord == 1 {
		return max(1, tokens)
	}
	return max(1, int(math.Round(float64(tokens)/s.PerWord)))
}
