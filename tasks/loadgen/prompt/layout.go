package prompt

import (
	"strconv"

	"bflow.dev/bflow/runplan"
)

// layout is a body cut at the places where something changes from request to request.
type layout struct {
	heads      [][]byte // the model's, then those of the adapters
	lengths    [][]byte // each is followed by the length of the answer
	exact      []byte
	closing    []byte // behind the lengths
	priorities [][]byte

	field     string // the content's name, before its value
	outside   bool   // the system text stands before open
	system    quote
	open      string
	user      quote
	parts     quote // of a user text with images
	assistant quote
	between   string // two texts
	end       string
}

// quote is what stands around a text.
type quote struct{ before, after string }

// layout puts together how the style writes a body.
func (s *Style) layout() layout {
	l := s.content()
	for _, h := range s.heads {
		l.heads = append(l.heads, h.text)
		if h.nested {
			l.closing = []byte("}")
		}
	}
	for _, key := range s.LengthKeys {
		if !s.given[key] {
			l.lengths = append(l.lengths, []byte(`,"`+key+`":`))
		}
	}
	if s.Exact && !s.given["min_tokens"] {
		l.lengths = append(l.lengths, []byte(`,"min_tokens":`))
	}
	if s.Exact && !s.given["ignore_eos"] {
		l.exact = []byte(`,"ignore_eos":true`)
	}
	for _, p := range s.api.Priorities {
		l.priorities = append(l.priorities, strconv.AppendInt([]byte(`,"priority":`), int64(p.Value), 10))
	}
	return l
}

// priorities returns how many priorities are drawn from: none where the plan's body sets one for all.
func (s *Style) priorities() int {
	if s.given["priority"] {
		return 0
	}
	return len(s.api.Priorities)
}

// content says how the style writes texts.
func (s *Style) content() layout {
	field := `,"` + s.Field + `":`
	switch {
	case s.IDs:
		return layout{open: field + "[", between: ",", end: "]}"}
	case !s.Chat:
		return layout{open: field + `"`, between: " ", end: `"}`}
	}
	l := layout{field: field, open: field + "[", between: ",", end: "]}", system: message("system"),
		user: message("user"), assistant: message("assistant"),
		parts: quote{`{"role":"user","content":[{"type":"text","text":"`, `"}`}}
	if s.api.Type == runplan.APIMessages {
		l.outside, l.system = true, quote{`,"system":"`, `"`}
	}
	return l
}

func message(role string) quote { return quote{`{"role":"` + role + `","content":"`, `"}`} }

// start appends a body up to its content.
func (l *layout) start(b []byte, adapter, priority int, out int64) []byte {
	b = append(b, l.heads[adapter+1]...)
	if out > 0 {
		for _, field := range l.lengths {
			b = strconv.AppendInt(append(b, field...), out, 10)
		}
		b = append(b, l.exact...)
	}
	b = append(b, l.closing...)
	if priority >= 0 {
		b = append(b, l.priorities[priority]...)
	}
	return b
}
