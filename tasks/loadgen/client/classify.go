package client

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"

	"bflow.dev/bflow/tasks/loadgen/jsonscan"
	"bflow.dev/bflow/tasks/loadgen/sse"
	"bflow.dev/bflow/tasks/loadgen/wire"
	"bflow.dev/bflow/tasks/report"
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

// errNoTerminator is a body that ended cleanly before the answer did.
var errNoTerminator = errors.New("the answer ended without its terminator")

// classify returns the status and error class of an exchange that ended with err.
func (x *exchange) classify(err error) (status, class string) {
	var (
		dial   *wire.DialError
		code   *statusError
		stream *streamError
	)
	switch {
	case errors.As(err, &dial) && dial.TLS:
		return report.StatusFailed, report.ErrTLS
	case errors.As(err, &dial):
		return report.StatusFailed, report.ErrDial
	case errors.As(err, &code):
		return report.StatusFailed, classOf(code.code)
	case errors.As(err, &stream):
		return report.StatusFailed, report.ErrErrorInStream
	case errors.Is(err, os.ErrDeadlineExceeded):
		return report.StatusTimeout, x.timeoutClass()
	case errors.Is(err, errNoTerminator), errors.Is(err, wire.ErrTruncated):
		return report.StatusFailed, report.ErrTruncated
	case errors.Is(err, jsonscan.ErrSyntax), errors.Is(err, sse.ErrTooLong), errors.Is(err, wire.ErrBadAnswer):
		return report.StatusFailed, report.ErrBadPayload
	}
	return report.StatusFailed, report.ErrReset
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

// timeoutClass tells a server that went silent (stall) from one that was still sending when its time was up
// (deadline): silent is no byte for the last half of the timeout.
func (x *exchange) timeoutClass() string {
	if x.now()-x.lastByte >= int64(x.Timeout)/2 {
		return report.ErrStall
	}
	return report.ErrDeadline
}

// describe returns err as one short text, without the addresses that the net package repeats.
func (x *exchange) describe(err error) string {
	var op *net.OpError
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fmt.Sprintf("no end after %v, %d token events had come", x.Timeout, x.o.Events())
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
