package credential

import (
	"encoding/base64"
	"strings"
)

// Text returns a text as it may be shown: command lines, headers, configurations, code, or prose with any of them. What
// follows the name of a secret is hidden, and so are the secrets of addresses. It hides too much rather than too
// little.
func Text(text string) string { return new(Memo).Text(text) }

// Memo is the rule with a memory, for files in which the same names come again and again. Its zero value is ready; one
// goroutine may use it.
type Memo struct{ names map[string]bool }

// memory bounds how many names a Memo keeps.
const memory = 1 << 12

// Name is Name of the package.
func (m *Memo) Name(name string) bool {
	known, ok := m.names[name]
	if !ok {
		known = Name(name)
		if m.names == nil || len(m.names) >= memory {
			m.names = map[string]bool{}
		}
		m.names[strings.Clone(name)] = known
	}
	return known
}

// Text is Text of the package.
func (m *Memo) Text(text string) string {
	var shown strings.Builder
	done := 0
	for at := 0; ; {
		from, to := word(text, at)
		if to >= len(text) {
			break
		}
		begin, end, instead := m.find(text, from, to)
		at = max(to, end)
		if begin == end || text[begin:end] == instead {
			continue
		}
		shown.WriteString(text[done:begin])
		shown.WriteString(instead)
		done = end
	}
	if done == 0 {
		return text
	}
	shown.WriteString(text[done:])
	return shown.String()
}

// word returns where the next word of text begins and ends: what can be a name, dashes of a flag included.
func word(text string, at int) (from, to int) {
	for from = at; from < len(text) && !ofWord(text[from]); {
		from++
	}
	for to = from; to < len(text) && ofWord(text[to]); {
		to++
	}
	return from, to
}

func ofWord(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '_' || c == '-' || c == '.'
}

func isQuote(c byte) bool { return c == '"' || c == '\'' || c == '`' }

func isBlank(c byte) bool { return c == ' ' || c == '\t' }

func isSpace(c byte) bool { return isBlank(c) || c == '\n' || c == '\r' }

// find returns what of text is not shown because of the word text[from:to], and what stands there instead.
func (m *Memo) find(text string, from, to int) (begin, end int, instead string) {
	if strings.HasPrefix(text[to:], "://") {
		return address(text, to+3)
	}
	name := text[from:to]
	if isSpace(text[to]) && (strings.EqualFold(name, "bearer") || strings.EqualFold(name, "basic")) {
		return scheme(text, name, to)
	}
	if text[to] == ':' && to+1 < len(text) {
		if at := userinfo(text, to+1); at > 0 {
			return from, at, ""
		}
	}
	at := to
	for at < len(text) && (isQuote(text[at]) || text[at] == '\\') {
		at++
	}
	for at < len(text) && isBlank(text[at]) {
		at++
	}
	switch {
	case at < len(text) && (text[at] == ':' || text[at] == '=') && m.Name(name):
		begin, end = assigned(text, from, at)
	case name[0] == '-' && !ofWord(text[to]) && m.Name(name):
		begin, end = argument(text, to)
	}
	if Harmless(text[begin:end]) {
		return 0, 0, ""
	}
	return begin, end, hidden
}

// Harmless reports whether a value says nothing, whatever its name is.
func Harmless(value string) bool {
	switch strings.ToLower(value) {
	case "", hidden, "null", "none", "true", "false", "~":
		return true
	}
	return false
}

// scheme hides what follows the name of a scheme of the Authorization header.
func scheme(text, name string, at int) (begin, end int, instead string) {
	begin, end = argument(text, at)
	if strings.EqualFold(name, "basic") {
		plain, err := base64.StdEncoding.DecodeString(text[begin:end])
		if err != nil || !strings.Contains(string(plain), ":") {
			return 0, 0, ""
		}
	}
	return begin, end, hidden
}

// argument returns where the word after a flag begins and ends; another flag is none.
func argument(text string, at int) (begin, end int) {
	for at < len(text) && (isSpace(text[at]) || isQuote(text[at]) || strings.IndexByte(`\,[(`, text[at]) >= 0) {
		at++
	}
	switch {
	case at < len(text) && text[at] == '-':
		return at, at
	case at < len(text) && isQuote(text[at-1]):
		quote := at - 1
		for quote > 0 && text[quote-1] == '\\' {
			quote--
		}
		return at, closing(text, text[quote:at], at)
	}
	return at, plain(text, at)
}

// plain returns where a value ends that stands in no quotes.
func plain(text string, at int) int {
	for at < len(text) && !isSpace(text[at]) && !isQuote(text[at]) && text[at] != '\\' {
		at++
	}
	return at
}

// assigned returns where the value begins and ends that a name at from is given by the ":" or "=" at sign.
func assigned(text string, from, sign int) (begin, end int) {
	begin = sign + 1
	for begin < len(text) && isBlank(text[begin]) {
		begin++
	}
	open := begin
	for open < len(text) && text[open] == '\\' {
		open++
	}
	switch {
	case begin == len(text):
		return begin, begin
	case open < len(text) && isQuote(text[open]):
		return open + 1, closing(text, text[begin:open+1], open+1)
	case strings.IndexByte("[{(", text[begin]) >= 0:
		return begin, bracket(text, begin)
	case text[sign] == '=':
		return begin, plain(text, begin)
	}
	return begin, lines(text, from, begin)
}

// closing returns where a text in quotes ends: quote is how it was opened, with the backslashes of the quotes around.
func closing(text, quote string, at int) int {
	for at < len(text) {
		next := strings.Index(text[at:], quote)
		if next < 0 {
			return len(text)
		}
		next += at
		after := next + len(quote)
		switch {
		case next > 0 && text[next-1] == '\\': // escaped once more
			at = after
		case len(quote) == 1 && quote != `"` && after < len(text) && text[after] == quote[0]: // YAML doubles it
			at = after + 1
		default:
			return next
		}
	}
	return len(text)
}

// bracket returns where what is opened at begin is closed.
func bracket(text string, begin int) int {
	depth := 0
	for at := begin; at < len(text); at++ {
		switch text[at] {
		case '[', '{', '(':
			depth++
		case ']', '}', ')':
			if depth--; depth == 0 {
				return at + 1
			}
		}
	}
	return len(text)
}

// lines returns where a value ends that goes to the end of its line, or to a quote around it, and on over lines that
// lie deeper than that of its name.
func lines(text string, from, begin int) int {
	end := begin
	for end < len(text) && text[end] != '\n' && !isQuote(text[end]) {
		end++
	}
	if end < len(text) && isQuote(text[end]) {
		return end
	}
	first := strings.LastIndexByte(text[:from], '\n') + 1
	depth := indent(text[first:])
	for end < len(text) {
		line, _, _ := strings.Cut(text[end+1:], "\n")
		if strings.TrimSpace(line) != "" && indent(line) <= depth {
			break
		}
		end = min(end+1+len(line), len(text))
		if end+1 >= len(text) {
			break
		}
	}
	return end
}

func indent(line string) int { return len(line) - len(strings.TrimLeft(line, " \t-#")) }

// address hides the secrets of the address whose authority begins at begin.
func address(text string, begin int) (from, to int, instead string) {
	end := begin
	for end < len(text) && !isSpace(text[end]) && !isQuote(text[end]) && strings.IndexByte(`\<>`, text[end]) < 0 {
		end++
	}
	all := text[begin:end]
	rest := all
	stop := strings.IndexAny(all, "/?#")
	if stop < 0 {
		stop = len(all)
	}
	if _, port, ok := strings.Cut(all[:stop], ":"); ok && strings.Trim(port, "0123456789") != "" && port[0] != ':' {
		stop = len(all) // no port: a password that holds a stop
	}
	if at := strings.LastIndexByte(all[:stop], '@'); at >= 0 {
		rest = all[at+1:]
	}
	head, fragment, _ := strings.Cut(rest, "#")
	path, raw, ok := strings.Cut(head, "?")
	if ok && raw != "" {
		head = path + "?" + query(raw)
	}
	if fragment != "" && !strings.Contains(fragment, "=") {
		head += "#" + fragment
	}
	return begin, end, head
}

// longest bounds a password before an "@", so that a text without blanks is not read again at each of its colons.
const longest = 256

// userinfo returns the end of "password@" at the given place, where a name with a ":" stands before it and the host
// after it; else 0.
func userinfo(text string, at int) int {
	begin := at
	for at < min(len(text), begin+longest) && !isSpace(text[at]) && !isQuote(text[at]) &&
		strings.IndexByte(`\/,`, text[at]) < 0 {
		if text[at] == '@' && at > begin && at+1 < len(text) && ofWord(text[at+1]) {
			return at + 1
		}
		at++
	}
	return 0
}
