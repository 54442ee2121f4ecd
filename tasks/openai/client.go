// Package openai sends an OpenAI-compatible server, or Triton, the few requests that readiness and smoke checks need.
// It must not be used for measurements: it keeps no timestamps and decodes every event.
package openai

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"bflow.dev/bflow/internal/bounded"
	"bflow.dev/bflow/internal/credential"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/tasks/outbound"
	"bflow.dev/bflow/tasks/step"
	"bflow.dev/bflow/tasks/tlsclient"
)

// Client speaks to one server.
type Client struct {
	Base    string // without a trailing slash
	APIKey  string // "" = no Authorization header
	Headers map[string]string
	HTTP    *http.Client
	Secrets []string // beside the key: they are taken out of what is said about an answer
	// through somebody who keeps Authorization for himself: a refusal may be his, or that of a server that wants its
	// key
	Proxied bool
}

// New returns a client for base that puts requests the way api does, through proxy where it is not nil: see
// outbound.Proxy. Its error is one of the files that load.api.tls names.
func New(base string, api runplan.API, key string, proxy *url.URL) (*Client, error) {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.Proxy = http.ProxyURL(proxy)
	transport.DisableKeepAlives = true // a server that closes a kept connection under us would look unfit
	secure, err := tlsclient.Secure(transport, api)
	if err != nil {
		return nil, err
	}
	return &Client{
		Base: strings.TrimSuffix(base, "/"), APIKey: key, Headers: api.Headers,
		HTTP: outbound.Stay(&http.Client{Transport: secure}),
	}, nil
}

// StatusError is an answer other than 2xx or 3xx.
type StatusError struct {
	Method, URL string
	Code        int
	Body        string // first 300 bytes, secrets removed
}

func (e *StatusError) Error() string {
	msg := fmt.Sprintf("%s %s answered %d %s", e.Method, e.URL, e.Code, http.StatusText(e.Code))
	if e.Body != "" {
		msg += ": " + e.Body
	}
	return msg
}

// maxAnswer bounds what is read of any answer: the tasks that ask have little memory.
const maxAnswer = 8 << 20

// Get fetches path and returns the body, of 8 MiB at most, without our credentials.
func (c *Client) Get(ctx context.Context, path string) ([]byte, error) {
	resp, err := c.do(ctx, http.MethodGet, path, nil)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := bounded.ReadAll(resp.Body, maxAnswer)
	if err != nil {
		return nil, fmt.Errorf("reading the answer of GET %s: %w", c.shown(path), err)
	}
	return c.redact(body), nil
}

// Models returns the ids of GET path (normally /v1/models).
func (c *Client) Models(ctx context.Context, path string) ([]string, error) {
	body, err := c.Get(ctx, path)
	if err != nil {
		return nil, err
	}
	var list struct {
		Data []struct {
			ID string `json:"id"`
		} `json:"data"`
	}
	if err := json.Unmarshal(body, &list); err != nil || list.Data == nil {
		return nil, fmt.Errorf("reading GET %s: not a list of models: %s", c.shown(path), c.excerpt(body))
	}
	ids := make([]string, len(list.Data))
	for i, m := range list.Data {
		ids[i] = m.ID
	}
	return ids, nil
}

func (c *Client) do(ctx context.Context, method, path string, body any) (*http.Response, error) {
	var payload io.Reader
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			return nil, fmt.Errorf("encoding request to %s: %w", path, err)
		}
		payload = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(ctx, method, outbound.Below(c.Base, path), payload)
	if err != nil {
		return nil, fmt.Errorf("asking %s: %w", c.shown(path), outbound.WithoutAddress(err))
	}
	outbound.SetHeaders(req, c.Headers)
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.APIKey != "" {
		req.Header.Set("Authorization", "Bearer "+c.APIKey)
	}
	resp, err := c.HTTP.Do(req)
	if err != nil {
		if credential.InURL(c.Base) {
			err = outbound.WithoutAddress(err)
		}
		return nil, fmt.Errorf("asking the server: %w", err)
	}
	if resp.StatusCode >= 400 {
		defer resp.Body.Close()
		text, _ := io.ReadAll(io.LimitReader(resp.Body, 64<<10)) // more than is shown: a secret at the end must be seen whole
		return nil, &StatusError{Method: method, URL: c.shown(path), Code: resp.StatusCode, Body: c.excerpt(text)}
	}
	return resp, nil
}

// excerpt is the start of a body as one printable line.
func (c *Client) excerpt(body []byte) string {
	body = c.redact(body)
	return strings.Join(strings.Fields(string(body[:min(len(body), 300)])), " ")
}

// redact takes out what the server says back of our credentials, before anything of a body is kept or shown.
func (c *Client) redact(body []byte) []byte {
	secrets := append([]string{c.APIKey, c.basic()}, c.Secrets...)
	for name, value := range c.Headers {
		if credential.Name(name) {
			secrets = append(secrets, value)
			if _, word, ok := strings.Cut(value, " "); ok {
				secrets = append(secrets, word)
			}
		}
	}
	for _, secret := range secrets {
		if secret != "" && bytes.Contains(body, []byte(secret)) {
			body = []byte(step.Redact(string(body), secret))
		}
	}
	return body
}

// basic is what a server hears of the user and the password in its address, "" where there is none.
func (c *Client) basic() string {
	u, err := url.Parse(c.Base)
	if err != nil || u.User == nil {
		return ""
	}
	password, _ := u.User.Password()
	return base64.StdEncoding.EncodeToString([]byte(u.User.Username() + ":" + password))
}

// shown is the address of path as it may be shown.
func (c *Client) shown(path string) string {
	address := outbound.Below(c.Base, path)
	if credential.InURL(address) {
		address = credential.URL(address)
	}
	return step.Redact(address, c.Secrets...)
}

// Close drops idle connections.
func (c *Client) Close() { c.HTTP.CloseIdleConnections() }
