package wire

// Vocabulary is the number of token ids; ids below FirstID are special and never come from text.
const (
	Vocabulary = 128_000
	FirstID    = 1_000
)

// pieceLen is the longest token: a word of up to this many bytes is one token, so that common English words are.
const pieceLen = 8

// Chat template: each message is wrapped in headTokens and the answer is opened by openTokens.
const (
	headTokens = 4
	openTokens = 3
)

// pieces calls f with the bounds of every token of text: runs of letters and digits, cut after pieceLen bytes, and
// single other characters; white space belongs to the token after it and costs nothing.
func pieces(text []byte, f func(from, to int)) {
	for i := 0; i < len(text); {
		switch c := text[i]; {
		case c == ' ' || c == '\n' || c == '\t' || c == '\r':
			i++
		case !isWord(c):
			f(i, i+1)
			i++
		default:
			from := i
			for i < len(text) && i-from < pieceLen && isWord(text[i]) {
				i++
			}
			f(from, i)
		}
	}
}

func isWord(c byte) bool {
	return c|0x20-'a' < 26 || c-'0' < 10 || c >= 0x80
}

// countPieces returns how many tokens pieces finds.
func countPieces(text []byte) int {
	n := 0
	for i := 0; i < len(text); {
		c := text[i]
		if !isWord(c) {
			if c != ' ' && c != '\n' && c != '\t' && c != '\r' {
				n++
			}
			i++
			continue
		}
		from := i
		for i++; i < len(text) && isWord(text[i]); i++ {
		}
		n += (i - from + pieceLen - 1) / pieceLen
	}
	return n
}

// CountTokens returns the tokens of the prompt of p, chat template included.
func (p *Params) CountTokens() int {
	if !p.isChat() {
		return max(1, len(p.IDs)+countPieces(p.Prompt))
	}
	n := len(p.IDs)
	for _, m := range p.Messages {
		n += countPieces(m.Text)
	}
	return n + headTokens*len(p.Messages) + openTokens
}

// Tokens returns the token ids of the prompt of p, as many as CountTokens says.
func (p *Params) Tokens() []int {
	if !p.isChat() {
		if ids := appendTokens(append([]int(nil), p.IDs...), p.Prompt); len(ids) > 0 {
			return ids
		}
		return []int{0}
	}
	var ids []int
	for _, m := range p.Messages {
		role := int(hash([]byte(m.Role)) % 100)
		ids = append(ids, 1, 100+role, 2, 3)
		ids = appendTokens(ids, m.Text)
	}
	return append(ids, 1, 101, 2)
}

func appendTokens(ids []int, text []byte) []int {
	pieces(text, func(from, to int) {
		ids = append(ids, FirstID+int(hash(text[from:to])%(Vocabulary-FirstID)))
	})
	return ids
}

// hash is FNV-1a.
func hash(b []byte) uint64 {
	h := uint64(14695981039346656037)
	for _, c := range b {
		h = (h ^ uint64(c)) * 1099511628211
	}
	return h
}

// BlockHashes returns a hash per full block of size tokens, each covering all tokens up to its end.
func BlockHashes(ids []int, size int) []uint64 {
	hashes := make([]uint64, 0, len(ids)/size)
	h := uint64(14695981039346656037)
	for i, id := range ids {
		h = (h ^ uint64(id)) * 0x9e3779b97f4a7c15
		h ^= h >> 29
		if (i+1)%size == 0 {
			hashes = append(hashes, h)
		}
	}
	return hashes
}

// AppendWord appends the text of the i-th output token: a space and two letters, one token by the rule of pieces.
func AppendWord(b []byte, i uint64) []byte {
	return append(b, ' ', "bdfghklmnprstvwz"[i%16], "aeiou"[i/16%5])
}
