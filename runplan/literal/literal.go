// Package literal moves literal credentials of a file out of the texts of a plan, and replaces them with references
// to Secrets. It must not write anything: it keeps the credentials in memory only.
package literal

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"bflow.dev/bflow/internal/credential"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
)

// secretKey is the key of a Secret that holds one literal credential.
const secretKey = "value"

// Secret is a credential found in a file: it must never reach a plan, an argument or a log.
type Secret struct {
	Name string // a function of the value
	Key  string
	// Value is the credential itself.
	Value string `json:"-"`
}

// String leaves the credential out.
func (s Secret) String() string { return "secret " + s.Name }

// GoString leaves the credential out.
func (s Secret) GoString() string { return s.String() }

// Taker takes literal credentials. The zero value is ready to use, and says nothing.
type Taker struct {
	Told  func(text string) // gets a sentence for each credential, without it
	Taken []Secret          // each once
}

// take returns the reference to value, which place held.
func (t *Taker) take(place, value string) string {
	sum := sha256.Sum256([]byte("literal\x00" + value))
	s := Secret{Name: contract.SecretLiteral + hex.EncodeToString(sum[:5]), Key: secretKey, Value: value}
	if !slices.ContainsFunc(t.Taken, func(have Secret) bool { return have.Name == s.Name }) {
		t.Taken = append(t.Taken, s)
	}
	if t.Told != nil {
		t.Told(
			fmt.Sprintf("%s is a literal credential, which is moved into Secret %q; better create a Secret and refer to it: "+
				"valueFrom: {secretKeyRef: {name: NAME, key: KEY}}", place, s.Name))
	}
	return runplan.SecretKey{Name: s.Name, Key: s.Key}.Reference()
}

// Text returns the text of what is called name, a variable or a header: a reference where the name is that of a secret,
// or where the text is an address with a credential in it.
func (t *Taker) Text(place, name, text string) string {
	if strings.TrimSpace(text) == "" || len(runplan.References(text)) > 0 {
		return text
	}
	if credential.Name(name) || holdsAddress(text) {
		return t.take(place+" "+name, text)
	}
	return text
}

// holdsAddress says whether text is an address with a credential in it, or something about one that no rule can take
// apart.
func holdsAddress(text string) bool {
	if !strings.Contains(text, "://") {
		return false
	}
	_, err := url.Parse(text)
	return err == nil && credential.InURL(text) || err != nil && strings.Contains(text, "@")
}

// Texts is Text for each of a mapping, in a copy.
func (t *Taker) Texts(place string, texts map[string]string) map[string]string {
	out := maps.Clone(texts)
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		out[name] = t.Text(place, name, texts[name])
	}
	return out
}

// Tree returns what JSON knows, in a copy, with references where a member of a secret's name holds text, at any depth.
func (t *Taker) Tree(place string, tree any) any { return t.tree(place, "", tree, false) }

// tree walks; inside is true below a member whose name is that of a secret.
func (t *Taker) tree(place, name string, v any, inside bool) any {
	switch v := v.(type) {
	case map[string]any:
		out := make(map[string]any, len(v))
		for _, key := range slices.Sorted(maps.Keys(v)) {
			out[key] = t.tree(strings.TrimPrefix(place+"."+key, "."), key, v[key], inside || credential.Name(key))
		}
		return out
	case []any:
		out := make([]any, len(v))
		for i := range v {
			out[i] = t.tree(place, name, v[i], inside)
		}
		return out
	case string:
		if (inside || holdsAddress(v)) && strings.TrimSpace(v) != "" && len(runplan.References(v)) == 0 {
			return t.take(place, v)
		}
		return v
	default:
		return v
	}
}

// Address returns an address, or a path with a query, with references in place of its credentials: those of the user,
// and the values of parameters that hold secrets. The rest of it stays as it is spelt.
func (t *Taker) Address(place, address string) string {
	if address == "" || runplan.IsReference(address) || !credential.InURL(address) {
		return address
	}
	if _, err := url.Parse(address); err != nil {
		return t.take(place, address) // nobody knows which part of it is secret
	}
	front, fragment, _ := strings.Cut(address, "#")
	front, query, asked := strings.Cut(front, "?")
	if scheme, rest, ok := strings.Cut(front, "://"); ok {
		authority, path, slash := strings.Cut(rest, "/")
		if i := strings.LastIndexByte(authority, '@'); i >= 0 {
			authority = t.user(place, authority[:i]) + authority[i:]
		}
		front = scheme + "://" + authority
		if slash {
			front += "/" + path
		}
	}
	if asked {
		front += "?" + t.parameters(place, query)
	}
	if fragment != "" && !credential.InURL("#"+fragment) {
		front += "#" + fragment
	}
	return front
}

// user is the user's part of an address: a token may stand in place of the user as well, but not beside a password that
// a Secret holds already.
func (t *Taker) user(place, raw string) string {
	name, password, both := strings.Cut(raw, ":")
	if both && len(runplan.References(password)) > 0 {
		return raw
	}
	name = t.part(place, name)
	if !both {
		return name
	}
	return name + ":" + t.part(place, password)
}

// part takes a part of an address, as it is without escapes.
func (t *Taker) part(place, raw string) string {
	plain, err := url.PathUnescape(raw)
	if err != nil || raw == "" || len(runplan.References(raw)) > 0 {
		return raw
	}
	return t.take(place, plain)
}

func (t *Taker) parameters(place, query string) string {
	var b strings.Builder
	for query != "" {
		end := strings.IndexAny(query, "&;")
		if end < 0 {
			end = len(query)
		}
		name, value, assigned := strings.Cut(query[:end], "=")
		plain, err := url.QueryUnescape(name)
		b.WriteString(name)
		if assigned {
			b.WriteByte('=')
			if value != "" && (err != nil || credential.Parameter(plain)) {
				if unescaped, err := url.QueryUnescape(value); err == nil && len(runplan.References(value)) == 0 {
					value = t.take(place, unescaped)
				}
			}
			b.WriteString(value)
		}
		if end < len(query) {
			b.WriteByte(query[end])
			end++
		}
		query = query[end:]
	}
	return b.String()
}

// Args returns arguments with references in place of the values of flags whose names are those of secrets, and of
// addresses with credentials.
func (t *Taker) Args(place string, args []string) []string {
	out := slices.Clone(args)
	next := ""
	for i, arg := range args {
		name, value, joined := strings.Cut(arg, "=")
		flag := strings.HasPrefix(arg, "-")
		switch {
		case flag && joined:
			out[i] = name + "=" + t.Text(place, name, value)
		case !flag && next != "":
			out[i] = t.Text(place, next, arg)
		case !flag:
			out[i] = t.Text(place, "", arg)
		}
		if next = ""; flag && !joined {
			next = arg
		}
	}
	return out
}
