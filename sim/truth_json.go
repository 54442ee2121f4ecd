package sim

import (
	"encoding/json"
	"strconv"
)

// appendJSON appends the record as a line of JSON, as encoding/json writes it but without its cost: a log of a hundred
// thousand requests per second must not take the processor from the engine.
func (r *Record) appendJSON(b []byte) []byte {
	l := line{b: append(b, '{')}
	l.number("number", r.Number)
	l.text("request_id", r.RequestID)
	l.number("conn", r.Conn)
	if r.Port != 0 {
		l.number("port", r.Port)
	}
	l.bool("conn_reused", r.ConnReused)
	l.text("path", r.Path)
	l.optional("model", r.Model)
	l.bool("stream", r.Stream)
	l.number("arrival_ns", r.Arrival)
	l.number("arrival_unix_ns", r.ArrivalUnix)
	l.number("arrival_read_ns", r.ArrivalRead)
	l.number("started_ns", r.Started)
	l.number("first_byte_ns", r.FirstByte)
	l.number("end_ns", r.End)
	appendList(&l, "event_ns", r.Events)
	appendList(&l, "event_tokens", r.EventTokens)
	l.number("lateness_max_ns", r.LatenessMax)
	l.number("prompt_tokens", int64(r.PromptTokens))
	l.number("cached_tokens", int64(r.CachedTokens))
	l.number("asked_tokens", int64(r.AskedTokens))
	l.number("output_tokens", int64(r.OutputTokens))
	l.optional("finish_reason", r.FinishReason)
	l.text("status", r.Status)
	if r.HTTPStatus != 0 {
		l.number("http_status", int64(r.HTTPStatus))
	}
	l.optional("error", r.Error)
	l.names("faults", r.Faults)
	if r.BlockedWrites != 0 {
		l.number("blocked_writes", int64(r.BlockedWrites))
	}
	return append(l.b, "}\n"...)
}

// line is a JSON object in the making.
type line struct{ b []byte }

func (l *line) key(name string) {
	if l.b[len(l.b)-1] != '{' {
		l.b = append(l.b, ',')
	}
	l.b = append(append(append(l.b, '"'), name...), `":`...)
}

func (l *line) number(name string, n int64) {
	l.key(name)
	l.b = strconv.AppendInt(l.b, n, 10)
}

func (l *line) bool(name string, v bool) {
	l.key(name)
	l.b = strconv.AppendBool(l.b, v)
}

func (l *line) text(name, s string) {
	l.key(name)
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= 0x7f || c == '"' || c == '\\' || c == '<' || c == '>' || c == '&' {
			quoted, _ := json.Marshal(s) // text cannot fail
			l.b = append(l.b, quoted...)
			return
		}
	}
	l.b = append(append(append(l.b, '"'), s...), '"')
}

func (l *line) optional(name, s string) {
	if s != "" {
		l.text(name, s)
	}
}

func (l *line) names(name string, all []string) {
	if len(all) == 0 {
		return
	}
	l.key(name)
	list, _ := json.Marshal(all) // text cannot fail
	l.b = append(l.b, list...)
}

func appendList[T int | int64](l *line, name string, all []T) {
	l.key(name)
	l.b = append(l.b, '[')
	for i, n := range all {
		if i > 0 {
			l.b = append(l.b, ',')
		}
		l.b = strconv.AppendInt(l.b, int64(n), 10)
	}
	l.b = append(l.b, ']')
}
