package compile

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// yamlWriter writes what encoding/json decodes into an any: a small part of YAML, in one style, many times faster
// than a general encoder. Texts are plain where no reader of YAML 1.1 or 1.2 could take them for anything else, in
// single quotes where those need no escapes but their own, else in double quotes.
type yamlWriter struct{ *bytes.Buffer }

func (y yamlWriter) mapping(m map[string]any, indent int) {
	for _, key := range slices.Sorted(maps.Keys(m)) {
		y.indent(indent)
		y.text(key)
		y.WriteByte(':')
		y.value(m[key], indent)
	}
}

func (y yamlWriter) sequence(items []any, indent int) {
	for _, item := range items {
		y.indent(indent)
		y.WriteByte('-')
		m, ok := item.(map[string]any)
		if !ok || len(m) == 0 {
			y.value(item, indent+1)
			continue
		}
		// The first key stands behind the dash, where an indentation would have been.
		var rest bytes.Buffer
		yamlWriter{&rest}.mapping(m, indent+1)
		y.WriteByte(' ')
		y.Write(rest.Bytes()[2*(indent+1):])
	}
}

// value writes v behind a key or a dash; indent is that of the key.
func (y yamlWriter) value(v any, indent int) {
	switch v := v.(type) {
	case map[string]any:
		if len(v) > 0 {
			y.WriteByte('\n')
			y.mapping(v, indent+1)
			return
		}
		y.WriteString(" {}")
	case []any:
		if len(v) > 0 {
			y.WriteByte('\n')
			y.sequence(v, indent)
			return
		}
		y.WriteString(" []")
	default:
		y.WriteByte(' ')
		y.scalar(v)
	}
	y.WriteByte('\n')
}

func (y yamlWriter) scalar(v any) {
	switch v := v.(type) {
	case nil:
		y.WriteString("null")
	case string:
		y.text(v)
	default: // bool, json.Number
		fmt.Fprint(y, v)
	}
}

func (y yamlWriter) text(s string) {
	switch {
	case plain(s):
		y.WriteString(s)
	case singleQuotable(s):
		y.WriteByte('\'')
		y.WriteString(strings.ReplaceAll(s, "'", "''"))
		y.WriteByte('\'')
	default:
		y.doubleQuoted(s)
	}
}

// doubleQuoted escapes what YAML does not print. It knows the escapes that JSON has too, and no others.
func (y yamlWriter) doubleQuoted(s string) {
	y.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			y.WriteByte('\\')
			y.WriteRune(r)
		case r == '\n':
			y.WriteString(`\n`)
		case r == '\t':
			y.WriteString(`\t`)
		case printable(r):
			y.WriteRune(r)
		default: // below U+10000, all of which above is printable
			fmt.Fprintf(y, `\u%04x`, r)
		}
	}
	y.WriteByte('"')
}

func (y yamlWriter) indent(n int) {
	for range n {
		y.WriteString("  ")
	}
}

// reserved says whether some reader takes s for a boolean or null.
func reserved(s string) bool {
	switch strings.ToLower(s) {
	case "y", "n", "yes", "no", "on", "off", "true", "false", "null":
		return true
	default:
		return false
	}
}

// plain says whether s can stand without quotes. It is stricter than YAML: it refuses digits at the start, so that
// nothing looks like a number or a date.
func plain(s string) bool {
	if s == "" || reserved(s) {
		return false
	}
	start := strings.TrimPrefix(s, "--")
	if start == "" || !isLetter(start[0]) && start[0] != '$' && start[0] != '/' || s[len(s)-1] == ' ' {
		return false
	}
	for i := range len(s) {
		c := s[i]
		if c == ':' && (i+1 == len(s) || s[i+1] == ' ') {
			return false
		}
		if !isAlphanumeric(rune(c)) && strings.IndexByte(" -_./:=$()@,;+~", c) < 0 {
			return false
		}
	}
	return true
}

func singleQuotable(s string) bool {
	for _, r := range s {
		if !printable(r) || r == utf8.RuneError || unicode.IsSpace(r) && r != ' ' {
			return false
		}
	}
	return true
}

// printable are the characters that YAML 1.1 allows in a document, without line breaks of any kind.
func printable(r rune) bool {
	return r >= 0x20 && r < 0x7f || r >= 0xa0 && r <= 0xd7ff && r != 0x2028 && r != 0x2029 ||
		r >= 0xe000 && r <= 0xfffd && r != 0xfeff || r >= 0x10000
}

func isLetter(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
