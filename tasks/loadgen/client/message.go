package client

import (
	"bflow.dev/bflow/tasks/loadgen/record"
	"bflow.dev/bflow/tasks/loadgen/wire"
)

// HeadRoom is how many bytes before a body a head with ids of that prefix takes at most.
func (a *API) HeadRoom(idPrefix string) int { return len(a.head) + len(idPrefix) + 100 }

// Message writes the head of a request before its body, which begins at buf[from:], and returns both and where the body
// begins in them. The id of the request is prefix-session-turn.
func (a *API) Message(buf []byte, from int, idPrefix string, o *record.Outcome) (message []byte, body int) {
	b := o.AppendID(append(a.scratch[:0], a.head...), idPrefix)
	b = wire.AppendLength(b, len(buf)-from)
	a.scratch = b
	copy(buf[from-len(b):], b)
	return buf[from-len(b):], len(b)
}
