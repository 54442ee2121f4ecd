// Package screen formats text for people: columns that fit a terminal, and words in colour if the terminal supports
// it. It must not know what a cell means or query a terminal itself.
package screen

import "strings"

// Screen is what text is written for.
type Screen struct {
	Width  int  // columns; 0: no terminal, nothing is cut for width
	Colour bool // escape sequences of ECMA-48 colour words
	Live   bool // lines can be drawn anew
}

// Escape sequences of ECMA-48, section 8.3.117.
const (
	red    = "\x1b[31m"
	green  = "\x1b[32m"
	yellow = "\x1b[33m"
	plain  = "\x1b[0m"
)

// colour is that of a word that says how something ended, "" of any other.
func colour(word string) string {
	switch word {
	case "pass", "ok", "succeeded":
		return green
	case "fail", "failed", "timedout":
		return red
	case "invalid", "inconclusive", "interrupted", "cancelled":
		return yellow
	}
	return ""
}

// Paint returns word in the colour of what it says, which its letters in any case and blanks round it do not change.
func (s Screen) Paint(word string) string {
	c := colour(strings.ToLower(strings.TrimSpace(word)))
	if !s.Colour || c == "" {
		return word
	}
	return c + word + plain
}
