package client

import (
	"bflow.dev/bflow/tasks/loadgen/jsonscan"
)

// parseTriton reads an event or body of the generate extension of Triton: the outputs of a model by name. There is no
// terminator. A model that was asked for its finish reason writes "None" until it has one, which is how an answer that
// was cut is told from one that is over.
func parseTriton(data []byte, d *delta) error {
	c := jsonscan.At(data)
	if !c.Object() {
		return jsonscan.ErrSyntax
	}
	for key, ok := c.Key(); ok; key, ok = c.Key() {
		switch string(key) {
		case "text_output":
			d.takeText(content, single(&c))
		case "num_output_tokens":
			set(&d.add, single(&c))
			d.summed = true
		case "num_input_tokens":
			set(&d.in, single(&c))
		case "finish_reason":
			d.reason(single(&c))
		case "error":
			keep(&d.failure, c.Raw())
		default:
			c.Skip()
		}
	}
	return c.Err()
}

// reason takes a finish reason of Triton, in which an unset one is a word of Python.
func (d *delta) reason(value []byte) {
	switch string(value) {
	case `"None"`, `"null"`, `""`, "null":
		d.more = true
	default:
		d.finish = value
	}
}

// single takes a value that a server may wrap into a list of one element, as it does with tensors of a batch.
func single(c *jsonscan.Cursor) []byte {
	if c.Peek() != '[' {
		return c.Raw()
	}
	var first []byte
	c.Array()
	for c.More() {
		if value := c.Raw(); first == nil {
			first = value
		}
	}
	return first
}

// parseTGI reads an event or body of Text Generation Inference: a token each, and the whole text with the last.
func parseTGI(data []byte, d *delta) error {
	c := jsonscan.At(data)
	if !c.Object() {
		return jsonscan.ErrSyntax
	}
	streamed, whole := false, []byte(nil)
	for key, ok := c.Key(); ok; key, ok = c.Key() {
		switch string(key) {
		case "token":
			d.tgiToken(&c)
			streamed = true
		case "generated_text":
			keep(&whole, c.Raw())
		case "details":
			d.tgiDetails(&c)
		case "error":
			keep(&d.failure, c.Raw())
		default:
			c.Skip()
		}
	}
	d.done = streamed && whole != nil
	if !streamed {
		d.takeText(content, whole)
	}
	return c.Err()
}

// tgiToken takes a token. Special ones have a text that no user sees: they count at the end, by details.
func (d *delta) tgiToken(c *jsonscan.Cursor) {
	if !c.Object() {
		return
	}
	var text []byte
	special := false
	for key, ok := c.Key(); ok; key, ok = c.Key() {
		switch string(key) {
		case "text":
			text = c.Raw()
		case "special":
			special = string(c.Raw()) == "true"
		case "id":
			c.Skip()
			d.ids = 1
		default:
			c.Skip()
		}
	}
	if special {
		d.ids = 0
		return
	}
	d.takeText(content, text)
}

func (d *delta) tgiDetails(c *jsonscan.Cursor) {
	if !c.Object() {
		return
	}
	for key, ok := c.Key(); ok; key, ok = c.Key() {
		switch string(key) {
		case "generated_tokens":
			set(&d.out, c.Raw())
			d.summed = true
		case "input_length":
			set(&d.in, c.Raw())
		case "finish_reason":
			keep(&d.finish, c.Raw())
		default:
			c.Skip()
		}
	}
}
