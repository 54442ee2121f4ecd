package client

import (
	"bflow.dev/bflow/tasks/loadgen/jsonscan"
)

// class is the kind of tokens that an event brought.
type class uint8

const (
	none class = iota
	content
	reasoning
	tool
)

// delta is what one event says. Counts are -1 where it does not; byte slices lie in the event.
type delta struct {
	class                      class
	text                       []byte // raw JSON string
	ids                        int64  // length of token_ids
	finish                     []byte // raw JSON string
	in, out, cached, reasoning int64  // usage
	add                        int64  // tokens that the server made since the event before, where it counts by event
	summed                     bool   // add and out are counts of single events, or a sum of these: source usage_sum
	more                       bool   // the event says that the answer is not over
	failure                    []byte // raw error object
	done                       bool   // terminator of the stream

	memo memo // outlives clear
}

// clear forgets the event before, and nothing that helps to read the next one of the same stream.
func (d *delta) clear() {
	d.class, d.text, d.ids = none, nil, 0
	d.finish, d.failure = nil, nil
	d.in, d.out, d.cached = -1, -1, -1
	d.reasoning, d.add = -1, -1
	d.summed, d.more, d.done = false, false, false
}

// blank says that nothing was read yet since clear.
func (d *delta) blank() bool {
	counts := d.in & d.out & d.cached & d.reasoning & d.add
	return counts == -1 && d.class == none && d.ids == 0 && d.finish == nil && d.failure == nil
}

// raiseClass sets the class to c unless the event has brought content already.
func (d *delta) raiseClass(c class) {
	if d.class != content {
		d.class = c
	}
}

// takeText takes a text for tokens of class c. The text of content stays where both are in one event.
func (d *delta) takeText(c class, value []byte) {
	if !jsonscan.Filled(value) {
		return
	}
	if d.raiseClass(c); d.class == c {
		d.text = value
	}
}

// keep sets to to value unless that is null.
func keep(to *[]byte, value []byte) {
	if !jsonscan.IsNull(value) {
		*to = value
	}
}

// parseOpenAI reads an event or body of the completions and chat APIs.
func parseOpenAI(data []byte, d *delta) error {
	if string(data) == "[DONE]" {
		d.done = true
		return nil
	}
	if d.memo.matches(data) {
		return d.resume(data)
	}
	c := jsonscan.At(data)
	if !c.Object() {
		return jsonscan.ErrSyntax
	}
	return d.chunk(data, &c)
}

// chunk reads the members of an event from c on.
func (d *delta) chunk(data []byte, c *jsonscan.Cursor) error {
	for key, ok := c.Key(); ok; key, ok = c.Key() {
		switch string(key) {
		case "choices":
			if c.Array() {
				d.choices(data, c)
			}
		case "usage":
			d.usage(c)
		case "error":
			keep(&d.failure, c.Raw())
		case "object":
			if string(c.Raw()) == `"error"` {
				d.failure = data
			}
		default:
			c.Skip()
		}
	}
	return c.Err()
}

func (d *delta) choices(data []byte, c *jsonscan.Cursor) {
	for c.More() {
		if c.Object() {
			d.choice(data, c)
		}
	}
}

func (d *delta) choice(data []byte, c *jsonscan.Cursor) {
	for key, ok := c.Key(); ok; key, ok = c.Key() {
		switch string(key) {
		case "text":
			d.learn(data, c, inChoice)
			d.takeText(content, c.Raw())
		case "delta", "message":
			if c.Object() {
				d.message(data, c)
			}
		case "token_ids":
			d.ids += c.Count()
		case "finish_reason":
			keep(&d.finish, c.Raw())
		default:
			c.Skip()
		}
	}
}

func (d *delta) message(data []byte, c *jsonscan.Cursor) {
	for key, ok := c.Key(); ok; key, ok = c.Key() {
		switch string(key) {
		case "content":
			d.learn(data, c, inMessage)
			d.takeText(content, c.Raw())
		case "reasoning", "reasoning_content":
			d.learn(data, c, inReasoning)
			d.takeText(reasoning, c.Raw())
		case "tool_calls":
			d.toolCalls(c)
		case "token_ids":
			d.ids += c.Count()
		default:
			c.Skip()
		}
	}
}

func (d *delta) toolCalls(c *jsonscan.Cursor) {
	if !c.Array() {
		return
	}
	for c.More() {
		d.toolCall(c)
	}
}

func (d *delta) toolCall(c *jsonscan.Cursor) {
	if !c.Object() {
		return
	}
	for key, ok := c.Key(); ok; key, ok = c.Key() {
		if string(key) == "function" {
			d.function(c)
		} else {
			c.Skip()
		}
	}
}

func (d *delta) function(c *jsonscan.Cursor) {
	if !c.Object() {
		return
	}
	for key, ok := c.Key(); ok; key, ok = c.Key() {
		value := c.Raw()
		if (string(key) == "name" || string(key) == "arguments") && jsonscan.Filled(value) {
			d.raiseClass(tool)
		}
	}
}

// usage reads the counts under the names of every API.
func (d *delta) usage(c *jsonscan.Cursor) {
	if !c.Object() {
		return
	}
	for key, ok := c.Key(); ok; key, ok = c.Key() {
		switch string(key) {
		case "prompt_tokens", "input_tokens":
			set(&d.in, c.Raw())
		case "completion_tokens", "output_tokens":
			set(&d.out, c.Raw())
		case "prompt_tokens_details", "input_tokens_details":
			detail(c, "cached_tokens", &d.cached)
		case "completion_tokens_details", "output_tokens_details":
			detail(c, "reasoning_tokens", &d.reasoning)
		default:
			c.Skip()
		}
	}
}

func set(to *int64, value []byte) {
	if n, ok := jsonscan.Int(value); ok {
		*to = n
	}
}

func detail(c *jsonscan.Cursor, name string, to *int64) {
	if !c.Object() {
		return
	}
	for key, ok := c.Key(); ok; key, ok = c.Key() {
		if value := c.Raw(); string(key) == name {
			set(to, value)
		}
	}
}
