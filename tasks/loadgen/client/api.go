package client

import (
	"encoding/base64"
	"fmt"
	"sort"
	"strings"

	"bflow.dev/bflow/internal/credential"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/tasks/loadgen/wire"
	"bflow.dev/bflow/tasks/outbound"
)

// API is how requests of one kind are written and their answers read.
type API struct {
	Stream  bool
	endless bool // the end of the body is the terminator, unless the last event said that there is more
	parse   func(data []byte, d *delta) error
	path    string
	head    []byte // of every request, up to the value of x-request-id
	headers map[string]string
	server  wire.Server
	secrets []string
	scratch []byte // of the head that is being written
}

// NewAPI returns the API of the plan on a server. key is sent as a bearer token where it is not empty; neither it nor
// the value of a header that holds a credential appears in any error.
func NewAPI(plan runplan.API, server wire.Server, key string) (API, error) {
	a := API{Stream: plan.Stream, server: server, path: outbound.Below(server.Path+server.Query, plan.Path)}
	parsers := map[string]func([]byte, *delta) error{
		runplan.APICompletions: parseOpenAI, runplan.APIChat: parseOpenAI, runplan.APIResponses: parseResponses,
		runplan.APIMessages: parseMessages, runplan.APIEmbeddings: parseEmbeddings,
		runplan.APITriton: parseTriton, runplan.APITGI: parseTGI,
	}
	if a.parse = parsers[plan.Type]; a.parse == nil {
		return API{}, fmt.Errorf("load.api.type %q is not supported natively: use chat, completions, responses, "+
			"messages, embeddings, triton or tgi", plan.Type)
	}
	if plan.Type == runplan.APIEmbeddings {
		a.Stream = false
	}
	if strings.Contains(plan.Path, modelPlace) {
		return API{}, fmt.Errorf("load.api.path %q: the name of the model was not filled in", plan.Path)
	}
	a.endless = plan.Type == runplan.APITriton
	headers := map[string]string{
		"Host": server.Host, "User-Agent": "bflow-load-gen", "Content-Type": "application/json",
		"Accept": "application/json",
	}
	if plan.Type == runplan.APIMessages {
		headers["anthropic-version"] = "2023-06-01"
	}
	if a.Stream {
		headers["Accept"] = "text/event-stream"
	}
	if key != "" {
		headers["Authorization"] = "Bearer " + key
		a.secrets = append(a.secrets, key)
	}
	if server.User != "" && key == "" {
		headers["Authorization"] = "Basic " + base64.StdEncoding.EncodeToString([]byte(server.User))
	}
	if err := merge(headers, plan.Headers); err != nil {
		return API{}, err
	}
	a.secrets = append(a.secrets, credentials(headers)...)
	a.head, a.headers = appendHead(a.path, headers), headers
	return a, nil
}

// merge sets the headers of the plan, whatever the case of their names. One that is given twice is refused: it would be
// sent as this or as that.
func merge(headers, plan map[string]string) error {
	given := map[string]bool{}
	for name, value := range plan {
		lower := strings.ToLower(name)
		if given[lower] {
			return fmt.Errorf("load.api.headers: header %q is given twice, in capital and small letters: keep one", lower)
		}
		given[lower] = true
		if strings.ContainsAny(name, "\r\n: ") || strings.ContainsAny(value, "\r\n") {
			return fmt.Errorf("load.api.headers: header %q holds a line end or a colon in its name", name)
		}
		for have := range headers {
			if strings.EqualFold(have, name) {
				delete(headers, have)
			}
		}
		switch lower {
		case "x-request-id", "content-length", "connection", "transfer-encoding":
			return fmt.Errorf("load.api.headers: header %q belongs to the generator and cannot be set", name)
		}
		headers[name] = value
	}
	return nil
}

// credentials returns the values of headers that must never be shown.
func credentials(headers map[string]string) []string {
	var secrets []string
	for name, value := range headers {
		if credential.Name(name) {
			if _, word, ok := strings.Cut(value, " "); ok {
				secrets = append(secrets, word)
			}
			secrets = append(secrets, value)
		}
	}
	return secrets
}

func appendHead(path string, headers map[string]string) []byte {
	b := append([]byte("POST "), path...)
	b = append(b, " HTTP/1.1\r\n"...)
	names := make([]string, 0, len(headers))
	for name := range headers {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		b = append(append(append(append(b, name...), ": "...), headers[name]...), "\r\n"...)
	}
	return append(b, "X-Request-Id: "...)
}

// Path returns where requests are put, below the host.
func (a *API) Path() string { return a.path }

// address is where requests are put. It may hold a credential.
func (a *API) address() string {
	scheme := "http://"
	if a.server.TLS != nil {
		scheme = "https://"
	}
	return scheme + a.server.Host + a.path
}

// Headers returns the headers of every request beside its own, credentials included.
func (a *API) Headers() map[string]string { return a.headers }

// Hide adds secrets that never appear in any error.
func (a *API) Hide(secrets ...string) { a.secrets = append(a.secrets, secrets...) }

// Scrub takes the secrets of the API out of a text.
func (a *API) Scrub(text string) string {
	for _, secret := range a.secrets {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, "[secret]")
		}
	}
	return text
}

// maxError bounds the text of an error in a row, maxCleaned what is looked at for it: a text may begin with blanks.
const (
	maxError   = 200
	maxCleaned = 4 << 10
)

// Clean returns the first 200 bytes of an error, on one line and without secrets.
func (a *API) Clean(text string) string {
	text = strings.ToValidUTF8(strings.Join(strings.Fields(a.scrubPrefix(text, maxCleaned)), " "), "?")
	if len(text) > maxError {
		text = strings.ToValidUTF8(text[:maxError], "")
	}
	return text
}

// scrubPrefix returns about the first n bytes of a text without secrets. One that lies across the end of what is looked
// at is not seen as one: as much as the longest secret has is cut off behind it.
func (a *API) scrubPrefix(text string, n int) string {
	longest := 0
	for _, secret := range a.secrets {
		longest = max(longest, len(secret))
	}
	if len(text) <= n+longest {
		return a.Scrub(text)
	}
	text = a.Scrub(text[:n+longest])
	return text[:max(0, len(text)-longest)]
}
