package client

// Sources of token counts.
const (
	SourceUsage    = "usage"
	SourceUsageSum = "usage_sum"
	SourceTokenIDs = "token_ids"
	SourceEvents   = "events"
)

// takeStreamed takes in one event of a stream.
func (x *Exchange) takeStreamed(data []byte) error { return x.takeEvent(data, true) }

// takeEvent takes in one event of a stream, or the whole body of an answer that does not stream.
func (x *Exchange) takeEvent(data []byte, streamed bool) error {
	if x.answer.done {
		return nil
	}
	d := &x.delta
	d.clear()
	if err := x.API.parse(data, d); err != nil {
		return err
	}
	if d.failure != nil {
		// Read on: the connection can be kept when the server ends the answer in order.
		x.answer.failed, x.answer.done = &streamError{text: errorText(d.failure)}, true
		x.Outcome.End = x.at
		if streamed {
			return nil
		}
		return x.answer.failed
	}
	x.takeUsage(d)
	if len(d.finish) > 0 {
		x.Outcome.Finish = word(x.Outcome.Finish, d.finish)
	}
	if d.class != none {
		if err := x.keepText(d); err != nil {
			return err
		}
		x.takeToken(d, streamed)
	}
	if d.done {
		x.answer.done = true
		x.Outcome.End, x.Outcome.LateEnd = x.at, x.late()
	}
	return nil
}

// maxWord bounds the reason for which an answer ended: the words of APIs are shorter.
const maxWord = 64

// word returns the text of a raw JSON string without making one where it is a word that is common.
func word(have string, raw []byte) string {
	for _, w := range []string{"stop", "length", "tool_calls", "end_turn", "max_tokens", "completed", "eos_token", have} {
		if len(raw) == len(w)+2 && string(raw[1:len(raw)-1]) == w {
			return w
		}
	}
	if len(raw) > maxWord {
		return ""
	}
	return unquote(raw)
}

// keepText keeps the text of an event where it is needed.
func (x *Exchange) keepText(d *delta) error {
	if !x.KeepText || d.class != content {
		return nil
	}
	o := x.Outcome
	if len(o.Text)+len(d.text) > maxText {
		return errLongText
	}
	o.Text = append(o.Text, unquote(d.text)...)
	return nil
}

// takeToken takes in an event that brought tokens.
func (x *Exchange) takeToken(d *delta, streamed bool) {
	o := x.Outcome
	x.answer.tokens = true
	if !streamed {
		return
	}
	k := int64(1)
	if o.First < 0 {
		x.answer.continuous = d.out > 0
	}
	switch {
	case x.answer.continuous && d.out > x.answer.counted:
		k = d.out - x.answer.counted
		o.TokensAssumed = false
	case d.add >= 0: // also those of events before that had no text yet
		k = o.Out - x.answer.counted
		x.answer.counted = o.Out
		o.TokensAssumed = false
	case d.ids > 0:
		k = d.ids
		o.TokensAssumed = false
		o.TokenSource = SourceTokenIDs
	}
	if d.out > 0 {
		x.answer.counted = d.out
	}
	o.Token(x.at, k)
	o.LateBy(x.late())
	x.bunch()
	if d.class == content && o.Content < 0 {
		o.Content = x.at
	}
}

// takeUsage keeps the latest counts of the server.
func (x *Exchange) takeUsage(d *delta) {
	o := x.Outcome
	if d.in >= 0 {
		o.In = d.in
	}
	if d.cached >= 0 {
		o.Cached = d.cached
	}
	if d.reasoning >= 0 {
		o.Reasoning = d.reasoning
	}
	if d.out >= 0 {
		o.Out, x.answer.hasUsage, x.answer.summed = d.out, true, d.summed
	}
	if d.add >= 0 {
		o.Out, x.answer.hasUsage, x.answer.summed = max(0, o.Out)+d.add, true, true
	}
}

// settle counts the tokens by what came when the server did not say.
func (x *Exchange) settle() {
	o := x.Outcome
	if x.answer.hasUsage || o.Events() == 0 {
		return
	}
	o.Out = o.Streamed()
	if o.TokenSource == "" {
		o.TokenSource = SourceEvents
	}
}
