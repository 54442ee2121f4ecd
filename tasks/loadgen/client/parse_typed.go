package client

import (
	"bflow.dev/bflow/tasks/loadgen/jsonscan"
)

// typed finds the value of the member "type" of an event, without its quotes; nil where there is none. Servers write it
// first, so that the rest is not looked at here.
func typed(data []byte) ([]byte, error) {
	c := jsonscan.At(data)
	if !c.Object() {
		return nil, jsonscan.ErrSyntax
	}
	for key, ok := c.Key(); ok; key, ok = c.Key() {
		if value := c.Raw(); string(key) == "type" && jsonscan.Filled(value) {
			return value[1 : len(value)-1], nil
		}
	}
	return nil, c.Err()
}

// member calls f with a cursor at the value of one member of the object that is the whole of data.
func member(data []byte, name string, f func(c *jsonscan.Cursor)) error {
	c := jsonscan.At(data)
	within(&c, name, f)
	return c.Err()
}

// within calls f with c at the value of one member of the object that comes next. f has to take the value.
func within(c *jsonscan.Cursor, name string, f func(c *jsonscan.Cursor)) {
	if !c.Object() {
		return
	}
	for key, ok := c.Key(); ok; key, ok = c.Key() {
		if string(key) == name {
			f(c)
		} else {
			c.Skip()
		}
	}
}

// textOf takes a text member of an event for tokens of class k.
func (d *delta) textOf(data []byte, name string, k class) error {
	c := jsonscan.At(data)
	d.textIn(&c, name, k)
	return c.Err()
}

func (d *delta) textIn(c *jsonscan.Cursor, name string, k class) {
	if !c.Object() {
		return
	}
	for key, ok := c.Key(); ok; key, ok = c.Key() {
		if value := c.Raw(); string(key) == name {
			d.takeText(k, value)
		}
	}
}

// parseResponses reads an event or body of the responses API, whose stream ends with its own event.
func parseResponses(data []byte, d *delta) error {
	kind, err := typed(data)
	if err != nil {
		return err
	}
	switch string(kind) {
	case "response.output_text.delta":
		return d.textOf(data, "delta", content)
	case "response.reasoning_text.delta", "response.reasoning_summary_text.delta":
		return d.textOf(data, "delta", reasoning)
	case "response.function_call_arguments.delta":
		return d.textOf(data, "delta", tool)
	case "response.output_item.added":
		return member(data, "item", d.startCall)
	case "response.completed", "response.incomplete":
		d.done = true
		return member(data, "response", d.response)
	case "response.failed":
		d.failure = data
		return member(data, "response", func(c *jsonscan.Cursor) {
			within(c, "error", func(c *jsonscan.Cursor) { keep(&d.failure, c.Raw()) })
		})
	case "error":
		d.failure = data
	case "":
		return d.whole(data, d.response)
	}
	return d.whole(data, (*jsonscan.Cursor).Skip) // of an event that says nothing only its form is looked at
}

// whole reads data as one value.
func (d *delta) whole(data []byte, f func(c *jsonscan.Cursor)) error {
	c := jsonscan.At(data)
	f(&c)
	return c.Err()
}

// startCall takes the name of a tool, with which its call begins, for tokens.
func (d *delta) startCall(c *jsonscan.Cursor) {
	if !c.Object() {
		return
	}
	var call, named bool
	for key, ok := c.Key(); ok; key, ok = c.Key() {
		value := c.Raw()
		switch string(key) {
		case "type":
			call = string(value) == `"function_call"`
		case "name":
			named = jsonscan.Filled(value)
		}
	}
	if call && named {
		d.raiseClass(tool)
	}
}

// response reads a whole response: in the last event of a stream, or as the body without one.
func (d *delta) response(c *jsonscan.Cursor) {
	if !c.Object() {
		return
	}
	for key, ok := c.Key(); ok; key, ok = c.Key() {
		switch string(key) {
		case "usage":
			d.usage(c)
		case "status":
			keep(&d.finish, c.Raw())
		case "error":
			keep(&d.failure, c.Raw())
		case "output":
			d.items(c)
		default:
			c.Skip()
		}
	}
}

// items reads the output of a whole response. In a stream its texts have come already.
func (d *delta) items(c *jsonscan.Cursor) {
	if d.done {
		c.Skip()
		return
	}
	if !c.Array() {
		return
	}
	for c.More() {
		within(c, "content", d.blocks)
	}
}

// blocks reads a list of content blocks of a whole answer.
func (d *delta) blocks(c *jsonscan.Cursor) {
	if !c.Array() {
		return
	}
	for c.More() {
		d.textIn(c, "text", content)
	}
}

// parseMessages reads an event or body of the messages API of Anthropic.
func parseMessages(data []byte, d *delta) error {
	kind, err := typed(data)
	if err != nil {
		return err
	}
	switch string(kind) {
	case "message_start":
		return member(data, "message", func(c *jsonscan.Cursor) { within(c, "usage", d.inputUsage) })
	case "content_block_start":
		return member(data, "content_block", d.startBlock)
	case "content_block_delta":
		return member(data, "delta", d.block)
	case "message_delta":
		return d.whole(data, d.messageDelta)
	case "message_stop":
		d.done = true
	case "error":
		d.failure = data
	case "message":
		return d.whole(data, d.wholeMessage)
	}
	return d.whole(data, (*jsonscan.Cursor).Skip)
}

// inputUsage takes only the input of a usage: at the start of a message its output is not yet counted.
func (d *delta) inputUsage(c *jsonscan.Cursor) {
	d.usage(c)
	d.out = -1
}

// startBlock takes the name of a tool, with which its block begins, for tokens.
func (d *delta) startBlock(c *jsonscan.Cursor) {
	if !c.Object() {
		return
	}
	for key, ok := c.Key(); ok; key, ok = c.Key() {
		if value := c.Raw(); string(key) == "name" && jsonscan.Filled(value) {
			d.raiseClass(tool)
		}
	}
}

func (d *delta) block(c *jsonscan.Cursor) {
	if !c.Object() {
		return
	}
	for key, ok := c.Key(); ok; key, ok = c.Key() {
		switch string(key) {
		case "text":
			d.takeText(content, c.Raw())
		case "thinking":
			d.takeText(reasoning, c.Raw())
		case "partial_json":
			d.takeText(tool, c.Raw())
		default:
			c.Skip()
		}
	}
}

func (d *delta) messageDelta(c *jsonscan.Cursor) {
	if !c.Object() {
		return
	}
	for key, ok := c.Key(); ok; key, ok = c.Key() {
		switch string(key) {
		case "usage":
			d.usage(c)
		case "delta":
			within(c, "stop_reason", func(c *jsonscan.Cursor) { keep(&d.finish, c.Raw()) })
		default:
			c.Skip()
		}
	}
}

func (d *delta) wholeMessage(c *jsonscan.Cursor) {
	if !c.Object() {
		return
	}
	for key, ok := c.Key(); ok; key, ok = c.Key() {
		switch string(key) {
		case "usage":
			d.usage(c)
		case "stop_reason":
			keep(&d.finish, c.Raw())
		case "content":
			d.blocks(c)
		default:
			c.Skip()
		}
	}
}

// parseEmbeddings reads the body of the embeddings API: it has vectors and no tokens of its own.
func parseEmbeddings(data []byte, d *delta) error {
	c := jsonscan.At(data)
	if !c.Object() {
		return jsonscan.ErrSyntax
	}
	for key, ok := c.Key(); ok; key, ok = c.Key() {
		switch string(key) {
		case "usage":
			d.inputUsage(&c)
		case "data":
			d.vectors(&c)
		case "error":
			keep(&d.failure, c.Raw())
		default:
			c.Skip()
		}
	}
	return c.Err()
}

func (d *delta) vectors(c *jsonscan.Cursor) {
	if !c.Array() {
		return
	}
	for c.More() {
		d.class = content
		c.Skip()
	}
}
