package prompt

import "strconv"

// corpus is a long random text, made once. Prompts are slices of it behind their nonces, so that making one costs
// little more than copying it.
type corpus struct {
	text []byte   // each word is followed by a separator
	at   []uint32 // where word i begins; one more than there are words
}

// Sizes of a corpus in words: enough for any two prompts to begin in different places, and bounded for those longer
// than the longest context: they go round.
const (
	corpusWords = 1 << 16
	corpusMost  = 1 << 20
)

// makeCorpus returns a corpus of random words, at least twice as long as the longest prompt where that is possible.
func makeCorpus(seed int64, words []string, ids bool, longest int) corpus {
	n := corpusWords
	for n < corpusMost && n < 2*longest {
		n *= 2
	}
	g := newDraw(seed, 0, 0, 0).generator(purposeCorpus)
	c := corpus{text: make([]byte, 0, 6*n), at: make([]uint32, 1, n+1)}
	for range n {
		if ids {
			c.text = append(strconv.AppendUint(c.text, firstID+uint64(below(&g, idSpan)), 10), ',')
		} else {
			c.text = append(append(c.text, words[below(&g, uint64(len(words)))]...), ' ')
		}
		c.at = append(c.at, uint32(len(c.text)))
	}
	return c
}

func (c *corpus) size() int { return len(c.at) - 1 }

// slice appends n words from word number from, without a separator behind the last. It goes round at the end.
func (c *corpus) slice(b []byte, from, n int) []byte {
	for from+n > c.size() {
		b = append(b, c.text[c.at[from]:]...)
		n -= c.size() - from
		from = 0
	}
	if n == 0 { // the end of the corpus was the end of the text
		return b[:len(b)-1]
	}
	return append(b, c.text[c.at[from]:c.at[from+n]-1]...)
}
