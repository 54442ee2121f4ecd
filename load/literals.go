package load

import (
	"slices"

	"go.yaml.in/yaml/v3"

	"bflow.dev/bflow/internal/problem"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/literal"
)

// isReference says whether v is {valueFrom: {secretKeyRef: ...}}, as a variable of a pod would have it.
func (v value) isReference() bool {
	return v.is(yaml.MappingNode) && len(v.node.Content) == 2 && v.node.Content[0].Value == "valueFrom"
}

// secretText is text, or the reference that stands for a value of a Secret.
func (v value) secretText() string {
	if !v.isReference() {
		return v.text()
	}
	f := v.fields()
	from := f.must("valueFrom").fields()
	ref := from.must("secretKeyRef").fields()
	k := runplan.SecretKey{Name: ref.must("name").text(), Key: ref.must("key").text()}
	ref.close()
	from.close()
	f.close()
	switch {
	case k.Name == "" || k.Key == "": // an error is already reported
		return ""
	case !k.Valid():
		v.errorf("want {name: NAME, key: KEY} of a Secret, found %q and %q", k.Name, k.Key)
		return ""
	}
	return k.Reference()
}

// secretTexts is texts whose values may be references.
func (v value) secretTexts() map[string]string {
	out := map[string]string{}
	for _, e := range v.fields().entries {
		out[e.key] = e.value.secretText()
	}
	if len(out) == 0 {
		return nil
	}
	return out
}

// literals takes the credentials that the block holds literally out of the measurement. A load without a plan of its own has no
// Secrets to put them into.
func (t *translator) literals() {
	taker := literal.Taker{Told: t.block.told}
	if t.src.Alone {
		taker.Told = func(string) {
			t.block.errorf("it contains a credential, which would be written to the plan: pass the server's key as its API key, and remove other credentials")
		}
	}
	api, data := &t.m.API, &t.m.Data
	t.m.Env = taker.Texts("variable", t.m.Env)
	api.Headers = taker.Texts("header", api.Headers)
	api.Path = taker.Address("a parameter of the path", api.Path)
	if api.Body != nil {
		api.Body, _ = taker.Tree("body", api.Body).(map[string]any)
	}
	if data.File != nil {
		data.File.URL = taker.Address("a part of data.file.url", data.File.URL)
	}
	if data.Trace != nil {
		data.Trace.URL = taker.Address("a part of data.trace.url", data.Trace.URL)
	}
	if t.m.External != nil {
		t.m.External = taker.Tree("the block of the tool: ", t.m.External)
	}
	t.taken = taker.Taken
}

// secrets are all credentials that the block holds literally.
func (t *translator) secrets() []literal.Secret {
	if t.secret == nil {
		return t.taken
	}
	return append([]literal.Secret{*t.secret}, t.taken...)
}

// told warns of a literal credential. Unlike other findings, several of one place count.
func (v value) told(text string) {
	p := problem.At(v.file, v.node, v.path, "%s", text)
	p.Warning = true
	if !slices.Contains(v.problems, p) {
		v.problems.Add(p)
	}
	if line := v.path + ": " + text; !slices.Contains(v.notes, line) {
		v.notes = append(v.notes, line)
	}
}
