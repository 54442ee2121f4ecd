package load

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

// apiKey takes a literal API key out of the block. An old file may hold one; a plan never does.
func (t *translator) apiKey(v value, key string) {
	switch {
	case key == "":
		return
	case t.secret != nil && t.secret.Value != key:
		v.errorf("is a second API key: remove one")
		return
	}
	sum := sha256.Sum256([]byte(t.m.Name + "\x00" + key))
	t.secret = &literal.Secret{Name: contract.SecretAPIKey + hex.EncodeToString(sum[:5]), Key: secretKey, Value: key}
	t.m.API.APIKeySecret = &runplan.SecretKey{Name: t.secret.Name, Key: secretKey}
	v.notef("a literal API key is moved into Secret %q; better create a Secret and name it in load.api.api_key_secret", t.secret.Name)
}

// headers takes request headers; what they hold of credentials becomes a Secret or is refused.
func (t *translator) headers(v value) {
	for _, e := range v.fields().entries {
		text := e.value.secretText()
		if e.value.set() {
			t.header(e.value, e.key, text)
		}
	}
}

func (t *translator) header(v value, name, text string) {
	scheme, rest, _ := strings.Cut(text, " ")
	switch {
	case strings.EqualFold(name, "authorization") && strings.EqualFold(scheme, "bearer") && len(runplan.References(rest)) == 0:
		t.apiKey(v, strings.TrimSpace(rest))
	case credential.Name(name) && t.src.Alone:
		v.errorf("header %q would put a credential into the plan: put an API key into a Secret and name it in load.api.api_key_secret", name)
	default:
		if t.m.API.Headers == nil {
			t.m.API.Headers = map[string]string{}
		}
		t.m.API.Headers[name] = text
	}
}

// query appends parameters to the request path.
func (t *translator) query(v value) {
	q := url.Values{}
	for k, text := range v.texts() {
		q.Set(k, text)
	}
	if len(q) > 0 {
		t.m.API.Path += "?" + q.Encode()
	}
}

// setAPI sets type and path; path may be empty for the type's own, which may depend on whether answers are streamed.
func (t *translator) setAPI(kind, path string) {
	t.m.API.Type, t.m.API.Path = kind, t.apiPath(kind)
	if path != "" {
		t.m.API.Path = "/" + strings.TrimLeft(path, "/")
	}
}

// promptForms are the words for how prompts are written, as a plan has them.
func promptForms() map[string]string { return map[string]string{"text": runplan.PromptText} }
