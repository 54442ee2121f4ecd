package tool

import (
	"slices"

	"go.yaml.in/yaml/v3"

	"bflow.dev/bflow/internal/problem"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/literal"
)

// isReference says whether v is {valueFrom: {secretKeyRef: ...}}, as a variable of a pod would have it.
func isReference(v Value) bool {
	return v.Is(yaml.MappingNode) && len(v.Node.Content) == 2 && v.Node.Content[0].Value == "valueFrom"
}

// secretText is Text, or the reference that stands for a value of a Secret.
func secretText(v Value) string {
	if !isReference(v) {
		return v.Text()
	}
	f := v.Fields()
	from := f.Must("valueFrom").Fields()
	ref := from.Must("secretKeyRef").Fields()
	k := runplan.SecretKey{Name: ref.Must("name").Text(), Key: ref.Must("key").Text()}
	ref.Close()
	from.Close()
	f.Close()
	switch {
	case k.Name == "" || k.Key == "": // an error is already reported
		return ""
	case !k.Valid():
		v.Errorf("want {name: NAME, key: KEY} of a Secret, found %q and %q", k.Name, k.Key)
		return ""
	}
	return k.Reference()
}

// takeLiterals takes the credentials that the block holds literally out of the measurement. A load without a plan of
// its own has no Secrets to put them into.
func (d *Draft) takeLiterals() {
	taker := literal.Taker{Told: func(text string) { warnOfCredential(d.Block, text) }}
	if d.src.Alone {
		taker.Told = func(string) {
			d.Block.Errorf("it contains a credential, which would be written to the plan: " +
				"pass the server's key as its API key, and remove other credentials")
		}
	}
	api, data := &d.API, &d.Data
	d.Env = taker.Texts("variable", d.Env)
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
	if d.External != nil {
		d.External = taker.Tree("the block of the tool: ", d.External)
	}
	d.others = taker.Taken
}

// secrets are all credentials that the block holds literally.
func (d *Draft) secrets() []literal.Secret {
	if d.secret == nil {
		return d.others
	}
	return append([]literal.Secret{*d.secret}, d.others...)
}

// warnOfCredential warns of a literal credential. Unlike other findings, several of one place count.
func warnOfCredential(v Value, text string) {
	p := problem.At(v.file, v.Node, v.Path, "%s", text)
	p.Warning = true
	if !slices.Contains(v.problems, p) {
		v.problems.Add(p)
	}
	if line := v.Path + ": " + text; !slices.Contains(v.notes, line) {
		v.notes = append(v.notes, line)
	}
}
