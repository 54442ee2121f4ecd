package step

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"io"
	"net/url"
	"slices"
	"strings"
)

// redacted stands where a secret was.
const redacted = "[secret]"

// Redaction takes secrets out of what other programs print, as they are and in the spellings in which programs write
// them: a server may print its own arguments. nil takes nothing out. Several goroutines may use one.
type Redaction struct {
	spelt [256][]string // by their first byte
}

// NewRedaction returns the Redaction of secrets. One that is shorter than five bytes stays where it is: it is found in
// words that have nothing to do with it.
func NewRedaction(secrets ...string) *Redaction {
	r := &Redaction{}
	for _, secret := range secrets {
		for _, text := range Spellings(secret) {
			if known := r.spelt[text[0]]; !slices.Contains(known, text) {
				r.spelt[text[0]] = append(known, text)
			}
		}
	}
	return r
}

// Text returns text without the secrets.
func (r *Redaction) Text(text string) string {
	var clean bytes.Buffer
	w := r.Writer(&clean)
	_, _ = w.Write([]byte(text)) // into memory, as all of it
	_ = w.finish(false)
	return clean.String()
}

// Writer returns a writer to w that takes the secrets out of a stream, also where one comes in several writes. It keeps
// back what may be the beginning of a secret; Close writes that, and leaves w open.
func (r *Redaction) Writer(w io.Writer) *RedactingWriter {
	if r == nil {
		r = &Redaction{}
	}
	return &RedactingWriter{r: r, to: w}
}

// RedactingWriter is a stream without secrets.
type RedactingWriter struct {
	r     *Redaction
	to    io.Writer
	kept  []byte // not written yet
	until int    // kept[:until] belongs to a secret that was written as redacted
}

// Write implements io.Writer.
func (w *RedactingWriter) Write(p []byte) (int, error) {
	w.kept = append(w.kept, p...)
	if err := w.flush(false); err != nil {
		return 0, err
	}
	return len(p), nil
}

// Close writes what was kept back. A stream that ends within a secret was cut: what is there of it is taken out too.
func (w *RedactingWriter) Close() error { return w.finish(true) }

func (w *RedactingWriter) finish(cut bool) error {
	if cut && len(w.kept) >= shortestHidden && w.until == 0 && w.r.begins(w.kept) {
		w.kept = nil
		_, err := io.WriteString(w.to, redacted)
		return err
	}
	return w.flush(true)
}

// flush writes what is known to be of a secret or of none. Secrets that overlap are one.
func (w *RedactingWriter) flush(all bool) error {
	clean := make([]byte, 0, len(w.kept))
	at := 0
	for ; at < len(w.kept); at++ {
		rest := w.kept[at:]
		n, more := w.r.match(rest)
		if more && !all {
			break
		}
		if n > 0 && at >= w.until {
			clean = append(clean, redacted...)
		}
		if w.until = max(w.until, at+n); at >= w.until {
			clean = append(clean, rest[0])
		}
	}
	w.kept = append(w.kept[:0], w.kept[at:]...)
	w.until = max(0, w.until-at)
	if len(clean) == 0 {
		return nil
	}
	_, err := w.to.Write(clean)
	return err
}

// match returns the length of the longest secret with which text begins, 0 for none, and whether text may be the
// beginning of a longer one.
func (r *Redaction) match(text []byte) (n int, more bool) {
	for _, secret := range r.spelt[text[0]] {
		switch {
		case len(secret) > len(text):
			more = more || strings.HasPrefix(secret, string(text))
		case len(secret) > n && string(text[:len(secret)]) == secret:
			n = len(secret)
		}
	}
	return n, more
}

// begins says whether a secret begins with all of text.
func (r *Redaction) begins(text []byte) bool {
	_, more := r.match(text)
	return more
}

// Spellings are secret and the ways in which programs write it: escaped in an address, in JSON and in a text of Python,
// in hexadecimal digits and in base64, there also behind the name of a user. A value of several lines may be printed
// line by line. Nothing of it that is shorter than five bytes is among them.
func Spellings(secret string) []string {
	var all []string
	for _, plain := range append([]string{secret}, strings.Split(secret, "\n")...) {
		plain = strings.TrimRight(plain, "\r\n")
		if len(plain) < shortestHidden {
			continue
		}
		escaped, query := url.PathEscape(plain), url.QueryEscape(plain)
		python := strings.NewReplacer(`\`, `\\`, `'`, `\'`, "\n", `\n`, "\r", `\r`, "\t", `\t`).Replace(plain)
		digits := hex.EncodeToString([]byte(plain))
		all = append(all, plain, escaped, query, strings.ReplaceAll(query, "+", "%20"), lowerEscapes(escaped),
			lowerEscapes(query),
			strings.ReplaceAll(lowerEscapes(query), "+", "%20"), python, digits, strings.ToUpper(digits))
		all = append(append(all, inJSON(plain)...), inBase64(plain)...)
	}
	return slices.DeleteFunc(all, func(s string) bool { return len(s) < shortestHidden })
}

// lowerEscapes spells %2F as %2f.
func lowerEscapes(escaped string) string {
	b := []byte(escaped)
	for i := 0; i+2 < len(b); i++ {
		if b[i] == '%' {
			copy(b[i+1:], bytes.ToLower(b[i+1:i+3]))
		}
	}
	return string(b)
}

// inJSON is a text as it stands between the quotes of JSON: as programs in Go write it, and as others do.
func inJSON(plain string) []string {
	var all []string
	for _, html := range []bool{true, false} {
		var b bytes.Buffer
		encoder := json.NewEncoder(&b)
		encoder.SetEscapeHTML(html)
		if encoder.Encode(plain) == nil {
			all = append(all, b.String()[1:b.Len()-2]) // without the quotes and the end of the line
		}
	}
	return all
}

// inBase64 is what of the base64 of a text that holds plain depends on plain alone, wherever in it plain begins.
func inBase64(plain string) []string {
	var all []string
	for before := range 3 {
		bits := (before + len(plain)) * 8
		from, to := (before*8+5)/6, bits/6
		text := base64.StdEncoding.EncodeToString(append(make([]byte, before), plain...))[from:to]
		all = append(all, text, strings.NewReplacer("+", "-", "/", "_").Replace(text))
	}
	return all
}
