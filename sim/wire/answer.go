package wire

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Style is how an answer is spelled; the zero value is a plain one.
type Style struct {
	Chunked   bool // HTTP chunks; false = the body ends with the connection
	CRLF      bool // event lines end with CR LF
	CR        bool // event lines end with CR
	BOM       bool // a byte order mark opens the stream
	Tight     bool // no blank after "data:"
	Comments  bool // a comment before every event
	MultiLine bool // the JSON of an event is spread over two data lines
	Unicode   bool // tokens are characters of several bytes
	Tools     bool // tokens are arguments of a tool call (chat)
	Continual bool // usage in every event
	Gzip      bool // compressed, whatever the client accepts
	Close     bool // the connection closes after the answer
	Stamps    bool // every event has the time of its sending, sent_ns
	Big       int  // the first event with tokens has so many bytes more
	Size      int  // bytes of a chat chunk with one token, as far as a longer one can be made; 0 = natural
}

// Answer writes one answer of the model, as a stream of events or as a whole.
type Answer struct {
	Style
	Extras
	API       API
	ID, Model string
	Created   int64 // Unix time, s
	RequestID string
	Pod       string // for the header x-inference-pod; empty = none
	Prompt    int    // tokens, for usage
	Cached    int
	Draw      uint64 // chooses the words
	Echo      []byte // Triton without a stream: the prompt before the answer

	before, split, separator string // around the JSON of an event
	prefix                   []byte // of every event of the OpenAI APIs
	zip                      *gzip.Writer
	zipped                   bytes.Buffer
	sequence                 int // of Responses
}

// Class is what kind of text a token is.
type Class uint8

// Classes of tokens.
const (
	Content Class = iota
	Reasoning
)

// Tokens are the tokens of one event.
type Tokens struct {
	First, N int // index of the first one in the answer, and how many
	Class    Class
	Finish   string // finish reason in the last event, else empty
	Total    int    // all tokens of the answer
	Usage    bool   // the last event of TGI has its count
	Now      int64  // send time, monotonic ns: field sent_ns of the event
}

// End is what is known at the end of an answer.
type End struct {
	Output, Reasoning int // tokens
	Finish            string
	Usage             bool // it is told
	NoDone            bool // the terminator lacks
	Now               int64
}

// Prepare builds what all events share. It comes after the last change of the fields above.
func (a *Answer) Prepare() {
	eol := a.eol()
	a.split, a.before = "", "data: "
	switch eol {
	case "\n":
		a.separator = "\n\n"
	default:
		a.separator = eol + eol
	}
	if a.Tight {
		a.before = "data:"
	}
	if a.MultiLine {
		a.split = eol + a.before
	}
	if a.Comments {
		a.before = ": still here" + a.separator + a.before
	}
	if a.API == Chat || a.API == Completions {
		a.prepareChunks()
	}
	if a.Gzip {
		a.zip = gzip.NewWriter(&a.zipped)
	}
}

// Lend gives the answer memory to build its events in; Lent gives it back when the answer is over.
func (a *Answer) Lend(b []byte) { a.prefix = b }

// Lent returns the memory that was lent.
func (a *Answer) Lent() []byte { return a.prefix }

func (a *Answer) eol() string {
	switch {
	case a.CRLF:
		return "\r\n"
	case a.CR:
		return "\r"
	}
	return "\n"
}

// AppendHead appends the status line and header of a stream.
func (a *Answer) AppendHead(b []byte) []byte {
	b = append(b, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nCache-Control: no-cache\r\n"...)
	b = a.appendCommon(b)
	if a.Gzip {
		b = append(b, "Content-Encoding: gzip\r\n"...)
	}
	if a.Chunked {
		b = append(b, "Transfer-Encoding: chunked\r\n"...)
	}
	b = append(b, "\r\n"...)
	if a.BOM {
		b, start := a.open(b)
		return a.close(append(b, "\ufeff"...), start)
	}
	return b
}

// appendCommon appends the header fields of any answer.
func (a *Answer) appendCommon(b []byte) []byte {
	if a.RequestID != "" {
		b = append(append(append(b, "x-request-id: "...), a.RequestID...), "\r\n"...)
	}
	if a.Pod != "" {
		b = append(append(append(b, "x-inference-pod: "...), a.Pod...), "\r\n"...)
	}
	if a.Close {
		b = append(b, "Connection: close\r\n"...)
	}
	return b
}

// sizeDigits is the number of digits of a chunk size. Leading zeros are allowed.
func (a *Answer) sizeDigits() int {
	if a.Big > 0 {
		return 8
	}
	return 4
}

// open begins an HTTP chunk, whose length close fills in.
func (a *Answer) open(b []byte) ([]byte, int) {
	if a.Chunked {
		b = append(append(b, "00000000"[:a.sizeDigits()]...), "\r\n"...)
	}
	return b, len(b)
}

func (a *Answer) close(b []byte, start int) []byte {
	if a.zip != nil {
		b = a.compress(b, start)
	}
	if !a.Chunked {
		return b
	}
	const hexDigits = "0123456789abcdef"
	n := len(b) - start
	for i := start - 3; n > 0; i-- {
		b[i] = hexDigits[n&15]
		n >>= 4
	}
	return append(b, "\r\n"...)
}

func (a *Answer) compress(b []byte, start int) []byte {
	a.zipped.Reset()
	_, _ = a.zip.Write(b[start:]) // a buffer takes everything
	_ = a.zip.Flush()
	return append(b[:start], a.zipped.Bytes()...)
}

// begin opens an event that is no chunk of the OpenAI APIs; name is its field event, or empty.
func (a *Answer) begin(b []byte, name string) ([]byte, int) {
	b, start := a.open(b)
	if name != "" {
		b = append(append(append(b, "event: "...), name...), a.eol()...)
	}
	return append(b, a.before...), start
}

// finish closes an event whose object lacks its brace.
func (a *Answer) finish(b []byte, start int, now int64) []byte {
	b = append(append(a.appendStamp(b, now), '}'), a.separator...)
	return a.close(b, start)
}

func (a *Answer) appendStamp(b []byte, now int64) []byte {
	if !a.Stamps {
		return b
	}
	return strconv.AppendInt(append(b, `,"sent_ns":`...), now, 10)
}

// AppendStart appends the events that come before the first token.
func (a *Answer) AppendStart(b []byte, now int64) []byte {
	switch a.API {
	case Chat:
		return a.appendRole(b, now)
	case Responses:
		return responseAnswer{a}.appendStart(b, now)
	case Messages:
		return messageAnswer{a}.appendStart(b, now)
	}
	return b
}

// AppendTokens appends one event with tokens.
func (a *Answer) AppendTokens(b []byte, t Tokens) []byte {
	switch a.API {
	case Responses:
		return responseAnswer{a}.appendTokens(b, t)
	case Messages:
		return messageAnswer{a}.appendTokens(b, t)
	case Triton:
		return tritonAnswer{a}.appendTokens(b, t)
	case TGI:
		return tgiAnswer{a}.appendTokens(b, t)
	}
	return a.chunk(b, t)
}

// AppendFinish appends what comes after the last token, and the end of the body.
func (a *Answer) AppendFinish(b []byte, e End) []byte {
	switch a.API {
	case Chat, Completions:
		b = a.finishChunks(b, e)
	case Responses:
		b = responseAnswer{a}.appendFinish(b, e)
	case Messages:
		b = messageAnswer{a}.appendFinish(b, e)
	}
	return a.AppendEnd(b)
}

// AppendEmpty appends an answer without tokens after its start.
func (a *Answer) AppendEmpty(b []byte, now int64) []byte {
	if a.API == Chat || a.API == Completions {
		return a.AppendEnd(a.AppendData(b, "[DONE]"))
	}
	return a.AppendFinish(b, End{Finish: "stop", Now: now})
}

// AppendError appends an error object in the middle of a stream, and its end.
func (a *Answer) AppendError(b []byte, message string) []byte {
	switch a.API {
	case Messages:
		b, start := a.begin(b, "error")
		return a.AppendEnd(a.close(append(append(b, a.Error(500, "", message)...), a.separator...), start))
	case Responses:
		return a.AppendEnd(responseAnswer{a}.appendFailure(b, message))
	case Triton, TGI:
		return a.AppendEnd(a.AppendData(b, string(a.Error(500, "", message))))
	}
	return a.AppendEnd(a.AppendData(a.AppendData(b, string(a.Error(500, "", message))), "[DONE]"))
}

// AppendData appends an event with data that is not an answer: [DONE] or an error object.
func (a *Answer) AppendData(b []byte, data string) []byte {
	b, start := a.open(b)
	b = append(append(append(b, "data: "...), data...), a.separator...)
	return a.close(b, start)
}

// AppendEnd appends the end of the body.
func (a *Answer) AppendEnd(b []byte) []byte {
	if a.zip != nil {
		b = a.endZip(b)
	}
	if a.Chunked {
		return append(b, "0\r\n\r\n"...)
	}
	return b
}

func (a *Answer) endZip(b []byte) []byte {
	zip := a.zip
	b, start := a.open(b)
	a.zipped.Reset()
	_ = zip.Close() // into a buffer
	a.zip = nil
	return a.close(append(b, a.zipped.Bytes()...), start)
}

// Whole returns the answer to a request without stream, header included. The first reasoning tokens are reasoning.
func (a *Answer) Whole(e End) []byte {
	var body []byte
	switch a.API {
	case Responses:
		body = responseAnswer{a}.whole(e)
	case Messages:
		body = messageAnswer{a}.whole(e)
	case Embeddings:
		body = a.embedding(e)
	case Triton:
		body = tritonAnswer{a}.whole(e)
	case TGI:
		body = tgiAnswer{a}.whole(e)
	default:
		body = a.wholeChunk(e)
	}
	body = append(a.appendStamp(body, e.Now), '}')
	if !a.Gzip {
		return a.JSON(200, body)
	}
	zip := gzip.NewWriter(&a.zipped)
	_, _ = zip.Write(body) // into a buffer
	_ = zip.Close()
	return a.Plain(200, "application/json", a.zipped.Bytes(), "Content-Encoding: gzip\r\n")
}

// appendWords appends the text of n tokens.
func (a *Answer) appendWords(b []byte, first, n int) []byte {
	for i := first; i < first+n; i++ {
		if a.Unicode {
			b = append(b, " é界"...)
		} else {
			b = AppendWord(b, a.Draw+7*uint64(i))
		}
	}
	return b
}

// appendBig appends a member of the length that the first event is to have.
func (a *Answer) appendBig(b []byte, t Tokens) []byte {
	if a.Big == 0 || t.First > 0 {
		return b
	}
	return append(append(append(b, `,"padding":"`...), strings.Repeat("x", a.Big)...), '"')
}

// appendUsage appends a usage object under the names of the API.
func (a *Answer) appendUsage(b []byte, output, reasoning int) []byte {
	b = append(b, `"usage":{"prompt_tokens":`...)
	b = strconv.AppendInt(b, int64(a.Prompt), 10)
	b = append(b, `,"total_tokens":`...)
	b = strconv.AppendInt(b, int64(a.Prompt+output), 10)
	b = append(b, `,"completion_tokens":`...)
	b = strconv.AppendInt(b, int64(output), 10)
	b = append(b, `,"prompt_tokens_details":{"cached_tokens":`...)
	b = strconv.AppendInt(b, int64(a.Cached), 10)
	b = append(b, '}')
	if reasoning > 0 {
		b = append(b, `,"completion_tokens_details":{"reasoning_tokens":`...)
		b = strconv.AppendInt(b, int64(reasoning), 10)
		b = append(b, '}')
	}
	return append(b, '}')
}

// Error returns an error body in the shape of the API.
func (a *Answer) Error(status int, param, message string) []byte {
	switch a.API {
	case Triton:
		return fmt.Appendf(nil, `{"error":%s}`, quote(message))
	case TGI:
		return fmt.Appendf(nil, `{"error":%s,"error_type":%s}`, quote(message), quote(tgiErrorType(status)))
	case Messages:
		return fmt.Appendf(nil, `{"type":"error","error":{"type":%s,"message":%s}}`,
			quote(messagesErrorType(status)), quote(message))
	}
	return ErrorBody(status, param, message)
}

// Started returns t as the field created.
func Started(wall int64) int64 { return wall / int64(time.Second) }
