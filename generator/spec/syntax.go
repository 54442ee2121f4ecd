package spec

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"

	"bflow.dev/bflow/internal/problem"
)

// syntaxProblem places an error of the YAML library, whose text is the only thing that knows the line.
func syntaxProblem(file string, data []byte, err error) problem.Problem {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	p := problem.Problem{File: file, Line: 1, Column: 1, Text: "reading YAML: " + text}
	if m := regexp.MustCompile(`^line (\d+): (.*)`).FindStringSubmatch(text); m != nil {
		p.Line, _ = strconv.Atoi(m[1])
		p.Text = "reading YAML: " + m[2]
		if fromParser(m[2]) { // those lines count from 0, the scanner's from 1
			p.Line++
		}
	}
	if m := regexp.MustCompile(`^unknown anchor '(.*)' referenced`).FindStringSubmatch(text); m != nil {
		p.Line, p.Column = place(data, "*"+m[1])
	}
	return p
}

// fromParser reports whether the library's parser, not its scanner, wrote the text.
func fromParser(text string) bool {
	for _, start := range []string{
		"did not find expected <", "did not find expected node", "did not find expected '-'", "did not find expected key",
		"did not find expected ','", "found undefined tag handle", "found duplicate %", "found incompatible",
	} {
		if strings.HasPrefix(text, start) {
			return true
		}
	}
	return false
}

// place is the line and column of the first occurrence of word, which is in data.
func place(data []byte, word string) (line, column int) {
	at := max(bytes.Index(data, []byte(word)), 0)
	return bytes.Count(data[:at], []byte("\n")) + 1, at - bytes.LastIndexByte(data[:at], '\n')
}
