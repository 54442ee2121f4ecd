package record

import (
	"encoding/binary"
	"strings"
)

// maxWords bounds the words that are kept in memory: a server may have a reason of its own for every answer. Those that
// come later are written as otherWord.
const (
	maxWords  = 4096
	otherWord = "(other)"
)

// lexicon numbers the words of outcomes from 1. A field holds one of a few words, mostly that of the outcome before.
type lexicon struct {
	words   []string
	numbers map[string]uint64
	last    [5]uint64 // of each field
	next    [5]uint64 // of the outcome at hand; 0 = none or a new word
}

// room is how many bytes the frames of words take that o brings.
func (l *lexicon) room(o *Outcome) int {
	n := 0
	for i, p := range o.words() {
		if l.next[i] = l.find(i, *p); l.next[i] == 0 {
			n += frameHead + max(len(*p), len(otherWord))
		}
	}
	return n
}

// find returns the number of a word, 0 for an empty or a new one.
func (l *lexicon) find(field int, word string) uint64 {
	if word == "" {
		return 0
	}
	if n := l.last[field]; n > 0 && l.words[n-1] == word {
		return n
	}
	return l.numbers[word]
}

// number returns the numbers of the words of o, and b with a frame for each that is new.
func (l *lexicon) number(b []byte, o *Outcome) ([]byte, [5]uint64) {
	for i, p := range o.words() {
		if l.next[i] == 0 && *p != "" {
			word := *p
			if l.next[i] = l.find(i, word); l.next[i] == 0 && len(l.words) >= maxWords {
				word = otherWord
				l.next[i] = l.find(i, word)
			}
			if l.next[i] == 0 {
				b = append(binary.LittleEndian.AppendUint32(b, wordFrame|uint32(len(word))), word...)
				l.next[i] = l.add(strings.Clone(word))
			}
		}
		if *p != "" {
			l.last[i] = l.next[i]
		}
	}
	return b, l.next
}

func (l *lexicon) add(word string) uint64 {
	if l.numbers == nil {
		l.numbers = map[string]uint64{}
	}
	l.words = append(l.words, word)
	l.numbers[word] = uint64(len(l.words))
	return uint64(len(l.words))
}
