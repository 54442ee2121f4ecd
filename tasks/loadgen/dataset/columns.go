package dataset

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// columns are the names asked for; empty = the first usual one that is there.
type columns struct{ prompt, output string }

// find returns the names of the two columns among those of a file; output is empty where there is none.
func (c columns) find(names []string) (prompt, output string, err error) {
	prompt, err = pick(names, c.prompt, []string{"prompt", "text", "input", "question"})
	if err != nil {
		return "", "", fmt.Errorf("%w: name it with prompt_column; there are %s", err, quoted(names))
	}
	output, err = pick(names, c.output, []string{"output_tokens", "output_length"})
	if err != nil && c.output != "" {
		return "", "", fmt.Errorf("%w: name another output_column; there are %s", err, quoted(names))
	}
	return prompt, output, nil
}

func pick(names []string, asked string, usual []string) (string, error) {
	if asked != "" {
		usual = []string{asked}
	}
	for _, name := range usual {
		if slices.Contains(names, name) {
			return name, nil
		}
	}
	return "", fmt.Errorf("it has no column %s", strings.Join(usual, " or "))
}

// quoted lists at most so many names as help.
func quoted(names []string) string {
	const most = 20
	out := make([]string, 0, most)
	for _, n := range names[:min(len(names), most)] {
		out = append(out, strconv.Quote(n))
	}
	if len(names) > most {
		out = append(out, "...")
	}
	return strings.Join(out, ", ")
}

// errEmpty is a prompt without a text.
var errEmpty = errors.New("the prompt is empty: remove the row")

// made returns the row of a prompt.
func made(text string, out int) (row, error) {
	if text == "" {
		return row{}, errEmpty
	}
	return row{turns: []turn{{text: text}}, out: out}, nil
}

// tokens reads a number of tokens; nothing is 0, not known.
func tokens(text string) (int, error) {
	text = strings.TrimSpace(text)
	if text == "" {
		return 0, nil
	}
	x, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0, fmt.Errorf("%.40q is not a number of tokens", text)
	}
	return count(x)
}

func count(x float64) (int, error) {
	if x != math.Trunc(x) || x < 0 || x > math.MaxInt32 {
		return 0, fmt.Errorf("%v is not a number of tokens", x)
	}
	return int(x), nil
}
