package words

import (
	"slices"
	"strings"

	"bflow.dev/bflow/internal/problem"
)

// arity is how many values a flag takes.
type arity int

const (
	one    arity = iota // exactly one
	none                // a switch; --flag=false is false
	some                // one or more, up to the next flag
	paired              // exactly two
	free                // any number, none included
)

// flagged is one flag as it was given.
type flagged struct {
	name   string // without dashes, - for _
	word   string // as it was written, without a value
	values []string
}

// readFlags cuts args into flags. takes says how many values a flag takes, false for one that is not known: it is told to
// unknown, and a value behind it is skipped.
func (p *parser) readFlags(args []string, takes func(name string) (arity, bool), unknown func(word string)) []flagged {
	var out []flagged
	for len(args) > 0 {
		word, value, inline := strings.Cut(args[0], "=")
		args = args[1:]
		if !isFlag(word) {
			p.errorf(word, "want a flag, found this")
			continue
		}
		f := flagged{name: strings.ReplaceAll(strings.TrimLeft(word, "-"), "_", "-"), word: word}
		n, known := takes(f.name)
		if inline {
			f.values = []string{value}
		}
		if !known {
			unknown(word)
			if !inline && len(args) > 0 && !isFlag(args[0]) {
				args = args[1:]
			}
			continue
		}
		f.values, args = p.flagValues(f, n, inline, args)
		for _, v := range f.values {
			if hole := problem.Unfilled(v, false); hole != "" {
				p.errorf(word, "%s", hole)
			}
		}
		out = append(out, f)
	}
	return out
}

// flagValues reads the values of one flag, those behind it as far as it wants them.
func (p *parser) flagValues(f flagged, n arity, inline bool, args []string) (values, rest []string) {
	want := map[arity]int{one: 1, none: 0, some: len(args), paired: 2, free: len(args)}[n]
	if inline && n != paired {
		return f.values, args
	}
	if n == none {
		return []string{"true"}, args
	}
	values = f.values
	for len(values) < want && len(args) > 0 && (n != some && n != free || !isFlag(args[0])) && !strings.HasPrefix(args[0], "--") {
		values, args = append(values, args[0]), args[1:]
	}
	if len(values) == 0 && n == free {
		return []string{"true"}, args
	}
	if len(values) == 0 || n == paired && len(values) < 2 {
		p.errorf(f.word, "wants a value")
	}
	return values, args
}

// isFlag tells a flag from a value: a value may be a negative number.
func isFlag(s string) bool {
	return len(s) > 1 && s[0] == '-' && !strings.ContainsAny(s[1:2], "0123456789.")
}

// last is the value of the last flag of any of the names.
func last(flags []flagged, names ...string) (value, word string, ok bool) {
	for _, f := range slices.Backward(flags) {
		if slices.Contains(names, f.name) && len(f.values) > 0 {
			return f.values[len(f.values)-1], f.word, true
		}
	}
	return "", "", false
}
