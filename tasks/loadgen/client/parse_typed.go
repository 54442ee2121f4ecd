package client

import (
	"bflow.dev/bflow/tasks/loadgen/jsonscan"
)

// typed finds the value of the member "type" of an event, without its quotes.
func typed(data []byte) (kind string, err error) {
	err = jsonscan.Object(data, func(key, value []byte) error {
		if string(key) == "type" && jsonscan.Filled(value) {
			kind = string(value[1 : len(value)-1])
		}
		return nil
	})
	return kind, err
}

// member calls f with the value of one member of an object, where it is there and not null.
func member(object []byte, name string, f func(value []byte) error) error {
	return jsonscan.Object(object, func(key, value []byte) error {
		if string(key) != name || jsonscan.IsNull(value) {
			return nil
		}
		return f(value)
	})
}

// parseResponses reads an event or body of the responses API, whose stream ends with its own event.
func parseResponses(data []byte, d *delta) error {
	kind, err := typed(data)
	if err != nil {
		return err
	}
	switch kind {
	case "response.output_text.delta":
		return d.textOf(data, "delta", content)
	case "response.reasoning_text.delta", "response.reasoning_summary_text.delta":
		return d.textOf(data, "delta", reasoning)
	case "response.function_call_arguments.delta":
		return d.textOf(data, "delta", tool)
	case "response.completed", "response.incomplete":
		d.done = true
		return member(data, "response", d.response)
	case "response.failed":
		d.failure = data
		return member(data, "response", func(response []byte) error {
			return member(response, "error", func(value []byte) error { d.failure = value; return nil })
		})
	case "error":
		d.failure = data
	case "":
		return d.response(data)
	}
	return nil
}

// textOf takes a text member of an event for tokens of class c.
func (d *delta) textOf(data []byte, name string, c class) error {
	return member(data, name, func(value []byte) error { d.words(c, value); return nil })
}

// response reads a whole response: in the last event of a stream, or as the body without one.
func (d *delta) response(data []byte) error {
	return jsonscan.Object(data, func(key, value []byte) error {
		if jsonscan.IsNull(value) {
			return nil
		}
		switch string(key) {
		case "usage":
			return d.usage(value)
		case "status":
			d.finish = value
		case "error":
			d.failure = value
		case "output":
			if !d.done { // in a stream its texts have come already
				return jsonscan.Array(value, func(item []byte) error { return member(item, "content", d.blocks) })
			}
		}
		return nil
	})
}

// blocks reads a list of content blocks of a whole answer.
func (d *delta) blocks(list []byte) error {
	return jsonscan.Array(list, func(block []byte) error { return d.textOf(block, "text", content) })
}

// parseMessages reads an event or body of the messages API of Anthropic.
func parseMessages(data []byte, d *delta) error {
	kind, err := typed(data)
	if err != nil {
		return err
	}
	switch kind {
	case "message_start":
		return member(data, "message", func(message []byte) error { return member(message, "usage", d.inputUsage) })
	case "content_block_delta":
		return member(data, "delta", d.block)
	case "message_delta":
		if err := member(data, "usage", d.usage); err != nil {
			return err
		}
		return member(data, "delta", func(value []byte) error {
			return member(value, "stop_reason", func(reason []byte) error { d.finish = reason; return nil })
		})
	case "message_stop":
		d.done = true
	case "error":
		d.failure = data
	case "message":
		return jsonscan.Object(data, d.wholeMessage)
	}
	return nil
}

// inputUsage takes only the input of a usage: at the start of a message its output is not yet counted.
func (d *delta) inputUsage(value []byte) error {
	err := d.usage(value)
	d.out = -1
	return err
}

func (d *delta) block(value []byte) error {
	return jsonscan.Object(value, func(key, text []byte) error {
		switch string(key) {
		case "text":
			d.words(content, text)
		case "thinking":
			d.words(reasoning, text)
		case "partial_json":
			d.words(tool, text)
		}
		return nil
	})
}

func (d *delta) wholeMessage(key, value []byte) error {
	switch string(key) {
	case "usage":
		return d.usage(value)
	case "stop_reason":
		d.finish = value
	case "content":
		return d.blocks(value)
	}
	return nil
}

// parseEmbeddings reads the body of the embeddings API: it has vectors and no tokens of its own.
func parseEmbeddings(data []byte, d *delta) error {
	return jsonscan.Object(data, func(key, value []byte) error {
		switch string(key) {
		case "usage":
			err := d.usage(value)
			d.out = -1
			return err
		case "data":
			if jsonscan.Len(value) > 0 {
				d.class = content
			}
		case "error":
			if !jsonscan.IsNull(value) {
				d.failure = value
			}
		}
		return nil
	})
}
