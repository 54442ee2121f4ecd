package tools

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"bflow.dev/bflow/internal/credential"
)

// scrubber takes out of JSON what may be secret: values of members whose name says so, of headers, of arguments after such
// a flag, of variables written as name and value, and those in texts (credential.Text), texts that are JSON themselves
// among them. It walks over JSON that is known to be valid and notes what is to be replaced.
type scrubber struct {
	memo  credential.Memo
	keys  map[string]member // as they are spelt, with quotes
	in    []byte
	at    int
	depth int // of JSON within texts
	edits []edit
}

func newScrubber() *scrubber { return &scrubber{keys: map[string]member{}} }

// member is what is known of a name.
type member struct {
	name   string
	secret bool
	counts bool   // its number is one of tokens
	shown  string // the name as it may be shown, with quotes
}

// edit replaces in[from:to].
type edit struct {
	from, to int
	text     string
}

// deepest is how deep texts that are JSON lie in each other and are still read as such.
const deepest = 3

// document returns data as it is where nothing is taken out.
func (s *scrubber) document(data []byte, depth int) ([]byte, int) {
	s.in, s.at, s.depth, s.edits = data, 0, depth, s.edits[:0]
	s.value()
	if len(s.edits) == 0 {
		return data, 0
	}
	slices.SortFunc(s.edits, func(a, b edit) int { return a.from - b.from })
	out := make([]byte, 0, len(data))
	done := 0
	for _, e := range s.edits {
		out = append(append(out, data[done:e.from]...), e.text...)
		done = e.to
	}
	return append(out, data[done:]...), len(s.edits)
}

func (s *scrubber) space() {
	for s.at < len(s.in) && bytes.IndexByte([]byte(" \t\r\n,:"), s.in[s.at]) >= 0 {
		s.at++
	}
}

// value walks over one value and returns what it is where it is a text.
func (s *scrubber) value() string {
	s.space()
	switch s.in[s.at] {
	case '{':
		s.object()
	case '[':
		s.array()
	case '"':
		return s.text()
	default:
		s.skip()
	}
	return ""
}

// skip passes over one value and returns where it begins and ends.
func (s *scrubber) skip() (from, to int) {
	s.space()
	from = s.at
	switch s.in[s.at] {
	case '"':
		s.at = endOfText(s.in, s.at)
	case '{', '[':
		for depth := 0; ; {
			switch s.in[s.at] {
			case '"':
				s.at = endOfText(s.in, s.at)
				continue
			case '{', '[':
				depth++
			case '}', ']':
				depth--
			}
			if s.at++; depth == 0 {
				return from, s.at
			}
		}
	default:
		for s.at < len(s.in) && bytes.IndexByte([]byte(" \t\r\n,]}"), s.in[s.at]) < 0 {
			s.at++
		}
	}
	return from, s.at
}

// endOfText returns where the text ends that begins at the quote at.
func endOfText(in []byte, at int) int {
	for at++; ; at++ {
		next := bytes.IndexByte(in[at:], '"')
		back := bytes.IndexByte(in[at:at+next], '\\')
		if back < 0 {
			return at + next + 1
		}
		at += back + 1 // passes over what is escaped
	}
}

func (s *scrubber) object() {
	s.at++
	var value span // of the member "value", which a secret name beside it hides
	named := false
	for {
		s.space()
		if s.in[s.at] == '}' {
			s.at++
			break
		}
		key := s.key()
		s.space()
		begin := s.at
		if key.secret {
			if from, to := s.skip(); !key.counts || !isNumber(s.in[from]) {
				s.hide(from, to)
			}
			continue
		}
		text := s.value()
		switch strings.ToLower(key.name) {
		case "name", "key":
			named = named || secretName(text)
		case "value":
			value = span{begin, s.at}
		}
	}
	if named {
		s.hide(value.from, value.to)
	}
}

type span struct{ from, to int }

func (s *scrubber) key() member {
	from := s.at
	s.at = endOfText(s.in, s.at)
	raw := s.in[from:s.at]
	m, ok := s.keys[string(raw)]
	if !ok {
		m.name = decoded(raw)
		m.secret = secretName(m.name)
		m.counts = strings.HasSuffix(strings.ToLower(m.name), "token")
		if m.shown = s.memo.Text(m.name); m.shown == m.name {
			m.shown = ""
		}
		if len(s.keys) < 1<<12 {
			s.keys[string(raw)] = m
		}
	}
	if m.shown != "" {
		s.edits = append(s.edits, edit{from, s.at, encoded(m.shown)})
	}
	return m
}

func (s *scrubber) array() {
	s.at++
	var values []span // the first two
	before, first := "", ""
	n := 0
	for ; ; n++ {
		s.space()
		if s.in[s.at] == ']' {
			s.at++
			break
		}
		begin := s.at
		text := s.value()
		if strings.HasPrefix(before, "-") && !strings.HasPrefix(text, "-") && secretName(before) {
			s.hide(begin, s.at)
		}
		if before = text; n == 0 {
			first = text
		}
		if n < 2 {
			values = append(values, span{begin, s.at})
		}
	}
	if n == 2 && secretName(first) { // a header as a pair
		s.hide(values[1].from, values[1].to)
	}
}

// text walks over a text and returns it.
func (s *scrubber) text() string {
	from := s.at
	s.at = endOfText(s.in, s.at)
	text := decoded(s.in[from:s.at])
	shown := ""
	if s.depth < deepest && text != "" && (text[0] == '{' || text[0] == '[') && json.Valid([]byte(text)) {
		inner := &scrubber{keys: s.keys}
		out, _ := inner.document([]byte(text), s.depth+1)
		shown = string(out)
	} else {
		shown = s.memo.Text(text)
	}
	if shown != text {
		s.edits = append(s.edits, edit{from, s.at, encoded(shown)})
	}
	return text
}

// hide replaces a value by null, with all that was replaced in it.
func (s *scrubber) hide(from, to int) {
	switch raw := string(s.in[from:to]); raw {
	case "", `""`, "{}", "[]", "null", "true", "false":
		return
	}
	var after []edit
	for n := len(s.edits); n > 0 && s.edits[n-1].from >= from; n-- {
		if e := s.edits[n-1]; e.from >= to {
			after = append(after, e)
		}
		s.edits = s.edits[:n-1]
	}
	s.edits = append(append(s.edits, after...), edit{from, to, "null"})
}

func isNumber(c byte) bool { return c == '-' || '0' <= c && c <= '9' }

func decoded(raw []byte) string {
	if bytes.IndexByte(raw, '\\') < 0 {
		return string(raw[1 : len(raw)-1])
	}
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return ""
	}
	return text
}

func encoded(text string) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	_ = enc.Encode(text) // a text can be written, and a builder takes it
	return strings.TrimSuffix(b.String(), "\n")
}

func secretName(name string) bool {
	return strings.EqualFold(name, "headers") || strings.EqualFold(name, "header") || credential.Name(name)
}
