package tools

import (
	"strings"

	"bflow.dev/bflow/report"
)

// Classify finds the class of an error and whether it was a timeout from what a tool says of it: an HTTP status (0
// where it gives none), the type of the error and its text.
func Classify(status int, texts ...string) (class, outcome string) {
	text := strings.ToLower(strings.Join(texts, " "))
	has := func(words ...string) bool {
		for _, w := range words {
			if strings.Contains(text, w) {
				return true
			}
		}
		return false
	}
	switch {
	case status == 429 || has("too many requests"):
		return report.ErrHTTP429, report.StatusFailed
	case status >= 500 && status < 600 || has("server error '5", "internal server error", "bad gateway",
		"service unavailable", "http_5xx"):
		return report.ErrHTTP5xx, report.StatusFailed
	case status >= 400 && status < 500 || has("client error '4", "not found", "unauthorized", "forbidden", "bad request",
		"http_4xx"):
		return report.ErrHTTP4xx, report.StatusFailed
	case has("error_in_stream", "streaming response returned an error", "sse error", "error in stream"):
		return report.ErrErrorInStream, report.StatusFailed
	case has("truncated", "without sending complete message", "payload is not completed", "clientpayloaderror",
		"incomplete chunked read", "transferencoding", "serverdisconnected"):
		return report.ErrTruncated, report.StatusFailed
	case has("reset", "broken pipe"):
		return report.ErrReset, report.StatusFailed
	case has("cancel"):
		return report.ErrCancelled, report.StatusFailed
	case has("stall", "readtimeout", "read timeout"):
		return report.ErrStall, report.StatusTimeout
	case has("timeout", "timed out", "deadline"):
		return report.ErrDeadline, report.StatusTimeout
	case has("certificate", "tls", "ssl"):
		return report.ErrTLS, report.StatusFailed
	case has("connect", "refused", "name or service", "dial"):
		return report.ErrDial, report.StatusFailed
	}
	return report.ErrBadPayload, report.StatusFailed
}

// Fail makes a row one of a request that failed, by what its tool says of that: see Classify. The message is kept.
func Fail(row *report.Row, status int, kind, message string) {
	row.ErrorClass, row.Status = Classify(status, kind, message)
	row.Error = Brief(message)
}

// CountFailures adds n requests to the class of their error: see Classify.
func CountFailures(c *report.Counts, n, status int, texts ...string) {
	if n <= 0 {
		return
	}
	class, _ := Classify(status, texts...)
	if c.ByClass == nil {
		c.ByClass = map[string]int{}
	}
	c.ByClass[class] += n
}

// Brief is the first 200 bytes of an error text, which is all that rows keep.
func Brief(text string) string {
	const longest = 200
	if len(text) <= longest {
		return text
	}
	return strings.ToValidUTF8(text[:longest], "")
}
