package wire

import (
	"fmt"
	"strconv"
	"time"
)

// Style is how an answer is spelled; the zero value is a plain one.
type Style struct {
	Chunked   bool // HTTP chunks; false = the body ends with the connection
	CRLF      bool // event lines end with CR LF
	Comments  bool // a comment before every event
	MultiLine bool // the JSON of an event is spread over two data lines
	Unicode   bool // tokens are characters of several bytes
	Continual bool // usage in every event
	Close     bool // the connection closes after the answer
}

// Answer writes one completion, as a stream of events or as a whole.
type Answer struct {
	Style
	Chat      bool
	ID, Model string
	Created   int64 // Unix time, s
	RequestID string
	Pod       string // for the header x-inference-pod; empty = none
	Prompt    int    // tokens, for usage
	Cached    int
	Draw      uint64 // chooses the words

	prefix, separator string
}

// Class is what kind of text a token is.
type Class uint8

// Classes of tokens.
const (
	Content Class = iota
	Reasoning
)

// Prepare builds what all events share. It comes after the last change of the fields above.
func (a *Answer) Prepare() {
	object := "text_completion"
	if a.Chat {
		object = "chat.completion.chunk"
	}
	a.separator = a.eol() + a.eol()
	split := ""
	if a.MultiLine {
		split = a.eol() + "data: "
	}
	comment := ""
	if a.Comments {
		comment = ": still here" + a.separator
	}
	a.prefix = fmt.Sprintf(`%sdata: {"id":%q,"object":%q,"created":%d,"model":%s,%s"sent_ns":`,
		comment, a.ID, object, a.Created, quote(a.Model), split)
}

func (a *Answer) eol() string {
	if a.CRLF {
		return "\r\n"
	}
	return "\n"
}

// AppendHead appends the status line and header of a stream.
func (a *Answer) AppendHead(b []byte) []byte {
	b = append(b, "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nCache-Control: no-cache\r\n"...)
	b = a.appendCommon(b)
	if a.Chunked {
		b = append(b, "Transfer-Encoding: chunked\r\n"...)
	}
	return append(b, "\r\n"...)
}

// appendCommon appends the header fields of any answer.
func (a *Answer) appendCommon(b []byte) []byte {
	if a.RequestID != "" {
		b = append(append(append(b, "x-request-id: "...), a.RequestID...), "\r\n"...)
	}
	if a.Pod != "" {
		b = append(b, "x-inference-pod: "+a.Pod+"\r\n"...)
	}
	if a.Close {
		b = append(b, "Connection: close\r\n"...)
	}
	return b
}

// open begins an HTTP chunk, whose length close fills in. Leading zeros of a chunk size are allowed.
func (a *Answer) open(b []byte) ([]byte, int) {
	if a.Chunked {
		b = append(b, "0000\r\n"...)
	}
	return b, len(b)
}

func (a *Answer) close(b []byte, start int) []byte {
	if !a.Chunked {
		return b
	}
	const hexDigits = "0123456789abcdef"
	n := len(b) - start
	size := b[start-6:]
	size[0], size[1], size[2], size[3] = hexDigits[n>>12&15], hexDigits[n>>8&15], hexDigits[n>>4&15], hexDigits[n&15]
	return append(b, "\r\n"...)
}

// AppendRole appends the first event of a chat, which has a role and no token.
func (a *Answer) AppendRole(b []byte, now int64) []byte {
	b, start := a.open(b)
	b = append(b, a.prefix...)
	b = strconv.AppendInt(b, now, 10)
	b = append(b, `,"choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}`...)
	b = append(b, a.separator...)
	return a.close(b, start)
}

// Tokens are the tokens of one event.
type Tokens struct {
	First, N int // index of the first one in the answer, and how many
	Class    Class
	Finish   string // finish reason in the last event, else empty
	Now      int64  // send time, monotonic ns: field sent_ns of the event
}

// AppendTokens appends one event with tokens.
func (a *Answer) AppendTokens(b []byte, t Tokens) []byte {
	b, start := a.open(b)
	b = append(b, a.prefix...)
	b = strconv.AppendInt(b, t.Now, 10)
	switch {
	case !a.Chat:
		b = append(b, `,"choices":[{"index":0,"text":"`...)
	case t.Class == Reasoning:
		b = append(b, `,"choices":[{"index":0,"delta":{"reasoning":"`...)
	default:
		b = append(b, `,"choices":[{"index":0,"delta":{"content":"`...)
	}
	for i := range t.N {
		b = a.appendWord(b, t.First+i)
	}
	b = append(b, '"')
	if a.Chat {
		b = append(b, '}')
	}
	b = appendFinish(append(b, `,"logprobs":null`...), t.Finish)
	if a.Continual {
		b = a.appendUsage(append(b, ','), t.First+t.N, 0)
	}
	b = append(append(b, '}'), a.separator...)
	return a.close(b, start)
}

func appendFinish(b []byte, reason string) []byte {
	if reason == "" {
		return append(b, `,"finish_reason":null}]`...)
	}
	b = append(b, `,"finish_reason":"`...)
	return append(append(b, reason...), `"}]`...)
}

func (a *Answer) appendWord(b []byte, i int) []byte {
	if a.Unicode {
		return append(b, " é界"...)
	}
	return AppendWord(b, a.Draw+7*uint64(i))
}

// AppendUsageEvent appends the event with the final usage, whose choices are empty.
func (a *Answer) AppendUsageEvent(b []byte, output, reasoning int, now int64) []byte {
	b, start := a.open(b)
	b = append(b, a.prefix...)
	b = strconv.AppendInt(b, now, 10)
	b = a.appendUsage(append(b, `,"choices":[],`...), output, reasoning)
	b = append(append(b, '}'), a.separator...)
	return a.close(b, start)
}

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

// AppendData appends an event with data that is not a completion: [DONE] or an error object.
func (a *Answer) AppendData(b []byte, data string) []byte {
	b, start := a.open(b)
	b = append(append(append(b, "data: "...), data...), a.separator...)
	return a.close(b, start)
}

// AppendEnd appends the end of the body.
func (a *Answer) AppendEnd(b []byte) []byte {
	if a.Chunked {
		return append(b, "0\r\n\r\n"...)
	}
	return b
}

// Whole returns the answer to a request without stream, header included. The first reasoning tokens are reasoning.
func (a *Answer) Whole(output, reasoning int, finish string, usage bool, now int64) []byte {
	body := fmt.Appendf(nil, `{"id":%q,"object":"text_completion","created":%d,"model":%s,"sent_ns":%d,`,
		a.ID, a.Created, quote(a.Model), now)
	if a.Chat {
		body = fmt.Appendf(nil, `{"id":%q,"object":"chat.completion","created":%d,"model":%s,"sent_ns":%d,`,
			a.ID, a.Created, quote(a.Model), now)
		body = append(body, `"choices":[{"index":0,"message":{"role":"assistant","reasoning":`...)
		body = a.appendReasoning(body, reasoning)
		body = append(body, `,"content":"`...)
	} else {
		body = append(body, `"choices":[{"index":0,"text":"`...)
		reasoning = 0
	}
	for i := reasoning; i < output; i++ {
		body = a.appendWord(body, i)
	}
	body = append(body, '"')
	if a.Chat {
		body = append(body, '}')
	}
	body = appendFinish(append(body, `,"logprobs":null`...), finish)
	if usage {
		body = a.appendUsage(append(body, ','), output, reasoning)
	}
	return a.JSON(200, append(body, '}'))
}

func (a *Answer) appendReasoning(b []byte, n int) []byte {
	if n == 0 {
		return append(b, "null"...)
	}
	b = append(b, '"')
	for i := range n {
		b = a.appendWord(b, i)
	}
	return append(b, '"')
}

// Started returns t as the field created.
func Started(wall int64) int64 { return wall / int64(time.Second) }
