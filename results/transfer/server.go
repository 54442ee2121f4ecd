// Package transfer downloads the files of a results server (package results) to a local folder, and uploads local
// files to one that receives them: in pieces, verified by SHA-256, and resumable after an interruption.
//
// It knows only HTTP and files: the caller knows who the server is and what the files mean.
package transfer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"bflow.dev/bflow/internal/bounded"
	"bflow.dev/bflow/results"
	"bflow.dev/bflow/tasks/outbound"
)

// Server is a results server as a client of HTTP reaches it, most often through an API server's pod proxy.
type Server struct {
	HTTP  *http.Client
	Base  string // URL, without a trailing slash
	Token string // that it asks for, "" for none
}

// StatusError is an answer other than what was asked for.
type StatusError struct {
	Code    int
	Message string // what the server says, or the API server before it
}

func (e *StatusError) Error() string {
	return fmt.Sprintf("the server answered %d %s: %s", e.Code, http.StatusText(e.Code), e.Message)
}

// Lasting reports whether asking again is of no use: a server understood and refused, or says more than is read.
func Lasting(err error) bool {
	var redirect *outbound.RedirectError
	var long *bounded.TooLongError
	if errors.As(err, &redirect) || errors.As(err, &long) {
		return true
	}
	var status *StatusError
	if !errors.As(err, &status) || status.Code == http.StatusTooManyRequests || status.Code == http.StatusRequestTimeout {
		return false
	}
	return status.Code >= 400 && status.Code < 500
}

// request is one question.
type request struct {
	method, path string
	query        url.Values
	rang         string    // of bytes, "" for all
	body         io.Reader // of known length where it is a file's
	length       int64
}

// do returns an answer that is what was asked for; the caller closes its body.
func (s Server) do(ctx context.Context, q request) (*http.Response, error) {
	address := s.Base + (&url.URL{Path: q.path, RawQuery: q.query.Encode()}).String()
	req, err := http.NewRequestWithContext(ctx, q.method, address, q.body)
	if err != nil {
		return nil, fmt.Errorf("asking for %s: %w", q.path, err)
	}
	if q.body != nil {
		req.ContentLength = q.length
	}
	if q.rang != "" {
		req.Header.Set("Range", q.rang)
	}
	if s.Token != "" {
		req.Header.Set(results.HeaderToken, s.Token)
	}
	resp, err := outbound.Stay(s.HTTP).Do(req)
	if err != nil {
		return nil, err
	}
	want := http.StatusOK
	if q.rang != "" {
		want = http.StatusPartialContent // the whole instead of a part would be taken for the part
	}
	if resp.StatusCode == want {
		return resp, nil
	}
	defer resp.Body.Close()
	text, _ := io.ReadAll(io.LimitReader(resp.Body, 4<<10))
	return nil, &StatusError{Code: resp.StatusCode, Message: words(text)}
}

// words is the message of an API server's refusal, or the text of any other, on one line.
func words(body []byte) string {
	var status struct{ Kind, Message string }
	if json.Unmarshal(body, &status) == nil && status.Kind == "Status" && status.Message != "" {
		return status.Message
	}
	line := strings.Join(strings.Fields(string(body)), " ")
	return strings.ToValidUTF8(line[:min(len(line), 300)], "")
}

// maxAnswer bounds what is kept of one answer in memory: lists of files, and small files that are followed while they
// grow.
const maxAnswer = 64 << 20

func (s Server) read(ctx context.Context, q request) ([]byte, error) {
	resp, err := s.do(ctx, q)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	return bounded.ReadAll(resp.Body, maxAnswer)
}

// Read returns what the file at path holds from offset on, nil where that is nothing. It asks once.
func (s Server) Read(ctx context.Context, path string, offset int64) ([]byte, error) {
	q := request{method: http.MethodGet, path: results.PathFiles + path}
	if offset > 0 {
		q.rang = fmt.Sprintf("bytes=%d-", offset)
	}
	data, err := s.read(ctx, q)
	var status *StatusError // of an empty file there are no parts: the answer is the whole
	if errors.As(err, &status) &&
		(status.Code == http.StatusRequestedRangeNotSatisfiable || status.Code == http.StatusOK) {
		return nil, nil
	}
	return data, err
}

// Manifest returns the files that are there, without their checksums, which cost a reading of all. It asks once.
func (s Server) Manifest(ctx context.Context) (m results.Manifest, err error) {
	body, err := s.read(ctx, request{
		method: http.MethodGet, path: results.PathManifest, query: url.Values{"sums": {"false"}},
	})
	if err != nil {
		return m, err
	}
	if err := json.Unmarshal(body, &m); err != nil {
		return m, fmt.Errorf("reading the list of files: %w", err)
	}
	return m, nil
}

// Healthy returns nil when the server answers. It asks once, and keeps nothing alive.
func (s Server) Healthy(ctx context.Context) error {
	_, err := s.read(ctx, request{method: http.MethodGet, path: results.PathHealth})
	return err
}

// End tells the server that nothing more is wanted. It asks once.
func (s Server) End(ctx context.Context) error {
	_, err := s.read(ctx, request{method: http.MethodPost, path: results.PathEnd})
	return err
}
