package tools

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"bflow.dev/bflow/internal/credential"
)

// scrubber takes out of JSON what may be secret: values of members whose name says so, of headers, of arguments after
// such a flag, of variables written as name and value, and those in texts (credential.Text), texts that are JSON
// themselves among them. It walks over JSON and notes what is to be replaced.
type scrubber struct {
	cursor
	memo  credential.Memo
	keys  map[string]*member // as they are spelt, with quotes
	depth int                // of JSON within texts
	edits []edit
	// The keys of this walk, and those of the one before, at a place in which the next one is expected: elements of a
	// list mostly have the same.
	order, expected []*member
	next            int
}

func newScrubber() *scrubber { return &scrubber{keys: map[string]*member{}} }

// longestOrder bounds how many keys of a walk are remembered.
const longestOrder = 1 << 10

// member is what is known of a name.
type member struct {
	spelt  string // with quotes
	secret bool
	counts bool   // its number is one of tokens
	names  bool   // its value may name a variable, whose value stands beside it
	value  bool   // its value may be that of a variable
	shown  string // the name as it may be shown; "" = as it is
}

// edit replaces in[from:to].
type edit struct {
	from, to int
	text     string
	harmless bool // nothing that may be secret was there
}

// deepest is how deep texts that are JSON lie in each other and are still read as such.
const deepest = 3

// document returns data as it is where nothing is taken out, and nothing where it is not JSON.
func (s *scrubber) document(data []byte, depth int) ([]byte, int) {
	if _, ok := s.walk(data, depth); !ok {
		return []byte(null), 1
	}
	return s.edited(data), s.countHidden()
}

// countHidden returns how many values that may be secret are replaced.
func (s *scrubber) countHidden() (n int) {
	for _, e := range s.edits {
		if !e.harmless {
			n++
		}
	}
	return n
}

// walk notes what is to be replaced in the value that data begins with, and returns where that ends; where data does
// not begin with a whole value of JSON, how far it went, and false. What Python writes and JSON does not know, NaN and
// the infinities, is replaced by null.
func (s *scrubber) walk(data []byte, depth int) (end int, ok bool) {
	s.in, s.at = data, 0
	s.depth, s.edits = depth, s.edits[:0]
	s.order, s.expected, s.next = s.expected[:0], s.order, 0
	_, ok = s.value(0)
	slices.SortFunc(s.edits, func(a, b edit) int { return a.from - b.from })
	return s.at, ok
}

// edited is data with what was noted replaced.
func (s *scrubber) edited(data []byte) []byte {
	if len(s.edits) == 0 {
		return data
	}
	out := make([]byte, 0, len(data))
	done := 0
	for _, e := range s.edits {
		out = append(append(out, data[done:e.from]...), e.text...)
		done = e.to
	}
	return append(out, data[done:]...)
}

// value walks over one value and returns what it is where it is a text.
func (s *scrubber) value(level int) (text string, ok bool) {
	switch s.peek() {
	case '{':
		return "", s.object(level)
	case '[':
		return "", s.array(level)
	case '"':
		return s.scrubText()
	}
	if n := notANumber(s.in[s.at:]); n > 0 {
		s.edits = append(s.edits, edit{from: s.at, to: s.at + n, text: null, harmless: true})
		s.at += n
		return "", s.at == len(s.in) || endsScalar(s.in[s.at])
	}
	_, ok = s.scalar()
	return "", ok
}

func (s *scrubber) object(level int) bool {
	var value span // of the member "value", which a secret name beside it hides
	named := false
	ok := s.each("{}", level, func() bool {
		key, ok := s.key()
		if !ok || !s.take(':') {
			return false
		}
		s.space()
		begin := s.at
		if key.secret {
			raw, ok := s.skip(level + 1)
			if ok && (!key.counts || !isNumber(raw[0])) {
				s.hide(begin, s.at)
			}
			return ok
		}
		text, ok := s.value(level + 1)
		switch {
		case key.names:
			named = named || secretName(text)
		case key.value:
			value = span{begin, s.at}
		}
		return ok
	})
	if named {
		s.hide(value.from, value.to)
	}
	return ok
}

type span struct{ from, to int }

func (s *scrubber) key() (*member, bool) {
	raw, _, ok := s.text()
	if !ok {
		return nil, false
	}
	m := s.known(raw)
	if len(s.order) < longestOrder {
		s.order = append(s.order, m)
	}
	if m.shown != "" {
		s.edits = append(s.edits, edit{from: s.at - len(raw), to: s.at, text: encoded(m.shown)})
	}
	return m, true
}

// known returns what is known of a name that is spelt so.
func (s *scrubber) known(raw []byte) *member {
	for skipped := range 3 { // some may be absent this time
		if at := s.next + skipped; at < len(s.expected) && s.expected[at].spelt == string(raw) {
			s.next = at + 1
			return s.expected[at]
		}
	}
	m := s.keys[string(raw)]
	if m == nil {
		m = s.member(string(raw), decoded(raw))
		if len(s.keys) < 1<<12 {
			s.keys[m.spelt] = m
		}
	}
	return m
}

func (s *scrubber) member(spelt, name string) *member {
	m := &member{spelt: spelt, secret: secretName(name)}
	lower := strings.ToLower(name)
	m.counts = strings.HasSuffix(lower, "token")
	m.names, m.value = lower == "name" || lower == "key", lower == "value"
	if shown := s.memo.Text(name); shown != name {
		m.shown = shown
	}
	return m
}

func (s *scrubber) array(level int) bool {
	var values [2]span // the first two
	before, first := "", ""
	n := 0
	ok := s.each("[]", level, func() bool {
		s.space()
		begin := s.at
		text, ok := s.value(level + 1)
		if strings.HasPrefix(before, "-") && !strings.HasPrefix(text, "-") && secretName(before) {
			s.hide(begin, s.at)
		}
		if before = text; n == 0 {
			first = text
		}
		if n < len(values) {
			values[n] = span{begin, s.at}
		}
		n++
		return ok
	})
	if n == 2 && secretName(first) { // a header as a pair
		s.hide(values[1].from, values[1].to)
	}
	return ok
}

// scrubText walks over a text and returns it.
func (s *scrubber) scrubText() (string, bool) {
	raw, _, ok := s.text()
	if !ok {
		return "", false
	}
	text := decoded(raw)
	shown := ""
	if s.depth < deepest && text != "" && (text[0] == '{' || text[0] == '[') && json.Valid([]byte(text)) {
		inner := &scrubber{keys: s.keys}
		out, _ := inner.document([]byte(text), s.depth+1)
		shown = string(out)
	} else {
		shown = s.memo.Text(text)
	}
	if shown != text {
		s.edits = append(s.edits, edit{from: s.at - len(raw), to: s.at, text: encoded(shown)})
	}
	return text, true
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
	s.edits = append(append(s.edits, after...), edit{from: from, to: to, text: null})
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
