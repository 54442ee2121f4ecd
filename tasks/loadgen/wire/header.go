package wire

import (
	"bytes"
	"fmt"
)

// takeHeader takes in a line of the head. Only what frames the answer and the few that are recorded are looked at.
func (p *Parser) takeHeader(line []byte) error {
	if p.size += len(line); p.size > MaxHead {
		return fmt.Errorf("%w: head above %d bytes", ErrBadAnswer, MaxHead)
	}
	name, value, ok := bytes.Cut(line, []byte(":"))
	if !ok {
		return fmt.Errorf("%w: header %.60q", ErrBadAnswer, line)
	}
	switch line[0] | 0x20 { // of those that are looked for
	case 'c', 'l', 'r', 't', 'x':
	default:
		return nil
	}
	value = bytes.TrimSpace(value)
	switch len(name) {
	case len("connection"):
		if is(name, "connection") {
			p.keep = !is(value, "close") && (p.keep || is(value, "keep-alive"))
		}
	case len("location"):
		if p.head.Status/100 == 3 && is(name, "location") && len(value) <= maxLocation {
			p.head.Location = string(value)
		}
	case len("retry-after"):
		p.names(name, value, "retry-after", &p.head.RetryAfter, p.last.RetryAfter)
	case len("content-length"):
		if is(name, "content-length") {
			return p.takeLength(value)
		}
	case len("content-encoding"):
		p.names(name, value, "content-encoding", &p.head.Encoding, p.last.Encoding)
	case len("transfer-encoding"):
		if is(name, "transfer-encoding") {
			p.chunk = is(value, "chunked")
			p.close = !p.chunk
		}
	}
	if line[0]|0x20 == 'x' {
		p.takePod(name, value)
	}
	return nil
}

// takePod takes in the header that names who answered.
func (p *Parser) takePod(name, value []byte) {
	for _, pod := range []string{"x-inference-pod", "x-served-by-pod", "x-pod-name"} {
		p.names(name, value, pod, &p.head.Pod, p.last.Pod)
	}
}

// names sets to where the header has the name. A text that the answer before had costs nothing.
func (p *Parser) names(name, value []byte, want string, to *string, before string) {
	switch {
	case len(name) != len(want) || !is(name, want) || len(value) > maxName:
	case string(value) == before:
		*to = before
	default:
		*to = string(value)
	}
}

func (p *Parser) takeLength(value []byte) error {
	n, ok := number(value)
	if !ok {
		return fmt.Errorf("%w: content-length %.60q", ErrBadAnswer, value)
	}
	if !p.chunk {
		p.left, p.close = n, false
	}
	return nil
}

// is compares without regard to case; want is in lower case.
func is(got []byte, want string) bool {
	if len(got) != len(want) {
		return false
	}
	for i, c := range got {
		if c >= 'A' && c <= 'Z' {
			c |= 0x20
		}
		if c != want[i] {
			return false
		}
	}
	return true
}
