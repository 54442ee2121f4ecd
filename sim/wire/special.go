package wire

// promptField is the name of the prompt in a body of the API.
func (a API) promptField() string {
	switch a {
	case Responses, Embeddings:
		return "input"
	case Triton:
		return "text_input"
	case TGI:
		return "inputs"
	}
	return "prompt"
}

// inputMember reads a member of Responses or Embeddings.
func (r *paramReader) inputMember(key string) {
	switch key {
	case "input":
		r.prompt()
	case "instructions":
		r.system = []byte(r.stringValue(key))
	case "max_output_tokens":
		r.maxNew = r.integer(key, 1)
	default:
		r.skip()
	}
}

// tritonMember reads an input tensor or a parameter of the generate extension. What is no tensor is a parameter, also
// beside the object of parameters.
func (r *paramReader) tritonMember(key string) {
	switch key {
	case "text_input":
		r.prompt()
	case "return_num_output_tokens":
		r.OutputCount = r.boolean(key)
	case "return_num_input_tokens":
		r.InputCount = r.boolean(key)
	case "return_finish_reason":
		r.FinishReason = r.boolean(key)
	case "exclude_input_in_output":
		r.Exclude = r.boolean(key)
	case "parameters":
		r.nested(key)
	default:
		r.skip()
	}
}

func (r *paramReader) tgiMember(key string) {
	switch key {
	case "inputs":
		r.prompt()
	case "max_new_tokens":
		r.maxNew = r.integer(key, 1)
	case "details":
		r.Details = r.boolean(key)
	case "parameters":
		r.nested(key)
	default:
		r.skip()
	}
}

// nested reads the object of parameters, whose members are read like those of the body.
func (r *paramReader) nested(key string) {
	if r.peek() != '{' {
		r.refuse(key, key+" must be an object")
		r.skip()
		return
	}
	r.members()
}
