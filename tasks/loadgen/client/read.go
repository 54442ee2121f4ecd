package client

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"sync"

	"bflow.dev/bflow/tasks/loadgen/jsonscan"
	"bflow.dev/bflow/tasks/loadgen/sse"
	"bflow.dev/bflow/tasks/loadgen/wire"
)

// Sources of token counts.
const (
	SourceUsage    = "usage"
	SourceTokenIDs = "token_ids"
	SourceEvents   = "events"
)

// answer is what is known of the answer beside its stamps.
type answer struct {
	done       bool // its terminator was read
	tokens     bool // it brought tokens, also without a stream
	hasUsage   bool
	continuous bool  // usage came with the first token event, so it comes with each
	counted    int64 // completion tokens of the last usage
	failed     error
}

// read reads the answer whose head has come.
func (x *exchange) read(resp *wire.Response) error {
	x.o.HTTPStatus, x.o.Pod = int64(resp.Status), resp.Pod
	if resp.Status != http.StatusOK {
		return x.readError(resp)
	}
	if x.API.Stream {
		return x.readStream(resp)
	}
	return x.readWhole(resp)
}

// maxErrorBody bounds what is read of an error page, maxBody what is read of an answer that does not stream.
const (
	maxErrorBody = 64 << 10
	maxBody      = 256 << 20
)

func (x *exchange) readError(resp *wire.Response) error {
	body, err := readAll(resp, maxErrorBody)
	if err != nil && len(body) == 0 {
		return err
	}
	x.o.End = x.now()
	return &statusError{code: resp.Status, text: errorText(body)}
}

func readAll(resp *wire.Response, limit int) ([]byte, error) {
	var body []byte
	for {
		piece, err := resp.Next()
		if errors.Is(err, io.EOF) {
			return body, nil
		}
		if err != nil {
			return body, err
		}
		if body = append(body, piece...); len(body) > limit {
			return body, wire.ErrBadAnswer
		}
	}
}

func (x *exchange) readWhole(resp *wire.Response) error {
	body, err := readAll(resp, maxBody)
	if err != nil {
		return err
	}
	x.o.End = x.now()
	if err := x.event(bytes.TrimSpace(body), false); err != nil {
		return err
	}
	x.settle()
	return nil
}

// scanners are kept between requests for their buffers.
var scanners = sync.Pool{New: func() any { return new(sse.Scanner) }}

func (x *exchange) readStream(resp *wire.Response) error {
	scan := scanners.Get().(*sse.Scanner)
	scan.Reset()
	defer scanners.Put(scan)
	x.o.TokensAssumed = true
	onEvent := func(data []byte) error { return x.event(data, true) }
	for {
		piece, err := resp.Next()
		if errors.Is(err, io.EOF) {
			err = scan.Close(onEvent)
			if err == nil {
				err = x.ended()
			}
			return err
		}
		if err != nil {
			if x.answer.done { // the answer is whole; only the end of its framing is missing
				return x.ended()
			}
			return err
		}
		x.lastByte = x.now()
		if err := scan.Feed(piece, onEvent); err != nil {
			return err
		}
	}
}

// ended closes an answer whose body is over.
func (x *exchange) ended() error {
	x.settle()
	if x.o.End < 0 {
		x.o.End = x.now()
	}
	switch {
	case x.answer.failed != nil:
		return x.answer.failed
	case !x.answer.done:
		return errNoTerminator
	}
	return nil
}

// event takes in one event of a stream, or the whole body of an answer that does not stream.
func (x *exchange) event(data []byte, streamed bool) error {
	if x.answer.done {
		return nil
	}
	var d delta
	d.clear()
	if err := x.API.parse(data, &d); err != nil {
		return err
	}
	if d.failure != nil {
		// Read on: the connection can be kept when the server ends the answer in order.
		x.answer.failed, x.answer.done = &streamError{text: errorText(d.failure)}, true
		x.o.End = x.now()
		return x.failedUnstreamed(streamed)
	}
	x.usage(&d)
	if len(d.finish) > 0 {
		x.o.Finish = unquote(d.finish)
	}
	if d.class != none {
		x.token(&d, streamed)
	}
	if d.done {
		x.answer.done = true
		x.o.End = x.lastByte
	}
	return nil
}

func (x *exchange) failedUnstreamed(streamed bool) error {
	if streamed {
		return nil
	}
	return x.answer.failed
}

// token takes in an event that brought tokens.
func (x *exchange) token(d *delta, streamed bool) {
	x.answer.tokens = true
	if x.request.KeepText && d.class == content {
		x.o.Text = append(x.o.Text, unquote(d.text)...)
	}
	if !streamed {
		return
	}
	k := int64(1)
	if x.o.First < 0 {
		x.answer.continuous = d.out > 0
	}
	switch {
	case x.answer.continuous && d.out > x.answer.counted:
		k = d.out - x.answer.counted
		x.o.TokensAssumed = false
	case d.ids > 0:
		k = d.ids
		x.o.TokensAssumed = false
		x.o.TokenSource = SourceTokenIDs
	}
	if d.out > 0 {
		x.answer.counted = d.out
	}
	x.o.Token(x.lastByte, k)
	if d.class == content && x.o.Content < 0 {
		x.o.Content = x.lastByte
	}
}

// usage keeps the latest counts of the server.
func (x *exchange) usage(d *delta) {
	for _, v := range []struct {
		to   *int64
		from int64
	}{{&x.o.In, d.in}, {&x.o.Out, d.out}, {&x.o.Cached, d.cached}, {&x.o.Reasoning, d.reasoning}} {
		if v.from >= 0 {
			*v.to = v.from
		}
	}
	x.answer.hasUsage = x.answer.hasUsage || d.out >= 0
}

// settle counts the tokens by what came when the server did not say.
func (x *exchange) settle() {
	if x.answer.hasUsage || x.o.Events() == 0 {
		return
	}
	x.o.Out = x.o.Streamed()
	if x.o.TokenSource == "" {
		x.o.TokenSource = SourceEvents
	}
}

// errorText returns the message of an error body: of OpenAI's form, of an older flat one, or the text itself.
func errorText(body []byte) string {
	text := ""
	jsonscan.Object(body, func(key, value []byte) error {
		switch string(key) {
		case "error":
			if value[0] == '{' {
				text = errorText(value)
			} else {
				text = unquote(value)
			}
		case "message", "detail":
			text = unquote(value)
		}
		return nil
	})
	if text == "" {
		text = unquote(body)
	}
	return text
}

// unquote decodes a raw JSON string; anything else is returned as it is written.
func unquote(raw []byte) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return string(raw)
	}
	return s
}
