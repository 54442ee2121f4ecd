package record

// tally counts words of which there are few.
type tally struct {
	words  []string
	counts []int
}

func (t *tally) add(word string) {
	for i, w := range t.words {
		if w == word {
			t.counts[i]++
			return
		}
	}
	t.words, t.counts = append(t.words, word), append(t.counts, 1)
}

// byWord returns the counts, never nil.
func (t *tally) byWord() map[string]int {
	out := make(map[string]int, len(t.words))
	for i, w := range t.words {
		out[w] = t.counts[i]
	}
	return out
}
