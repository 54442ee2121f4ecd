package words

import (
	"net/url"
	"slices"
	"strings"

	"bflow.dev/bflow/internal/problem"
	"bflow.dev/bflow/load"
)

// translate turns the block into a measurement.
func (p *parser) translate() {
	if p.block == nil {
		return
	}
	t, problems := load.Translate(load.Source{
		Block: load.Block{Node: p.block}, Tool: p.req.Tool, Name: p.req.Tool, Model: p.req.Model,
		Runner: load.RunnerNative, Env: p.settings, Lenient: p.lenient, Alone: true,
	})
	for _, q := range problems {
		p.add(q)
	}
	for _, q := range t.Beyond {
		p.leaves(p.word(q.Line), "%s: beyond load-gen; remove it, or run %s itself", q.Text, p.req.Tool)
	}
	p.req.Measure, p.req.SLO = t.Measurement, t.SLO
	if len(t.Secrets) > 0 && p.req.Key == "" {
		p.req.Key = Key(t.Secrets[0].Value)
	}
	p.req.Measure.API.APIKeySecret = nil // the key is in the request
	p.req.Measure.Env = nil
	p.req.Measure.Notes = slices.DeleteFunc(p.req.Measure.Notes, aboutSecrets)
	for _, change := range p.after {
		change()
	}
	p.checkEndpoint()
	p.checkWhole()
}

// checkWhole finds a reading of which too little is left to run.
func (p *parser) checkWhole() {
	if p.err() != nil {
		return
	}
	m := p.req.Measure
	if len(m.Stages) == 0 && m.Search == nil {
		p.errorf("", "nothing is left to do: name a load that load-gen can make")
	}
	if d := m.Data; d.Input == nil && d.Trace == nil && d.File == nil {
		p.errorf("", "no prompts are left: name data that load-gen can make or read")
	}
}

// add keeps a problem of the translation, under the word that it comes from.
func (p *parser) add(q problem.Problem) {
	if q.Warning && aboutSecrets(q.Text) {
		return
	}
	text := q.Text
	if q.Path != "" {
		text = q.Path + ": " + text
	}
	p.findings = append(p.findings, Finding{Word: p.word(q.Line), Text: text, Warning: q.Warning})
}

// aboutSecrets is what the translation says of a key that it found: without a plan it goes nowhere.
func aboutSecrets(text string) bool { return strings.Contains(text, "a literal API key is moved") }

// endpoint takes the URL of the server: /v1 and slashes at its end are dropped, http:// is the scheme of one without.
func (p *parser) endpoint(word, text string) {
	text = strings.TrimSpace(text)
	if text == "" {
		return
	}
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		p.errorf(word, "want the URL of a server such as http://localhost:8000")
		return
	}
	if u.User != nil {
		p.errorf(word, "a URL must hold no credentials")
		return
	}
	p.req.Endpoint = strings.TrimRight(strings.TrimSuffix(strings.TrimRight(text, "/"), "/v1"), "/")
}

func (p *parser) checkEndpoint() {
	if p.req.Endpoint == "" && !slices.ContainsFunc(p.findings, func(f Finding) bool { return strings.HasPrefix(f.Text, "want the URL") }) {
		p.errorf("", "no server is named: %s", map[string]string{
			load.GuideLLM: "set --target or GUIDELLM_TARGET, from 0.7 on backend.target", load.VLLMBench: "set --base-url", load.InferenceMAX: "set --base-url",
			load.InferencePerf: "set server.base_url", load.AIPerf: "set --url",
		}[p.req.Tool])
	}
}
