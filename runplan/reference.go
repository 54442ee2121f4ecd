package runplan

import (
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"bflow.dev/bflow/runplan/contract"
)

// A plan holds no credential. Where one belongs in a text (of a variable, a header, the body of requests, an address)
// stands a reference to a value of a Secret, secretKeyRef~NAME~KEY~, and whoever needs the credential puts it in for
// itself: see Fill. A reference consists of characters that no part of an address escapes.
var (
	reference = regexp.MustCompile(
		`secretKeyRef~([a-z0-9](?:[-.a-z0-9]*[a-z0-9])?)~(\.?[-_a-zA-Z0-9][-._a-zA-Z0-9]*)~`)
	onlyReference = regexp.MustCompile(`^` + reference.String() + `$`)
)

// Lookup finds a value of a Secret. Its error says in one sentence what is missing.
type Lookup func(SecretKey) (string, error)

// Reference is the text that stands for the value of k in a plan.
func (k SecretKey) Reference() string { return "secretKeyRef~" + k.Name + "~" + k.Key + "~" }

// Valid says whether k can name a value of a Secret.
func (k SecretKey) Valid() bool {
	return len(k.Name) <= 253 && len(k.Key) <= 253 && onlyReference.MatchString(k.Reference())
}

// IsReference says whether text is one reference and nothing else.
func IsReference(text string) bool { return onlyReference.MatchString(text) }

// References returns what text refers to, in its order, each once.
func References(text string) []SecretKey {
	var keys []SecretKey
	for _, found := range reference.FindAllStringSubmatch(text, -1) {
		if k := (SecretKey{Name: found[1], Key: found[2]}); !slices.Contains(keys, k) {
			keys = append(keys, k)
		}
	}
	return keys
}

// ReferencesIn returns what the texts of v, which can be written as JSON, refer to, sorted.
func ReferencesIn(v any) ([]SecretKey, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("looking for the Secrets of a plan: %w", err)
	}
	keys := References(string(text))
	slices.SortFunc(keys, func(a, b SecretKey) int { return strings.Compare(a.Reference(), b.Reference()) })
	return keys, nil
}

// OwnSecret says whether a Secret of that name is bflow's own affair: the way to a target, a token, a tracking server,
// a webhook. No experiment may name one.
func OwnSecret(name string) bool {
	return strings.HasPrefix(name, "bflow-") && !strings.HasPrefix(name, contract.SecretLiteral) &&
		!strings.HasPrefix(name, contract.SecretAPIKey)
}

// CheckSecrets refuses a plan that names a Secret of bflow's own: whoever writes an experiment must not get at what
// lies there.
func CheckSecrets(p *RunPlan) error {
	keys, err := ReferencesIn(p)
	if err != nil {
		return err
	}
	var names []string
	if target := p.Target.KubeconfigSecret; strings.HasSuffix(target, "-target") {
		// a target itself may be called as its owner likes
		names = append(names, target)
	}
	for _, k := range keys {
		names = append(names, k.Name)
	}
	for _, m := range p.Measurements {
		if m.API.APIKeySecret != nil {
			names = append(names, m.API.APIKeySecret.Name)
		}
	}
	for _, name := range names {
		if OwnSecret(name) {
			return fmt.Errorf(
				"plan %q names Secret %q, which is bflow's own; put the value into a Secret of your own, whose name does not "+
					"begin with bflow-",
				p.Name, name)
		}
	}
	return nil
}

// Fill returns text with values in place of its references.
func Fill(text string, find Lookup) (string, error) {
	return substitute(text, find, func(value string) string { return value })
}

// FillAddress is Fill for an address or a path with a query: a value that is a part of it is escaped, and one that is
// all of it stays as it is.
func FillAddress(text string, find Lookup) (string, error) {
	if IsReference(text) {
		return Fill(text, find)
	}
	return substitute(text, find, func(value string) string {
		return strings.ReplaceAll(url.QueryEscape(value), "+", "%20")
	})
}

func substitute(text string, find Lookup, written func(string) string) (string, error) {
	var failed error
	filled := reference.ReplaceAllStringFunc(text, func(ref string) string {
		value, err := find(References(ref)[0])
		if err != nil && failed == nil {
			failed = err
		}
		return written(value)
	})
	if failed != nil {
		return "", failed
	}
	return filled, nil
}

// FillEnv returns env with values in place of its references. env itself stays as it is.
func FillEnv(env map[string]string, find Lookup) (map[string]string, error) {
	filled := make(map[string]string, len(env))
	for name, text := range env {
		var err error
		if filled[name], err = Fill(text, find); err != nil {
			return nil, fmt.Errorf("variable %q: %w", name, err)
		}
	}
	return filled, nil
}

// FillMeasurement returns a copy of m with values in place of its references. It is for use, and never to be kept.
func FillMeasurement(m *Measurement, find Lookup) (*Measurement, error) {
	text, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("encoding measurement %q: %w", m.Name, err)
	}
	if !reference.Match(text) {
		return m, nil
	}
	filled := new(Measurement)
	if err := json.Unmarshal(text, filled); err != nil {
		return nil, fmt.Errorf("copying measurement %q: %w", m.Name, err)
	}
	for _, address := range filled.addresses() {
		if *address, err = FillAddress(*address, find); err != nil {
			return nil, fmt.Errorf("measurement %q: %w", m.Name, err)
		}
	}
	if text, err = json.Marshal(filled); err != nil {
		return nil, fmt.Errorf("encoding measurement %q: %w", m.Name, err)
	}
	whole, err := substitute(string(text), find, inJSON)
	if err != nil {
		return nil, fmt.Errorf("measurement %q: %w", m.Name, err)
	}
	filled = new(Measurement)
	if err := json.Unmarshal([]byte(whole), filled); err != nil {
		return nil, fmt.Errorf("putting the values of Secrets into measurement %q: it can no longer be read", m.Name)
	}
	return filled, nil
}

// WithLoad returns a copy of p with values in place of the references of measurement n, where there is one. It is for
// use, and never to be kept.
func (p *RunPlan) WithLoad(n int, find Lookup) (*RunPlan, error) {
	if n < 0 || n >= len(p.Measurements) {
		return p, nil
	}
	m, err := FillMeasurement(&p.Measurements[n], find)
	if err != nil || m == &p.Measurements[n] {
		return p, err
	}
	filled := *p
	filled.Measurements = slices.Clone(p.Measurements)
	filled.Measurements[n] = *m
	return &filled, nil
}

// addresses are the texts of m that are read as addresses.
func (m *Measurement) addresses() []*string {
	all := []*string{&m.API.Path}
	if m.Data.File != nil {
		all = append(all, &m.Data.File.URL)
	}
	if m.Data.Trace != nil {
		all = append(all, &m.Data.Trace.URL)
	}
	return all
}

// inJSON is a text as it stands between the quotes of JSON.
func inJSON(value string) string {
	quoted, _ := json.Marshal(value) // a text can always be written
	return string(quoted[1 : len(quoted)-1])
}
