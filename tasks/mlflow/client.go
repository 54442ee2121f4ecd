package mlflow

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"strings"
	"time"

	"bflow.dev/bflow/internal/bounded"
	"bflow.dev/bflow/internal/credential"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/tasks/outbound"
	"bflow.dev/bflow/tasks/step"
)

const api = "/api/2.0/mlflow/"

// Credentials are how the server wants to be asked; they are never written anywhere.
type Credentials struct {
	Token, User, Password string
	Workspace             string // header X-MLFLOW-WORKSPACE
	InsecureTLS           bool
}

// Client speaks MLflow's REST API. It repeats a call that can succeed later until Patience is over.
type Client struct {
	// tracking URI without a trailing slash and without credentials; its path part is kept (--static-prefix)
	Base     string
	Auth     Credentials
	Patience time.Duration
	HTTP     *http.Client
	Wait     func(context.Context, time.Duration) error // between tries
}

// NewClient reads the usual MLFLOW_* variables. It returns nil without an error when no tracking URI is set.
func NewClient(env func(string) string, patience time.Duration) (*Client, error) {
	uri := strings.TrimSuffix(strings.TrimSpace(env(contract.EnvMLflowURI)), "/")
	if uri == "" {
		return nil, nil
	}
	if !strings.HasPrefix(uri, "http://") && !strings.HasPrefix(uri, "https://") {
		return nil, step.Usagef("reading %s: %q is no http or https URL", contract.EnvMLflowURI, credential.Text(uri))
	}
	auth := Credentials{
		Token: env(contract.EnvMLflowToken), User: env(contract.EnvMLflowUsername), Password: env(contract.EnvMLflowPassword),
		Workspace: env(contract.EnvMLflowWorkspace), InsecureTLS: env(contract.EnvMLflowInsecureTLS) == "true",
	}
	address, err := url.Parse(uri)
	if err != nil { // whose text holds the address
		return nil, step.Usagef("reading %s: it is not a URL", contract.EnvMLflowURI)
	}
	if auth.Token == "" && auth.User == "" {
		auth.User = address.User.Username()
		auth.Password, _ = address.User.Password()
	}
	uri = strings.TrimSuffix(credential.URL(uri), "/") // it stands in links, results and errors
	transport := http.DefaultTransport.(*http.Transport).Clone()
	transport.TLSClientConfig = &tls.Config{InsecureSkipVerify: auth.InsecureTLS}
	// 65 s: a server whose SQLite is locked answers 503 only after 20 s, and a slow database needs its time.
	return &Client{Base: uri, Auth: auth, Patience: patience, Wait: sleep,
		HTTP: outbound.Stay(&http.Client{Transport: transport, Timeout: 65 * time.Second})}, nil
}

func sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// APIError is an answer of the server that is no success.
type APIError struct {
	Status int
	Code   string // error_code, "" where the body is no MLflow error
	Text   string // message, or the start of a foreign body
}

func (e *APIError) Error() string {
	msg := fmt.Sprintf("it answered %d %s", e.Status, http.StatusText(e.Status))
	if e.Code != "" {
		msg += " " + e.Code
	}
	if e.Text != "" {
		msg += ": " + e.Text
	}
	if e.Status == http.StatusForbidden && strings.Contains(e.Text, "Invalid Host header") {
		msg += "; start the server with --allowed-hosts naming this address, port included"
	}
	return msg
}

// passing reports whether the same call may succeed later. A plain 500 gets two more tries.
func (e *APIError) passing(tries int) bool {
	switch e.Status {
	case http.StatusRequestTimeout, http.StatusTooManyRequests, http.StatusBadGateway, http.StatusGatewayTimeout:
		return true
	case http.StatusServiceUnavailable:
		return e.Code == "TEMPORARILY_UNAVAILABLE" || e.Code == ""
	case http.StatusInternalServerError:
		return tries < 3
	}
	return false
}

// call is one request; body is made anew for each try.
type call struct {
	method, path string
	body         func() (io.Reader, int64, error)
	contentType  string
}

// do puts c until it succeeds, fails for good, or patience is over, and decodes a JSON answer into out (nil: dropped).
// before, if not nil, runs ahead of each repetition.
func (c *Client) do(ctx context.Context, what string, req call, out any) error {
	deadline := time.Now().Add(c.Patience)
	for tries := 1; ; tries++ {
		err := c.tryOnce(ctx, req, out)
		if err == nil {
			return nil
		}
		var answer *APIError
		var redirect *outbound.RedirectError
		final := errors.As(err, &answer) && !answer.passing(tries) || errors.As(err, &redirect)
		if final || ctx.Err() != nil || time.Now().After(deadline) {
			return fmt.Errorf("%s at %s: %w", what, c.Base, c.clean(err))
		}
		if err := c.Wait(ctx, backoff(tries)); err != nil {
			return fmt.Errorf("%s at %s: %w", what, c.Base, err)
		}
	}
}

// backoff doubles from 0.2 s to 5 s, with a quarter of jitter.
func backoff(tries int) time.Duration {
	d := min(200*time.Millisecond<<min(tries-1, 5), 5*time.Second)
	return d + rand.N(d/4)
}

// maxAnswer bounds what is read of an answer: the largest are pages of what was pushed, to check it.
const maxAnswer = 64 << 20

func (c *Client) tryOnce(ctx context.Context, req call, out any) error {
	var body io.Reader
	var size int64
	if req.body != nil {
		var err error
		if body, size, err = req.body(); err != nil {
			return &APIError{Text: err.Error()} // our own file: repeating does not help
		}
		if closer, ok := body.(io.Closer); ok {
			defer closer.Close()
		}
	}
	r, err := http.NewRequestWithContext(ctx, req.method, c.Base+req.path, body)
	if err != nil {
		return &APIError{Text: err.Error()}
	}
	c.setHeaders(r, req.contentType, size)
	resp, err := c.HTTP.Do(r)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	data, err := bounded.ReadAll(resp.Body, maxAnswer)
	if long := new(bounded.TooLongError); errors.As(err, &long) {
		// the next one will be as long
		return &APIError{Status: resp.StatusCode, Text: fmt.Sprintf("reading the answer: %v", err)}
	}
	if err != nil {
		return err
	}
	if resp.StatusCode >= 300 {
		return readError(resp.StatusCode, c.redact(data))
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(data, out); err != nil {
		return &APIError{Status: resp.StatusCode, Text: "not JSON, so no MLflow server: " + excerpt(c.redact(data))}
	}
	return nil
}

func (c *Client) setHeaders(r *http.Request, contentType string, size int64) {
	if contentType != "" {
		r.Header.Set("Content-Type", contentType)
		r.ContentLength = size
	}
	if c.Auth.Workspace != "" {
		r.Header.Set("X-MLFLOW-WORKSPACE", c.Auth.Workspace)
	}
	switch {
	case c.Auth.Token != "":
		r.Header.Set("Authorization", "Bearer "+c.Auth.Token)
	case c.Auth.User != "":
		r.SetBasicAuth(c.Auth.User, c.Auth.Password)
	}
}

func readError(status int, data []byte) error {
	var body struct {
		Code    string `json:"error_code"`
		Message string `json:"message"`
	}
	if json.Unmarshal(data, &body) != nil || body.Code == "" {
		return &APIError{Status: status, Text: excerpt(data)}
	}
	return &APIError{Status: status, Code: body.Code, Text: excerpt([]byte(body.Message))}
}

// excerpt is the start of a body as one line; messages of a database carry whole statements.
func excerpt(data []byte) string {
	return strings.Join(strings.Fields(string(data[:min(len(data), 200)])), " ")
}

// redact takes out what a server or a proxy says back of our credentials. It comes before an excerpt is made, which may
// cut one.
func (c *Client) redact(data []byte) []byte {
	a := c.Auth
	basic := ""
	if a.User != "" {
		basic = base64.StdEncoding.EncodeToString([]byte(a.User + ":" + a.Password))
	}
	secrets := []string{a.Token, basic, a.Password}
	if a.Password == "" { // then the name is the secret
		secrets = append(secrets, a.User)
	}
	return []byte(step.Redact(string(data), secrets...))
}

// clean is redact of an error.
func (c *Client) clean(err error) error {
	text := string(c.redact([]byte(err.Error())))
	if text == err.Error() {
		return err
	}
	return errors.New(text)
}

func jsonBody(v any) (func() (io.Reader, int64, error), error) {
	data, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encoding a call to MLflow: %w", err)
	}
	return func() (io.Reader, int64, error) { return bytes.NewReader(data), int64(len(data)), nil }, nil
}

// post puts a JSON call of the tracking API.
func (c *Client) post(ctx context.Context, what, path string, in, out any) error {
	body, err := jsonBody(in)
	if err != nil {
		return err
	}
	return c.do(ctx, what, call{http.MethodPost, api + path, body, "application/json"}, out)
}

// get puts a query of the tracking API.
func (c *Client) get(ctx context.Context, what, path string, out any) error {
	return c.do(ctx, what, call{method: http.MethodGet, path: api + path}, out)
}
