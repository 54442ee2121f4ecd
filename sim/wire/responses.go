package wire

import (
	"fmt"
	"strconv"
)

// responseAnswer is an answer of the Responses API of OpenAI.
type responseAnswer struct{ *Answer }

// beginEvent begins an event: its name is also the member type, and it has a number.
func (a responseAnswer) beginEvent(b []byte, name string) ([]byte, int) {
	b, start := a.begin(b, name)
	b = append(append(append(b, `{"type":"`...), name...), `",`...)
	b = append(append(b, a.split...), `"sequence_number":`...)
	b = strconv.AppendInt(b, int64(a.sequence), 10)
	a.sequence++
	return b, start
}

func (a responseAnswer) appendStart(b []byte, now int64) []byte {
	for _, name := range []string{"response.created", "response.in_progress"} {
		var start int
		b, start = a.beginEvent(b, name)
		b = a.appendObject(append(b, `,"response":`...), "in_progress")
		b = a.finish(append(b, `,"output":[],"usage":null}`...), start, now)
	}
	b, start := a.beginEvent(b, "response.output_item.added")
	b = append(b, `,"output_index":0,"item":{"id":"msg_1","type":"message","status":"in_progress",`+
		`"role":"assistant","content":[]}`...)
	return a.finish(b, start, now)
}

// appendObject appends the beginning of the object that some events repeat.
func (a responseAnswer) appendObject(b []byte, status string) []byte {
	return fmt.Appendf(b, `{"id":%q,"object":"response","created_at":%d,"model":%s,"status":%q`, a.ID, a.Created,
		quote(a.Model), status)
}

func (a responseAnswer) appendTokens(b []byte, t Tokens) []byte {
	name := "response.output_text.delta"
	if t.Class == Reasoning {
		name = "response.reasoning_text.delta"
	}
	b, start := a.beginEvent(b, name)
	b = append(b, `,"item_id":"msg_1","output_index":0,"content_index":0,"delta":"`...)
	b = append(a.appendWords(b, t.First, t.N), '"')
	return a.finish(a.appendBig(b, t), start, t.Now)
}

// responseStatus returns how an answer that ended for that reason is called.
func responseStatus(finish string) string {
	if finish == "length" {
		return "incomplete"
	}
	return "completed"
}

func (a responseAnswer) appendFinish(b []byte, e End) []byte {
	if e.NoDone {
		return b
	}
	status := responseStatus(e.Finish)
	b, start := a.beginEvent(b, "response."+status)
	b = a.appendObject(append(b, `,"response":`...), status)
	return a.finish(append(a.appendOutput(b, e), '}'), start, e.Now)
}

// appendOutput appends the text of the whole answer and its usage.
func (a responseAnswer) appendOutput(b []byte, e End) []byte {
	b = append(b, `,"output":[{"id":"msg_1","type":"message","role":"assistant","content":[`...)
	if e.Output > 0 {
		b = append(b, `{"type":"output_text","text":"`...)
		b = append(a.appendWords(b, e.Reasoning, e.Output-e.Reasoning), `"}`...)
	}
	b = append(b, `]}]`...)
	if !e.Usage {
		return append(b, `,"usage":null`...)
	}
	return fmt.Appendf(b, `,"usage":{"input_tokens":%d,"input_tokens_details":{"cached_tokens":%d},"output_tokens":%d,`+
		`"output_tokens_details":{"reasoning_tokens":%d},"total_tokens":%d}`, a.Prompt, a.Cached, e.Output,
		e.Reasoning, a.Prompt+e.Output)
}

func (a responseAnswer) appendFailure(b []byte, message string) []byte {
	b, start := a.beginEvent(b, "response.failed")
	b = a.appendObject(append(b, `,"response":`...), "failed")
	b = fmt.Appendf(b, `,"error":{"code":"server_error","message":%s}}`, quote(message))
	return a.finish(b, start, 0)
}

func (a responseAnswer) whole(e End) []byte {
	return a.appendOutput(append(a.appendObject(nil, responseStatus(e.Finish)), `,"error":null`...), e)
}
