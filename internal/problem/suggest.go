package problem

import (
	"slices"
	"strconv"
)

// Closest returns up to max of the known words within edit distance 2 of word (a third of its length for short
// words), nearest first: for "did you mean".
func Closest(word string, known []string, max int) []string {
	limit := min(2, 1+len(word)/4)
	type near struct {
		word string
		d    int
	}
	var hits []near
	for _, k := range known {
		if d := distance(word, k); d <= limit {
			hits = append(hits, near{k, d})
		}
	}
	slices.SortStableFunc(hits, func(a, b near) int { return a.d - b.d })
	out := make([]string, 0, max)
	for _, h := range hits[:min(max, len(hits))] {
		out = append(out, h.word)
	}
	return out
}

// Nearest is the end of a sentence about a word that is none of known: it names the nearest of them. "" where none is
// near.
func Nearest(word string, known []string) string {
	if near := Closest(word, known, 1); len(near) > 0 {
		return DidYouMean(near[0])
	}
	return ""
}

// DidYouMean is the end of a sentence about a word in whose place another was meant.
func DidYouMean(word string) string { return " (did you mean " + strconv.Quote(word) + "?)" }

// UnknownField is the sentence for a key that nothing knows.
func UnknownField(key string, known []string) string {
	return unknown(key) + Nearest(key, known)
}

// UnknownFieldNear is UnknownField where the word that was meant is found already; "" is none.
func UnknownFieldNear(key, meant string) string {
	if meant == "" {
		return unknown(key)
	}
	return unknown(key) + DidYouMean(meant)
}

func unknown(key string) string { return "unknown field " + strconv.Quote(key) }

// distance is the Levenshtein distance with adjacent swaps counted once, over bytes.
func distance(a, b string) int {
	prev2, prev, cur := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cur[j] = min(cur[j], prev2[j-2]+1)
			}
		}
		prev2, prev, cur = prev, cur, prev2
	}
	return prev[len(b)]
}
