package tool

import (
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"strings"

	"bflow.dev/bflow/internal/credential"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/runplan/literal"
)

// secretKey is the key of a Secret that holds an API key.
const secretKey = "api-key"

// TakeKey takes a literal API key out of the block. An old file may hold one; a plan never does.
func (d *Draft) TakeKey(v Value, key string) {
	switch {
	case key == "":
		return
	case d.secret != nil && d.secret.Value != key:
		v.Errorf("is a second API key: remove one")
		return
	}
	sum := sha256.Sum256([]byte(d.Name + "\x00" + key))
	d.secret = &literal.Secret{Name: contract.SecretAPIKey + hex.EncodeToString(sum[:5]), Key: secretKey, Value: key}
	d.API.APIKeySecret = &runplan.SecretKey{Name: d.secret.Name, Key: secretKey}
	v.Notef("a literal API key is moved into Secret %q; better create a Secret and name it in load.api.api_key_secret",
		d.secret.Name)
}

// AddHeaders takes request headers; what they hold of credentials becomes a Secret or is refused.
func (d *Draft) AddHeaders(v Value) {
	for _, e := range v.Fields().Entries {
		text := secretText(e.Value)
		if e.Value.IsSet() {
			d.AddHeader(e.Value, e.Key, text)
		}
	}
}

// AddHeader takes one request header, which v holds.
func (d *Draft) AddHeader(v Value, name, text string) {
	scheme, rest, _ := strings.Cut(text, " ")
	switch {
	case strings.EqualFold(name, "authorization") && strings.EqualFold(scheme, "bearer") &&
		len(runplan.References(rest)) == 0:
		d.TakeKey(v, strings.TrimSpace(rest))
	case credential.Name(name) && d.src.Alone:
		v.Errorf("header %q would put a credential into the plan: "+
			"put an API key into a Secret and name it in load.api.api_key_secret", name)
	default:
		if d.API.Headers == nil {
			d.API.Headers = map[string]string{}
		}
		d.API.Headers[name] = text
	}
}

// AddQuery appends parameters to the request path.
func (d *Draft) AddQuery(v Value) {
	q := url.Values{}
	for k, text := range v.Texts() {
		q.Set(k, text)
	}
	if len(q) > 0 {
		d.API.Path += "?" + q.Encode()
	}
}

// SetAPI sets type and path; path may be empty for the type's own, which may depend on whether answers are streamed.
func (d *Draft) SetAPI(kind, path string) {
	d.API.Type, d.API.Path = kind, d.apiPath(kind)
	if path != "" {
		d.API.Path = "/" + strings.TrimLeft(path, "/")
	}
}

// PromptForms are the words for how prompts are written, as a plan has them.
func PromptForms() map[string]string { return map[string]string{"text": runplan.PromptText} }
