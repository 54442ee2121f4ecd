package tool

import (
	"errors"
	"net/url"
	"slices"
	"strings"

	"bflow.dev/bflow/internal/problem"
)

// Finish translates the block as t reads it and drops what has been said twice. The error joins the findings that are
// no warnings; the request is complete when it is nil.
func (c *CommandLine) Finish(t Translator) (Request, []Finding, error) {
	if t != nil && !c.incomplete {
		c.translate(t)
	}
	slices.SortStableFunc(c.findings, func(a, b Finding) int {
		switch {
		case a.Warning == b.Warning:
			return 0
		case a.Warning:
			return 1
		}
		return -1
	})
	c.findings = slices.Compact(c.findings)
	c.redact()
	return c.Request, c.findings, c.err()
}

// redact takes the key out of what is said.
func (c *CommandLine) redact() {
	if c.Request.Key == "" {
		return
	}
	for i := range c.findings {
		c.findings[i].Text = strings.ReplaceAll(c.findings[i].Text, string(c.Request.Key), c.Request.Key.String())
	}
}

// err joins the errors.
func (c *CommandLine) err() error {
	var errs []error
	for _, f := range c.findings {
		if !f.Warning {
			errs = append(errs, f)
		}
	}
	return errors.Join(errs...)
}

// translate turns the block into a measurement.
func (c *CommandLine) translate(t Translator) {
	if c.Block == nil {
		return
	}
	said, problems := Translate(Source{
		Block: Block{Node: c.Block}, Tool: t, Name: c.Request.Tool, Model: c.Request.Model,
		Runner: RunnerNative, Env: c.Settings, Lenient: c.lenient, Alone: true,
	})
	for _, q := range problems {
		c.add(q)
	}
	for _, q := range said.Beyond {
		c.LeaveOut(c.Word(q.Line), "%s: beyond load-gen; remove it, or run %s itself", q.Text, c.Request.Tool)
	}
	c.Request.Measure, c.Request.SLO = said.Measurement, said.SLO
	if len(said.Secrets) > 0 && c.Request.Key == "" {
		c.Request.Key = Key(said.Secrets[0].Value)
	}
	c.Request.Measure.API.APIKeySecret = nil // the key is in the request
	c.Request.Measure.Env = nil
	c.Request.Measure.Notes = slices.DeleteFunc(c.Request.Measure.Notes, aboutSecrets)
	for _, change := range c.changes {
		change()
	}
	if !c.hasEndpoint {
		c.Errorf("", "no server is named: %s", c.tool.ServerHint)
	}
	c.checkWhole()
}

// checkWhole finds a reading of which too little is left to run.
func (c *CommandLine) checkWhole() {
	if c.err() != nil {
		return
	}
	m := c.Request.Measure
	if len(m.Stages) == 0 && m.Search == nil {
		c.Errorf("", "nothing is left to do: name a load that load-gen can make")
	}
	if d := m.Data; d.Input == nil && d.Trace == nil && d.File == nil {
		c.Errorf("", "no prompts are left: name data that load-gen can make or read")
	}
}

// add keeps a problem of the translation, under the word that it comes from.
func (c *CommandLine) add(q problem.Problem) {
	if q.Warning && aboutSecrets(q.Text) {
		return
	}
	text := q.Text
	if q.Path != "" {
		text = q.Path + ": " + text
	}
	c.findings = append(c.findings, Finding{Word: c.Word(q.Line), Text: text, Warning: q.Warning})
}

// aboutSecrets is what the translation says of a key that it found: without a plan it goes nowhere.
func aboutSecrets(text string) bool { return strings.Contains(text, "a literal API key is moved") }

// SetEndpoint takes the URL of the server: /v1 and slashes at its end are dropped, http:// is the scheme of one
// without.
func (c *CommandLine) SetEndpoint(word, text string) {
	text = strings.TrimSpace(text)
	if text == "" {
		return
	}
	if !strings.Contains(text, "://") {
		text = "http://" + text
	}
	c.hasEndpoint = true
	switch u, err := url.Parse(text); {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		c.Errorf(word, "want the URL of a server such as http://localhost:8000")
	case u.User != nil:
		c.Errorf(word, "a URL must hold no credentials")
	default:
		c.Request.Endpoint = strings.TrimRight(strings.TrimSuffix(strings.TrimRight(text, "/"), "/v1"), "/")
	}
}
