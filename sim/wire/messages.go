package wire

import "fmt"

// messageAnswer is an answer of the Messages API of Anthropic.
type messageAnswer struct{ *Answer }

func (a messageAnswer) appendStart(b []byte, now int64) []byte {
	b, start := a.begin(b, "message_start")
	b = fmt.Appendf(b,
		`{"type":"message_start",%s"message":{"id":%q,"type":"message","role":"assistant","model":%s,"content":[],`+
			`"stop_reason":null,"usage":{"input_tokens":%d,"output_tokens":1}}`, a.split, a.ID, quote(a.Model), a.Prompt)
	b = a.finish(b, start, now)
	b, start = a.begin(b, "content_block_start")
	b = append(b, `{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}`...)
	b = a.finish(b, start, now)
	b, start = a.begin(b, "ping")
	return a.finish(append(b, `{"type":"ping"`...), start, now)
}

func (a messageAnswer) appendTokens(b []byte, t Tokens) []byte {
	b, start := a.begin(b, "content_block_delta")
	b = append(append(b, `{"type":"content_block_delta",`...), a.split...)
	if t.Class == Reasoning {
		b = append(b, `"index":0,"delta":{"type":"thinking_delta","thinking":"`...)
	} else {
		b = append(b, `"index":0,"delta":{"type":"text_delta","text":"`...)
	}
	b = append(a.appendWords(b, t.First, t.N), `"}`...)
	return a.finish(a.appendBig(b, t), start, t.Now)
}

// stopReason is a finish reason in the words of Anthropic.
func stopReason(finish string) string {
	if finish == "length" {
		return "max_tokens"
	}
	return "end_turn"
}

func (a messageAnswer) appendFinish(b []byte, e End) []byte {
	b, start := a.begin(b, "content_block_stop")
	b = a.finish(append(b, `{"type":"content_block_stop","index":0`...), start, e.Now)
	b, start = a.begin(b, "message_delta")
	b = fmt.Appendf(b, `{"type":"message_delta","delta":{"stop_reason":%q,"stop_sequence":null}`, stopReason(e.Finish))
	if e.Usage {
		b = fmt.Appendf(b, `,"usage":{"output_tokens":%d}`, e.Output)
	}
	b = a.finish(b, start, e.Now)
	if e.NoDone {
		return b
	}
	b, start = a.begin(b, "message_stop")
	return a.finish(append(b, `{"type":"message_stop"`...), start, e.Now)
}

func (a messageAnswer) whole(e End) []byte {
	b := fmt.Appendf(nil, `{"id":%q,"type":"message","role":"assistant","model":%s,"content":[`, a.ID, quote(a.Model))
	if e.Output > 0 {
		b = append(b, `{"type":"text","text":"`...)
		b = append(a.appendWords(b, e.Reasoning, e.Output-e.Reasoning), `"}`...)
	}
	b = fmt.Appendf(b, `],"stop_reason":%q`, stopReason(e.Finish))
	if e.Usage {
		b = fmt.Appendf(b, `,"usage":{"input_tokens":%d,"output_tokens":%d}`, a.Prompt, e.Output)
	}
	return b
}

func messagesErrorType(status int) string {
	switch {
	case status == 429:
		return "rate_limit_error"
	case status == 404:
		return "not_found_error"
	case status == 503:
		return "overloaded_error"
	case status >= 500:
		return "api_error"
	}
	return "invalid_request_error"
}
