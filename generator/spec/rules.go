package spec

import (
	"net/netip"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"bflow.dev/bflow/internal/credential"
	"bflow.dev/bflow/internal/scalar"
	"bflow.dev/bflow/load/tool"
	"bflow.dev/bflow/runplan"
)

// rule is what the text of a field must look like. pattern is the part of it that a JSON Schema can say.
type rule struct {
	want    string
	holds   func(string) bool
	pattern string
}

// rules are the values of the struct tags `is` and `keys`.
func rules() map[string]rule {
	const (
		label = `[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?`
		name  = `[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?`
		part  = `[a-z0-9]+((\.|_|__|-+)[a-z0-9]+)*`
	)
	out := map[string]rule{
		"quantity": {want: "a quantity above 0 such as 2, 500m or 16Gi", holds: isQuantity},
		"url":      {want: "a URL such as https://host:8443", holds: isURL, pattern: `^[Hh][Tt][Tt][Pp][Ss]?://[^\s]+$`},
		"ip":       {want: "an IP address", holds: func(s string) bool { _, err := netip.ParseAddr(s); return err == nil }},
		"folder":   {want: `an absolute path without ".." parts`, holds: isFolder, pattern: `^/`},
		"relpath":  {want: `a relative path without "." or ".." parts`, holds: isRelative},
		"tag": {
			want:  "a name that does not look like a credential (everybody who can read the tracking server sees the tags)",
			holds: func(s string) bool { return !credential.Name(s) }},
		"requesttype": {
			want:  "completions, chat, responses, embeddings, messages, triton, tgi, or a path such as /v1/chat/completions",
			holds: isRequestType},
	}
	for key, r := range map[string]rule{
		"label":     {want: "at most 63 lower-case letters, digits and inner -", pattern: `^` + label + `$`},
		"subdomain": {want: "a name of lower-case letters, digits, - and .", pattern: `^` + label + `(\.` + label + `)*$`},
		"host":      {want: "a host name", pattern: `^` + name + `$`},
		"labelkey": {want: "a label key such as pool or example.com/pool",
			pattern: `^(` + label + `(\.` + label + `)*/)?` + name + `$`},
		"labelvalue": {want: "at most 63 letters, digits, and inner -, _ or .", pattern: `^(` + name + `)?$`},
		"env":        {want: "a variable name without blanks or =", pattern: `^[!-<>-~]+$`},
		"header":     {want: "a header name", pattern: "^[-!#$%&'*+.^_`|~0-9A-Za-z]+$"},
		"abspath":    {want: "an absolute path", pattern: `^/[^\x00-\x1f]*$`},
		"model":      {want: "a model name without blanks", pattern: `^[^\s\x00-\x1f]+$`},
		"bytes": {want: "a size such as 4GB or 512MiB",
			pattern: `^[0-9]*[1-9][0-9]*(\.[0-9]+)?\s*([kKmMgGtT]i?)?[bB]?$`},
		"digest": {want: "sha256: and 64 hex digits", pattern: `^sha256:[0-9a-f]{64}$`},
		"sha256": {want: "64 hex digits", pattern: `^(sha256:)?[0-9a-f]{64}$`},
		"commit": {want: "a commit of 40 hex digits", pattern: `^[0-9a-f]{40}$`},
		"image": {want: "an image reference such as registry/name:tag",
			pattern: `^([A-Za-z0-9]([-A-Za-z0-9.]*[A-Za-z0-9])?(:[0-9]+)?/)?` +
				part + `(/` + part + `)*(:[A-Za-z0-9_][-A-Za-z0-9_.]{0,127})?(@sha256:[0-9a-f]{64})?$`},
	} {
		r.holds = regexp.MustCompile(r.pattern).MatchString
		out[key] = r
	}
	out["secretkey"] = rule{
		want: "a key of a Secret: letters, digits, -, _ and .", pattern: `^\.?[-_a-zA-Z0-9][-._a-zA-Z0-9]*$`,
		holds: func(s string) bool { return runplan.SecretKey{Name: "s", Key: s}.Valid() },
	}
	named := out["subdomain"]
	out["secret"] = rule{pattern: named.pattern, holds: func(s string) bool {
		return named.holds(s) &&
			!runplan.OwnSecret(s)
	},
		want: "the name of one of your own Secrets (names that begin with bflow- are reserved)"}
	return out
}

func isQuantity(s string) bool {
	q, err := readQuantity(scalar.Node(s))
	return err == nil && q.Sign() > 0
}

func isURL(s string) bool {
	if runplan.IsReference(s) {
		return true
	}
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" &&
		!strings.ContainsAny(s, " \t\n")
}

func isRelative(s string) bool {
	for _, part := range strings.Split(s, "/") {
		if part == "." || part == ".." {
			return false
		}
	}
	return !strings.HasPrefix(s, "/")
}

func isFolder(s string) bool {
	return strings.HasPrefix(s, "/") && !slices.Contains(strings.Split(s, "/"), "..")
}

// isRequestType knows the words for the API of a request.
func isRequestType(s string) bool {
	_, known := tool.APIType(s)
	return known
}
