package client

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
