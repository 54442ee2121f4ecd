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
	failure                    []byte // raw error object
	done                       bool   // terminator of the stream
}

func (d *delta) clear() {
	*d = delta{in: -1, out: -1, cached: -1, reasoning: -1}
}

// raise sets the class to c unless the event has brought content already.
func (d *delta) raise(c class) {
	if d.class != content {
		d.class = c
	}
}

// parseOpenAI reads an event or body of the completions and chat APIs.
func parseOpenAI(data []byte, d *delta) error {
	if string(data) == "[DONE]" {
		d.done = true
		return nil
	}
	return jsonscan.Object(data, func(key, value []byte) error {
		switch string(key) {
		case "choices":
			if !jsonscan.IsNull(value) {
				return jsonscan.Array(value, d.choice)
			}
		case "usage":
			return d.usage(value)
		case "error":
			if !jsonscan.IsNull(value) {
				d.failure = value
			}
		case "object":
			if string(value) == `"error"` {
				d.failure = data
			}
		}
		return nil
	})
}

func (d *delta) choice(choice []byte) error {
	return jsonscan.Object(choice, func(key, value []byte) error {
		switch string(key) {
		case "text":
			d.words(content, value)
		case "delta", "message":
			if !jsonscan.IsNull(value) {
				return jsonscan.Object(value, d.message)
			}
		case "token_ids":
			d.ids += int64(jsonscan.Len(value))
		case "finish_reason":
			if !jsonscan.IsNull(value) {
				d.finish = value
			}
		}
		return nil
	})
}

func (d *delta) message(key, value []byte) error {
	switch string(key) {
	case "content":
		d.words(content, value)
	case "reasoning", "reasoning_content":
		if jsonscan.Filled(value) {
			d.raise(reasoning)
		}
	case "tool_calls":
		if !jsonscan.IsNull(value) {
			return jsonscan.Array(value, d.toolCall)
		}
	case "token_ids":
		d.ids += int64(jsonscan.Len(value))
	}
	return nil
}

func (d *delta) words(c class, value []byte) {
	if jsonscan.Filled(value) {
		d.raise(c)
		d.text = value
	}
}

func (d *delta) toolCall(call []byte) error {
	return jsonscan.Object(call, func(key, value []byte) error {
		if string(key) != "function" || jsonscan.IsNull(value) {
			return nil
		}
		return jsonscan.Object(value, func(key, value []byte) error {
			if (string(key) == "name" || string(key) == "arguments") && jsonscan.Filled(value) {
				d.raise(tool)
			}
			return nil
		})
	})
}

// usage reads the counts under the names of every API.
func (d *delta) usage(value []byte) error {
	if jsonscan.IsNull(value) {
		return nil
	}
	return jsonscan.Object(value, func(key, value []byte) error {
		switch string(key) {
		case "prompt_tokens", "input_tokens":
			set(&d.in, value)
		case "completion_tokens", "output_tokens":
			set(&d.out, value)
		case "prompt_tokens_details", "input_tokens_details":
			return detail(value, "cached_tokens", &d.cached)
		case "completion_tokens_details", "output_tokens_details":
			return detail(value, "reasoning_tokens", &d.reasoning)
		}
		return nil
	})
}

func set(to *int64, value []byte) {
	if n, ok := jsonscan.Int(value); ok {
		*to = n
	}
}

func detail(value []byte, name string, to *int64) error {
	if jsonscan.IsNull(value) {
		return nil
	}
	return jsonscan.Object(value, func(key, value []byte) error {
		if string(key) == name {
			set(to, value)
		}
		return nil
	})
}
