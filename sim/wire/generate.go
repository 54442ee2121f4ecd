package wire

import (
	"fmt"
	"strconv"
)

// tritonAnswer is an answer of the generate extension of Triton.
type tritonAnswer struct{ *Answer }

// appendTokens appends an event: the outputs of the model in the order of their names. The count is that of this event
// alone, and a finish reason that is not known yet is a word of Python.
func (a tritonAnswer) appendTokens(b []byte, t Tokens) []byte {
	b, start := a.begin(b, "")
	b = a.appendOutputs(b, t)
	b = append(a.appendWords(append(b, `,"text_output":"`...), t.First, t.N), '"')
	return a.finish(a.appendBig(b, t), start, t.Now)
}

// appendOutputs appends the outputs before the text.
func (a tritonAnswer) appendOutputs(b []byte, t Tokens) []byte {
	b = append(b, '{')
	if a.FinishReason {
		reason := t.Finish
		if reason == "" {
			reason = "None"
		}
		b = append(append(append(b, `"finish_reason":"`...), reason...), `",`...)
	}
	b = append(append(b, `"model_name":`...), quote(a.Model)...)
	b = append(append(append(b, ','), a.split...), `"model_version":"1"`...)
	if a.InputCount {
		b = strconv.AppendInt(append(b, `,"num_input_tokens":`...), int64(a.Prompt), 10)
	}
	if a.OutputCount {
		b = strconv.AppendInt(append(b, `,"num_output_tokens":`...), int64(t.N), 10)
	}
	return b
}

func (a tritonAnswer) whole(e End) []byte {
	b := a.appendOutputs(nil, Tokens{N: e.Output, Finish: e.Finish})
	text := string(a.appendWords(nil, 0, e.Output))
	if !a.Exclude {
		text = string(a.Echo) + text
	}
	return append(append(b, `,"text_output":`...), quote(text)...)
}

// tgiAnswer is an answer of TGI.
type tgiAnswer struct{ *Answer }

// appendTokens appends an event. Several tokens of one event are one token to it.
func (a tgiAnswer) appendTokens(b []byte, t Tokens) []byte {
	b, start := a.begin(b, "")
	b = strconv.AppendInt(append(b, `{"index":`...), int64(t.First+t.N), 10)
	b = append(append(b, ','), a.split...)
	b = strconv.AppendInt(append(b, `"token":{"id":`...), FirstID+int64(t.First), 10)
	b = a.appendWords(append(b, `,"text":"`...), t.First, t.N)
	b = append(b, `","logprob":-0.25,"special":false},"generated_text":`...)
	if t.Finish == "" {
		b = append(b, `null,"details":null`...)
	} else {
		b = append(a.appendWords(append(b, '"'), 0, t.First+t.N), `","details":`...)
		b = a.appendDetails(b, End{Output: t.Total, Finish: t.Finish, Usage: t.Usage})
	}
	return a.finish(a.appendBig(b, t), start, t.Now)
}

func (a tgiAnswer) appendDetails(b []byte, e End) []byte {
	if !a.Details || !e.Usage {
		return append(b, "null"...)
	}
	return fmt.Appendf(b, `{"finish_reason":%q,"generated_tokens":%d,"seed":null,"input_length":%d}`,
		tgiReason(e.Finish), e.Output, a.Prompt)
}

func tgiReason(finish string) string {
	if finish == "stop" {
		return "eos_token"
	}
	return finish
}

func (a tgiAnswer) whole(e End) []byte {
	b := append(a.appendWords([]byte(`{"generated_text":"`), 0, e.Output), '"')
	if a.Details && e.Usage {
		b = a.appendDetails(append(b, `,"details":`...), e)
	}
	return b
}

func tgiErrorType(status int) string {
	switch {
	case status == 429 || status == 503:
		return "overloaded"
	case status >= 500:
		return "generation"
	}
	return "validation"
}
