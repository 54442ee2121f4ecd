package tool

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"bflow.dev/bflow/internal/problem"
	"bflow.dev/bflow/internal/scalar"
)

// Arity is how many values a flag takes.
type Arity int

// How many values a flag can take.
const (
	One    Arity = iota // exactly one
	None                // a switch; --flag=false is false
	Some                // one or more, up to the next flag
	Paired              // exactly two
	Free                // any number, none included
)

// KnownFlag is a flag in a table.
type KnownFlag struct {
	Names   []string // its spellings, first the one under which it is read
	Mark    string   // of what it takes
	Default string
}

// ParseTable parses a table of flags: words, each the spellings of a flag with = between them, a mark, and a default
// behind a colon. Without a mark a flag takes one value, with ! none, with + one or more, and with * any number.
// Others are the tool's own.
func ParseTable(text string) (flags []KnownFlag) {
	for word := range strings.FieldsSeq(text) {
		marked, def, _ := strings.Cut(word, ":")
		names := strings.TrimRight(marked, "!+*?&")
		flags = append(flags, KnownFlag{Names: strings.Split(names, "="), Mark: marked[len(names):], Default: def})
	}
	return flags
}

// Takes is how many values the flag takes.
func (f KnownFlag) Takes() Arity { return map[string]Arity{"!": None, "+": Some, "*": Free}[f.Mark] }

// Arities are the flags of a table by every spelling, for ReadTable.
func Arities(table string) map[string]Arity {
	all := map[string]Arity{}
	for _, f := range ParseTable(table) {
		for _, name := range f.Names {
			all[name] = f.Takes()
		}
	}
	return all
}

// Flag is one flag as it was given.
type Flag struct {
	Name   string // without dashes, - for _
	Word   string // as it was written, without a value
	Values []string
}

// ReadTable cuts args into the flags of a table, which says how many values each takes. Others are reported.
func (c *CommandLine) ReadTable(args []string, table map[string]Arity) []Flag {
	var known []string
	for name := range table {
		known = append(known, "--"+name)
	}
	slices.Sort(known)
	takes := func(name string) (Arity, bool) {
		n, ok := table[name]
		return n, ok
	}
	return c.ReadFlags(args, takes, func(word string) { c.Unknown(word, known) })
}

// ReadFlags cuts args into flags, each with the values that it wants. takes says how many these are, false for a flag
// that is not known: it is given to unknown, and a value behind it is skipped.
func (c *CommandLine) ReadFlags(
	args []string, takes func(name string) (Arity, bool), unknown func(word string),
) (out []Flag) {
	for len(args) > 0 {
		word, value, inline := strings.Cut(args[0], "=")
		args = args[1:]
		if !IsFlag(word) {
			c.Errorf(word, "want a flag, found this")
			continue
		}
		f := Flag{Name: strings.ReplaceAll(strings.TrimLeft(word, "-"), "_", "-"), Word: word}
		n, known := takes(f.Name)
		if inline {
			f.Values = []string{value}
		}
		if !known {
			unknown(word)
			if !inline && len(args) > 0 && !IsFlag(args[0]) {
				args = args[1:]
			}
			continue
		}
		if f.Values, args = c.flagValues(f, n, inline, args); len(f.Values) == 0 {
			c.Errorf(word, "wants a value")
			continue
		}
		for _, v := range f.Values {
			if hole := problem.Unfilled(v, false); hole != "" {
				c.Errorf(word, "%s", hole)
			}
		}
		out = append(out, f)
	}
	return out
}

// flagValues reads the values of one flag, those behind it as far as it wants them; nil where they are too few.
func (c *CommandLine) flagValues(f Flag, n Arity, inline bool, args []string) (values, rest []string) {
	want := map[Arity]int{One: 1, None: 0, Some: len(args), Paired: 2, Free: len(args)}[n]
	if inline && n != Paired {
		return f.Values, args
	}
	if n == None {
		return []string{"true"}, args
	}
	values = f.Values
	for len(values) < want && len(args) > 0 && (n != Some && n != Free || !IsFlag(args[0])) &&
		!strings.HasPrefix(args[0], "--") {
		values, args = append(values, args[0]), args[1:]
	}
	if len(values) == 0 && n == Free {
		return []string{"true"}, args
	}
	if n == Paired && len(values) < 2 {
		return nil, args
	}
	return values, args
}

// IsFlag tells a flag from a value: a value may be a negative number.
func IsFlag(s string) bool {
	return len(s) > 1 && s[0] == '-' && !strings.ContainsAny(s[1:2], "0123456789.")
}

// LastFlag is the value of the last flag of any of the names.
func LastFlag(flags []Flag, names ...string) (value, word string, ok bool) {
	for _, f := range slices.Backward(flags) {
		if slices.Contains(names, f.Name) {
			return f.Values[len(f.Values)-1], f.Word, true
		}
	}
	return "", "", false
}

// IsOff reports whether a value is a word for false. A switch with any other value is on.
func IsOff(n *yaml.Node) bool {
	on, err := scalar.Bool(n)
	return err == nil && !on
}

// Percentile reads the name of one.
func Percentile(n *yaml.Node) (float64, error) {
	x, err := scalar.Number(n)
	if err != nil {
		return 0, err
	}
	most := 100.0
	return x, scalar.Range{Min: new(float64), Max: &most}.Check(n, x)
}
