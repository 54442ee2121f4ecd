package wire

// prompt reads a prompt: text, token ids, or a batch of these, of which only the first is kept.
func (r *paramReader) prompt() {
	switch r.peek() {
	case '"':
		r.onePrompt()
	case '[':
		r.promptList()
	default:
		r.refuse("prompt", "prompt must be a string or a list of token ids")
		r.skip()
	}
}

func (r *paramReader) onePrompt() {
	text := r.text()
	if r.prompts++; r.prompts == 1 {
		r.Prompt = text
	}
}

func (r *paramReader) promptList() {
	var ids []int
	r.array(func() {
		switch r.peek() {
		case '"':
			r.onePrompt()
		case '{':
			r.message("input")
		case '[':
			batch := r.tokenIDs()
			if r.prompts++; r.prompts == 1 {
				r.IDs = batch
			}
		default:
			ids = append(ids, r.integer("prompt", 0))
		}
	})
	if len(ids) > 0 {
		if r.prompts > 0 {
			r.refuse("prompt", "prompt mixes token ids with prompts")
		}
		r.prompts++
		r.IDs = ids
	}
}

func (r *paramReader) tokenIDs() (ids []int) {
	r.array(func() { ids = append(ids, r.integer("prompt", 0)) })
	if len(ids) == 0 {
		r.refuse("prompt", "prompt is empty")
	}
	return ids
}

func (r *paramReader) messages() {
	if r.peek() != '[' {
		r.refuse("messages", "messages must be a list")
		r.skip()
		return
	}
	for more := r.enter('[', ']'); more; more = r.more(']') {
		if r.peek() != '{' {
			r.refuse("messages", "a message must be an object")
			r.skip()
			continue
		}
		r.message("messages")
	}
}

func (r *paramReader) message(field string) {
	var m Message
	for more := r.enter('{', '}'); more; more = r.more('}') {
		key, ok := r.key()
		switch {
		case !ok:
		case key == "role":
			m.Role = r.stringValue("messages.role")
		case key == "content":
			m.Text = r.content()
		default:
			r.skip()
		}
	}
	if m.Role == "" {
		r.refuse(field, "a message has no role")
	}
	r.Messages = append(r.Messages, m)
}

// content reads the content of a message: text, null (a tool call), or a list of parts, of which only text is served.
func (r *paramReader) content() []byte {
	switch r.peek() {
	case '"':
		return r.text()
	case '[':
		var all []byte
		r.array(func() { all = append(all, r.part()...) })
		return all
	}
	if !r.literal("null") {
		r.refuse("messages", "the content of a message must be text")
		r.skip()
	}
	return nil
}

func (r *paramReader) part() (text []byte) {
	if r.peek() != '{' {
		r.refuse("messages", "a content part must be an object")
		r.skip()
		return nil
	}
	r.object(func(key string) {
		switch {
		case key == "text" && r.peek() == '"':
			text = r.text()
		case key == "type":
			if kind := r.stringValue("messages.content.type"); kind != "text" && kind != "input_text" && kind != "output_text" {
				r.refuse("messages", "content parts of type "+kind+" are not served, only text")
			}
		default:
			r.skip()
		}
	})
	return text
}
