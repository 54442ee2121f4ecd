package tools

import (
	"bytes"
	"encoding/json"
	"regexp"
	"strings"

	"bflow.dev/bflow/internal/credential"
)

// Scrub returns data without the values of members that may hold a secret (headers, keys, passwords), also inside
// texts that are JSON themselves, and how many it took out. What is no JSON, or JSON by lines, is scrubbed line by
// line; a line that cannot be read and names such a member is left out whole.
func Scrub(data []byte) ([]byte, int) {
	if out, n, ok := scrubJSON(data); ok {
		return out, n
	}
	var b bytes.Buffer
	total := 0
	for line := range bytes.Lines(data) {
		out, n, ok := scrubJSON(line)
		switch {
		case ok && n > 0:
			b.Write(append(bytes.TrimRight(out, "\n"), '\n'))
		case !ok && namesSecret(string(line)):
			n = 1
		default:
			b.Write(line)
		}
		total += n
	}
	return b.Bytes(), total
}

// scrubJSON returns data as it is where nothing was taken out.
func scrubJSON(data []byte) ([]byte, int, bool) {
	dec := json.NewDecoder(bytes.NewReader(clean(data)))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil || dec.More() {
		return nil, 0, false
	}
	n := scrub(&v, 0)
	if n == 0 {
		return data, 0, true
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(v) != nil {
		return nil, 0, false
	}
	return b.Bytes(), n, true
}

func scrub(v *any, depth int) int {
	n := 0
	switch x := (*v).(type) {
	case map[string]any:
		for key, value := range x {
			if secretName(key) && !empty(value) {
				x[key] = nil
				n++
				continue
			}
			n += scrub(&value, depth)
			x[key] = value
		}
	case []any:
		for i := range x {
			n += scrub(&x[i], depth)
		}
	case string:
		if bare := withoutUser(x); bare != x {
			*v, n, x = bare, 1, bare
		}
		if depth < 3 && strings.HasPrefix(x, "{") && namesSecret(x) {
			if out, m, ok := nested(x, depth); ok {
				*v, n = out, n+m
			}
		}
	}
	return n
}

// withoutUser takes credentials out of the URLs in a text.
func withoutUser(text string) string {
	if !strings.Contains(text, "://") || !strings.Contains(text, "@") {
		return text
	}
	return regexp.MustCompile(`(://)[^/@\s"']+@`).ReplaceAllString(text, "$1")
}

func nested(text string, depth int) (string, int, bool) {
	dec := json.NewDecoder(strings.NewReader(text))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return "", 1, true
	}
	n := scrub(&v, depth+1)
	out, err := json.Marshal(v)
	return string(out), n, err == nil
}

func empty(v any) bool {
	switch x := v.(type) {
	case nil:
		return true
	case string:
		return x == ""
	case map[string]any:
		return len(x) == 0
	case []any:
		return len(x) == 0
	case bool, json.Number:
		return true
	}
	return false
}

func secretName(key string) bool {
	return strings.EqualFold(key, "headers") || strings.EqualFold(key, "header") || credential.Name(key)
}

// member is what may be the name of one in a text that cannot be read: it may be cut, and escaped.
var member = regexp.MustCompile(`([A-Za-z][\w.-]*)[\\"']*\s*[:=]`)

func namesSecret(text string) bool {
	if strings.Contains(strings.ToLower(text), "bearer") {
		return true
	}
	for _, m := range member.FindAllStringSubmatch(text, -1) {
		if secretName(m[1]) {
			return true
		}
	}
	return false
}
