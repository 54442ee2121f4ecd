package wire

import (
	"encoding/json"
	"fmt"
	"net/http"
)

// JSON returns a response with a body that is JSON already.
func (a *Answer) JSON(status int, body []byte) []byte {
	return a.Plain(status, "application/json", body)
}

// Plain returns a response with the given body and more header lines, each ending in CR LF.
func (a *Answer) Plain(status int, contentType string, body []byte, lines ...string) []byte {
	b := fmt.Appendf(make([]byte, 0, len(body)+512), "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %d\r\n",
		status, http.StatusText(status), contentType, len(body))
	b = a.appendCommon(b)
	for _, line := range lines {
		b = append(b, line...)
	}
	return append(append(b, "\r\n"...), body...)
}

// apiError is an error in the shape of the API, as vLLM writes it.
type apiError struct {
	Error struct {
		Message string  `json:"message"`
		Type    string  `json:"type"`
		Param   *string `json:"param"`
		Code    int     `json:"code"`
	} `json:"error"`
}

// ErrorBody returns an error object. The type follows the status; param is the field at fault, or empty.
func ErrorBody(status int, param, message string) []byte {
	var e apiError
	e.Error.Message, e.Error.Code, e.Error.Type = message, status, errorType(status)
	if param != "" {
		e.Error.Param = &param
	}
	body, _ := json.Marshal(e) // strings and numbers cannot fail
	return body
}

func errorType(status int) string {
	switch status {
	case 401:
		return "AuthenticationError"
	case 404:
		return "NotFoundError"
	case 429:
		return "RateLimitError"
	case 503:
		return "ServiceUnavailableError"
	}
	if status >= 500 {
		return "InternalServerError"
	}
	return "BadRequestError"
}

func quote(s string) string {
	b, _ := json.Marshal(s)
	return string(b)
}
