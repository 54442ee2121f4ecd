package client

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"

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

func (x *exchange) readStream(resp *wire.Response) error {
	scan := x.API.scanners.Get().(*sse.Scanner)
	scan.Reset()
	defer x.API.scanners.Put(scan)
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

// errorText returns the message of an error body: of OpenAI's form, of an older flat one, or the text itself.
func errorText(body []byte) string {
	text := ""
	// A body that is no JSON, or only in part, is shown as far as it goes.
	_ = jsonscan.Object(body, func(key, value []byte) error {
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
