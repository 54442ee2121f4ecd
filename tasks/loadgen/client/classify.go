package client

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"
	"time"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/tasks/loadgen/jsonscan"
	"bflow.dev/bflow/tasks/loadgen/sse"
	"bflow.dev/bflow/tasks/loadgen/wire"
	"bflow.dev/bflow/tasks/tlsclient"
)

// statusError is an answer with a status that is not 200.
type statusError struct {
	code int
	text string
}

func (e *statusError) Error() string { return fmt.Sprintf("HTTP %d: %s", e.code, e.text) }

// streamError is an error object inside a 200.
type streamError struct{ text string }

func (e *streamError) Error() string { return e.text }

// encodingError is an answer in an encoding that nobody asked for.
type encodingError struct{ name string }

func (e *encodingError) Error() string {
	return fmt.Sprintf("the answer is encoded as %q although the request accepts no encoding: turn compression off "+
		"on the way to the server", e.name)
}

// errNoTerminator is a body that ended cleanly before the answer did.
var errNoTerminator = errors.New("the answer ended without its terminator")

// classify returns the status and error class of an exchange that ended with err.
func classify(err error) (status, class string) {
	var (
		dial     *wire.DialError
		code     *statusError
		stream   *streamError
		encoding *encodingError
		security *tlsclient.Error
	)
	switch {
	case errors.As(err, &security):
		return report.StatusFailed, report.ErrTLS
	case errors.As(err, &dial) && dial.TLS:
		return report.StatusFailed, report.ErrTLS
	case errors.As(err, &dial):
		return report.StatusFailed, report.ErrDial
	case errors.As(err, &code):
		return report.StatusFailed, classOf(code.code)
	case errors.As(err, &stream):
		return report.StatusFailed, report.ErrErrorInStream
	case errors.Is(err, ErrStall):
		return report.StatusTimeout, report.ErrStall
	case errors.Is(err, ErrDeadline):
		return report.StatusTimeout, report.ErrDeadline
	case errors.Is(err, errNoTerminator), errors.Is(err, wire.ErrTruncated):
		return report.StatusFailed, report.ErrTruncated
	case isTooLarge(err):
		return report.StatusFailed, report.ErrTooLarge
	case errors.Is(err, jsonscan.ErrSyntax), errors.Is(err, wire.ErrBadAnswer), errors.As(err, &encoding):
		return report.StatusFailed, report.ErrBadPayload
	}
	return report.StatusFailed, report.ErrReset
}

// isTooLarge says whether err is a refusal to hold more of the answer.
func isTooLarge(err error) bool {
	return errors.Is(err, errMemory) || errors.Is(err, errLongBody) || errors.Is(err, errLongText) ||
		errors.Is(err, sse.ErrTooLong)
}

func classOf(code int) string {
	switch {
	case code == 429:
		return report.ErrHTTP429
	case code >= 400 && code < 500:
		return report.ErrHTTP4xx
	case code >= 500:
		return report.ErrHTTP5xx
	}
	return report.ErrBadPayload
}

// describe returns err as one short text, without the addresses that the net package repeats.
func (x *Exchange) describe(err error) string {
	var op *net.OpError
	var security *tlsclient.Error
	switch {
	case errors.As(err, &security):
		return security.Error()
	case errors.Is(err, ErrStall):
		return fmt.Sprintf("no byte for %v, %d token events had come",
			time.Duration(x.Silent(x.Outcome.End)).Round(time.Millisecond), x.Outcome.Events())
	case errors.Is(err, ErrDeadline):
		return fmt.Sprintf("no end after %v, %d token events had come",
			time.Duration(x.Outcome.End-x.Outcome.Send).Round(time.Millisecond), x.Outcome.Events())
	case errors.As(err, &op):
		return fmt.Sprintf("%s: %v", op.Op, op.Err)
	case errors.Is(err, io.EOF):
		return "the connection was closed before the answer"
	}
	return err.Error()
}

// isClosed says whether err is what a connection that the server has closed gives.
func isClosed(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// maxErrorText is how much of an error body is looked at, and of the message in it. An error is shown by its first 200
// bytes; what is longer would be read and cleaned of secrets while nothing is sent.
const maxErrorText = 16 << 10

// errorText returns the message of an error body: of OpenAI's form, of an older flat one, or the text itself.
func errorText(body []byte) string {
	if len(body) > maxErrorText {
		body = body[:maxErrorText]
	}
	text := message(body, 1)
	if text == "" {
		text = unquote(body)
	}
	return text
}

// message returns the message in an error object, which may lie in objects named error of that depth; empty where there
// is none. An object that is cut, or is none after a while, says what it does until there.
func message(object []byte, depth int) string {
	text := ""
	_ = jsonscan.Object(object, func(key, value []byte) error {
		switch string(key) {
		case "error":
			if value[0] != '{' {
				text = unquote(value)
			} else if depth > 0 {
				text = message(value, depth-1)
			}
		case "message", "detail":
			text = unquote(value)
		}
		return nil
	})
	return text
}

// unquote decodes a raw JSON string; anything else is returned as it is written.
func unquote(raw []byte) string {
	if n := len(raw); n >= 2 && raw[0] == '"' && raw[n-1] == '"' && bytes.IndexByte(raw[1:n-1], '\\') < 0 {
		return string(raw[1 : n-1])
	}
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return string(raw)
	}
	return s
}

func trimmed(body []byte) []byte { return bytes.TrimSpace(body) }
