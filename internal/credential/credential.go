// Package credential decides by name whether something holds a secret: the one rule for headers, variables, flags,
// fields of bodies and query parameters. It must not hold secrets or know where a name comes from.
package credential

import (
	"net/url"
	"slices"
	"strings"
	"unicode"
)

// secret says whether a word makes a name one of a secret, wherever it stands in it.
func secret(word string) bool {
	switch word {
	case "apikey", "apitoken", "accesstoken", "authtoken", "authorization", "bearer", "cookie", "cookies",
		"credential", "credentials",
		"hftoken", "jwt", "passphrase", "passwd", "password", "privatekey", "secret", "secretkey", "signature":
		return true
	}
	return false
}

// ofText says whether "token" after this word is a piece of text or an end of one.
func ofText(word string) bool {
	switch word {
	case "a", "bos", "cls", "each", "eos", "first", "input", "inter", "last", "mask", "next", "one", "output",
		"pad", "per", "prompt",
		"second", "sep", "single", "stop", "unk":
		return true
	}
	return false
}

// finds says whether a "key" after this word finds something and opens nothing.
func finds(word string) bool {
	switch word {
	case "cache", "foreign", "group", "hash", "header", "idempotency", "index", "partition", "prefix", "primary", "public",
		"routing", "run", "setup", "shard", "sort":
		return true
	}
	return false
}

// opens says whether a "key" after this word opens something, whatever follows: AWS_ACCESS_KEY_ID, api_key_1.
func opens(word string) bool {
	switch word {
	case "access", "api", "private", "secret", "subscription":
		return true
	}
	return false
}

// turns says whether this word begins the name of a switch.
func turns(word string) bool {
	switch word {
	case "disable", "enable", "no", "require", "use":
		return true
	}
	return false
}

// Name says whether a header, variable, flag or member of this name holds a secret, however it is spelt: X-API-Key,
// xApiKey and X_API_KEY are one name.
func Name(name string) bool {
	words := split(name)
	if len(words) == 0 || turns(words[0]) {
		return false
	}
	if slices.ContainsFunc(words, secret) {
		return true
	}
	for i := 1; i < len(words); i++ {
		if (words[i] == "key" || words[i] == "keys") && opens(words[i-1]) {
			return true
		}
	}
	last, before := words[len(words)-1], ""
	if len(words) > 1 {
		before = words[len(words)-2]
	}
	switch last {
	case "token":
		return !ofText(before)
	case "key":
		return before != "" && !finds(before)
	case "auth":
		return true
	case "pwd", "pass", "sas": // PWD alone is a folder
		return before != ""
	}
	return false
}

// Parameter says whether a parameter of an address holds a secret: what Name says, and the short names that services
// have for it.
func Parameter(name string) bool {
	return Name(name) || slices.Contains([]string{"key", "sig", "code"}, strings.ToLower(name))
}

// split returns the words of a name in small letters: they are parted by what is neither letter nor digit, and by
// capitals within a word.
func split(name string) []string {
	var b strings.Builder
	small := false
	for _, r := range name {
		if small && unicode.IsUpper(r) {
			b.WriteByte(' ')
		}
		small = unicode.IsLower(r) || unicode.IsDigit(r)
		if !unicode.IsLetter(r) && !unicode.IsDigit(r) {
			r = ' '
		}
		b.WriteRune(unicode.ToLower(r))
	}
	return strings.Fields(b.String())
}

// InURL says whether an address holds a secret: a user's part, for tokens stand in place of a user too, or a value of a
// parameter that holds one. What is no address may hold anything.
func InURL(address string) bool {
	u, err := url.Parse(address)
	return err != nil || u.User != nil || query(u.RawQuery) != u.RawQuery || query(u.Fragment) != u.Fragment
}

// hidden stands for what is not shown.
const hidden = "xxxxx"

// URL returns an address as it may be shown: without the user's part and the
// fragment, and with the values of parameters hidden that hold a secret.
// What is no address is returned as hidden.
func URL(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return hidden
	}
	u.User, u.Fragment, u.RawFragment = nil, "", ""
	u.RawQuery = query(u.RawQuery)
	return u.String()
}

// query hides values and leaves everything else as it is spelt.
func query(raw string) string {
	var b strings.Builder
	for raw != "" {
		end := strings.IndexAny(raw, "&;")
		if end < 0 {
			end = len(raw)
		}
		b.WriteString(pair(raw[:end]))
		if end < len(raw) {
			b.WriteByte(raw[end])
			end++
		}
		raw = raw[end:]
	}
	return b.String()
}

func pair(raw string) string {
	name, value, _ := strings.Cut(raw, "=")
	plain, err := url.QueryUnescape(name)
	if value != "" && (err != nil || Parameter(plain)) {
		return name + "=" + hidden
	}
	return raw
}
