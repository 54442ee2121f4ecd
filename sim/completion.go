package sim

import (
	"errors"
	"fmt"
	"slices"

	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/sim/engine"
	"bflow.dev/bflow/sim/wire"
)

// naturalLen is the number of tokens after which the model stops by itself, where nothing asks for more.
const naturalLen = 128

// complete serves a request for the model: it answers at once what is refused, and leaves the rest to the pacer.
func (x *exchange) complete(route wire.Route) bool {
	rec := x.record()
	p, err := x.params.Params(x.req.Body, route.API)
	if err == nil {
		err = applyRoute(route, p)
	}
	if err != nil {
		param, message := invalidParam(err)
		return x.refuse(rec, 400, param, message)
	}
	name, ok := x.srv.modelName(p.Model)
	rec.Model, rec.Stream = p.Model, p.Stream
	if !ok {
		return x.refuse(rec, 404, "model", "The model "+quoted(name)+" does not exist.")
	}
	rec.PromptTokens = p.CountTokens()
	want, finish, err := x.outputLen(p, rec.PromptTokens)
	if err != nil {
		param, message := invalidParam(err)
		return x.refuse(rec, 400, param, message)
	}
	rec.AskedTokens = want
	h := x.srv.faults.draw(rec.Number, rec.Arrival)
	rec.Faults = h.kinds()
	if ok, answered := x.applyFaults(rec, h); answered {
		return ok
	}
	s := x.stream(rec, p, name)
	s.seq.Want, s.finish = want, finish
	s.shape(h)
	if route.API == wire.Embeddings {
		s.seq.Want, s.end, s.whole = 1, endWell, true
	}
	if h.has(runplan.FaultEmpty) {
		return x.empty(s)
	}
	return x.submit(s, h)
}

// applyRoute puts into p what the path says.
func applyRoute(route wire.Route, p *wire.Params) error {
	switch route.API {
	case wire.Triton:
		p.Model, p.Stream = route.Model, route.Stream
		if p.Stream && !p.Exclude {
			return &wire.InvalidError{
				Param: "exclude_input_in_output", Message: "when streaming, exclude_input_in_output has to be true",
			}
		}
	case wire.TGI:
		p.Model, p.Stream = "", route.Stream
	case wire.Embeddings:
		p.Stream, p.MaxTokens = false, 1
	}
	return nil
}

// record opens the truth of a request.
func (x *exchange) record() *Record {
	s := x.srv
	r := s.truth.blank()
	*r = Record{
		Number: s.requests.Add(1) - 1, RequestID: x.req.ID, Conn: x.id, Port: x.port,
		ConnReused: x.served > 0, Path: x.req.Path,
		Arrival: x.arrival, ArrivalRead: x.read, ArrivalUnix: s.clock.Wall(x.arrival),
		Events: r.Events[:0], EventTokens: r.EventTokens[:0],
	}
	return r
}

// outputLen returns how many tokens the answer has, and its finish reason.
func (x *exchange) outputLen(p *wire.Params, prompt int) (want int, finish string, err error) {
	room := x.srv.cfg.MaxModelLen - prompt
	param := "max_tokens"
	if room < 1 || p.MaxTokens > room {
		return 0, "", &wire.InvalidError{Param: param, Message: fmt.Sprintf(
			"This model's maximum context length is %d tokens, but the prompt has %d and %d output tokens were asked for.",
			x.srv.cfg.MaxModelLen, prompt, max(p.MaxTokens, 1))}
	}
	switch {
	case p.MaxTokens > 0:
		return p.MaxTokens, "length", nil
	case p.IgnoreEOS:
		return room, "length", nil
	case p.API == wire.Completions || p.API == wire.Triton: // the default of the API
		return min(16, room), "length", nil
	}
	return min(max(naturalLen, p.MinTokens), room), "stop", nil
}

// stream makes the answer to p.
func (x *exchange) stream(rec *Record, p *wire.Params, model string) *stream {
	s := x.spare
	if s == nil {
		s = &stream{}
	}
	x.spare = nil
	*s = stream{srv: x.srv, c: x.conn, rec: rec, whole: !p.Stream, usage: tellsUsage(p), perEvent: 1}
	s.scratch = &x.srv.scratch
	s.ans = x.ans
	s.ans.API, s.ans.Extras = p.API, p.Extras
	s.ans.Model, s.ans.Prompt = model, rec.PromptTokens
	s.ans.Created = wire.Started(rec.ArrivalUnix)
	s.ans.Draw = mix(uint64(x.srv.cfg.Seed)) + uint64(rec.Number)
	s.ans.Chunked = x.req.Minor == 1
	s.ans.Continual = p.ContinuousUsage && p.IncludeUsage
	s.ans.Stamps, s.ans.Size = !x.srv.cfg.NoStamps, x.srv.cfg.EventBytes
	s.ans.ID = answerID(p.API, rec.RequestID)
	if p.API == wire.Triton && s.whole {
		s.ans.Echo = append([]byte(nil), p.Prompt...)
	}
	s.seq = engine.Seq{Prompt: rec.PromptTokens, Stride: 1, Draw: mix(s.ans.Draw), Sink: s}
	if x.srv.cfg.PrefixCache {
		s.seq.Blocks = wire.BlockHashes(p.Tokens(), engine.BlockSize)
	}
	s.closing = x.req.Close || (p.Stream && !s.ans.Chunked)
	return s
}

// tellsUsage says whether the answer to p counts its tokens: where it is asked for, and always where nobody can ask.
func tellsUsage(p *wire.Params) bool {
	return p.IncludeUsage || !p.Stream || p.API != wire.Chat && p.API != wire.Completions
}

func answerID(api wire.API, request string) string {
	switch api {
	case wire.Chat:
		return "chatcmpl-" + request
	case wire.Responses:
		return "resp_" + request
	case wire.Messages:
		return "msg_" + request
	case wire.Embeddings:
		return "embd-" + request
	}
	return "cmpl-" + request
}

// submit gives s to the pacer.
func (x *exchange) submit(s *stream, h hits) bool {
	s.ans.Close = s.closing
	if x.srv.immediate {
		s.ans.Lend(x.prefix)
	}
	s.ans.Prepare()
	if !s.whole {
		events := (s.seq.Want + s.perEvent - 1) / s.perEvent
		s.rec.Events, s.rec.EventTokens = slices.Grow(s.rec.Events, events), slices.Grow(s.rec.EventTokens, events)
	}
	x.out.wait()
	if h.has(runplan.FaultRoleFirst) && !s.whole {
		now := x.srv.clock.Now()
		if !s.send(s.appendStart(nil, now), now, false) {
			x.closeRecord(s.rec, StatusCancelled)
			return false
		}
	}
	x.running = s
	x.srv.stats.countAccepted(s.rec)
	if x.srv.immediate {
		return x.sendAtOnce(s)
	}
	x.srv.pacer.Submit(s.rec.Arrival, &s.seq)
	return true
}

// refuse answers with an error and closes the record.
func (x *exchange) refuse(rec *Record, status int, param, message string, lines ...string) bool {
	rec.HTTPStatus, rec.Error, rec.FirstByte = status, message, x.srv.clock.Now()
	ok := x.write(x.ans.Plain(status, "application/json", x.ans.Error(status, param, message), lines...))
	x.closeRecord(rec, StatusFailed)
	return ok
}

// closeRecord closes the record of a request that never reached the pacer.
func (x *exchange) closeRecord(rec *Record, status string) {
	rec.Status, rec.End = status, x.srv.clock.Now()
	x.srv.truth.add(rec)
}

// applyFaults applies the faults that leave no answer to pace.
func (x *exchange) applyFaults(rec *Record, h hits) (ok, answered bool) {
	for _, refusal := range []struct {
		kind   string
		status int
	}{
		{runplan.FaultHTTP400, 400}, {runplan.FaultHTTP500, 500}, {runplan.FaultHTTP503, 503},
	} {
		if h.has(refusal.kind) {
			return x.refuse(rec, refusal.status, "", errorText), true
		}
	}
	switch {
	case h.has(runplan.FaultHTTP429):
		return x.refuse(rec, 429, "", errorText, "Retry-After: 1\r\n"), true
	case h.has(runplan.FaultResetReused) && x.served > 0:
		x.abort = true
		x.closeRecord(rec, StatusReset)
		return false, true
	}
	return false, false
}

// empty answers 200 without a token, at once.
func (x *exchange) empty(s *stream) bool {
	s.ans.Close = s.closing
	s.ans.Prepare()
	now := x.srv.clock.Now()
	var b []byte
	if s.whole {
		b = s.ans.Whole(wire.End{Finish: "stop", Usage: s.usage, Now: now})
	} else {
		b = s.ans.AppendEmpty(s.appendStart(nil, now), now)
	}
	s.rec.HTTPStatus, s.rec.FirstByte = 200, now
	ok := x.write(b)
	x.closeRecord(s.rec, StatusEmpty)
	return ok && !s.closing
}

// invalidParam returns the field and the message of an invalid body.
func invalidParam(err error) (param, message string) {
	var invalid *wire.InvalidError
	if errors.As(err, &invalid) {
		return invalid.Param, invalid.Message
	}
	return "", err.Error()
}
