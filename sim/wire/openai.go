package wire

import (
	"fmt"
	"strconv"
)

// prepareChunks builds the beginning of the events of chat and completions. Where Size asks for longer ones, the id
// grows.
func (a *Answer) prepareChunks() {
	a.prefix = a.appendPrefix(a.prefix[:0], 0)
	if a.Size == 0 {
		return
	}
	framing := 0
	if a.Chunked {
		framing = a.sizeDigits() + len("\r\n\r\n")
	}
	plain := *a
	plain.zip = nil
	if short := a.Size - len(plain.chunk(nil, Tokens{N: 1, First: 1, Now: 1e14})) + framing; short > 0 {
		a.prefix = a.appendPrefix(a.prefix[:0], short)
	}
}

func (a *Answer) appendPrefix(b []byte, more int) []byte {
	object := "text_completion"
	if a.API == Chat {
		object = "chat.completion.chunk"
	}
	b = append(b, a.before...)
	b = append(append(b, `{"id":"`...), a.ID...)
	for range more {
		b = append(b, '0')
	}
	b = append(append(append(b, `","object":"`...), object...), `","created":`...)
	b = strconv.AppendInt(b, a.Created, 10)
	b = appendQuoted(append(b, `,"model":`...), a.Model)
	return append(append(b, ','), a.split...)
}

// appendRole appends the first event of a chat, which has a role and no token.
func (a *Answer) appendRole(b []byte, now int64) []byte {
	b, start := a.open(b)
	b = append(b, a.prefix...)
	b = append(b, `"choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]`...)
	return a.finish(b, start, now)
}

func (a *Answer) chunk(b []byte, t Tokens) []byte {
	b, start := a.open(b)
	b = append(b, a.prefix...)
	end := `"}`
	switch {
	case a.API != Chat:
		b = append(b, `"choices":[{"index":0,"text":"`...)
		end = `"`
	case t.Class == Reasoning:
		b = append(b, `"choices":[{"index":0,"delta":{"reasoning":"`...)
	case a.Tools:
		b = append(b, `"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"`...)
		end = `"}}]}`
	default:
		b = append(b, `"choices":[{"index":0,"delta":{"content":"`...)
	}
	b = append(a.appendWords(b, t.First, t.N), end...)
	b = appendReason(append(b, `,"logprobs":null`...), t.Finish)
	b = a.appendBig(b, t)
	if a.Continual {
		b = a.appendUsage(append(b, ','), t.First+t.N, 0)
	}
	return a.finish(b, start, t.Now)
}

func appendReason(b []byte, reason string) []byte {
	if reason == "" {
		return append(b, `,"finish_reason":null}]`...)
	}
	b = append(b, `,"finish_reason":"`...)
	return append(append(b, reason...), `"}]`...)
}

// finishChunks appends the event with the final usage, whose choices are empty, and the terminator.
func (a *Answer) finishChunks(b []byte, e End) []byte {
	if e.Usage {
		var start int
		b, start = a.open(b)
		b = append(b, a.prefix...)
		b = a.appendUsage(append(b, `"choices":[],`...), e.Output, e.Reasoning)
		b = a.finish(b, start, e.Now)
	}
	if !e.NoDone {
		b = a.AppendData(b, "[DONE]")
	}
	return b
}

func (a *Answer) wholeChunk(e End) []byte {
	object, message := "text_completion", `"text":"`
	if a.API == Chat {
		object, message = "chat.completion", `"message":{"role":"assistant","reasoning":`
	}
	body := fmt.Appendf(nil, `{"id":%q,"object":%q,"created":%d,"model":%s,"choices":[{"index":0,%s`, a.ID, object,
		a.Created, quote(a.Model), message)
	reasoning := 0
	if a.API == Chat {
		reasoning = e.Reasoning
		body = append(a.appendReasoning(body, reasoning), `,"content":"`...)
	}
	body = append(a.appendWords(body, reasoning, e.Output-reasoning), '"')
	if a.API == Chat {
		body = append(body, '}')
	}
	body = appendReason(append(body, `,"logprobs":null`...), e.Finish)
	if e.Usage {
		body = a.appendUsage(append(body, ','), e.Output, reasoning)
	}
	return body
}

func (a *Answer) appendReasoning(b []byte, n int) []byte {
	if n == 0 {
		return append(b, "null"...)
	}
	return append(a.appendWords(append(b, '"'), 0, n), '"')
}

// embedding returns a vector of the prompt; it has no tokens.
func (a *Answer) embedding(e End) []byte {
	body := fmt.Appendf(nil, `{"id":%q,"object":"list","created":%d,"model":%s,"data":[`, a.ID, a.Created, quote(a.Model))
	if e.Output > 0 {
		body = append(body, `{"object":"embedding","index":0,"embedding":[0.1,-0.2,0.3,-0.4,0.5,-0.6,0.7,-0.8]}`...)
	}
	body = append(body, ']')
	if e.Usage {
		body = fmt.Appendf(body, `,"usage":{"prompt_tokens":%d,"total_tokens":%d}`, a.Prompt, a.Prompt)
	}
	return body
}
