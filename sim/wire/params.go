package wire

import (
	"strconv"
)

// Params are the fields of a completion request that change what the engine does; others are accepted and ignored.
type Params struct {
	Extras
	API      API
	Model    string
	Messages []Message // chat, responses, messages
	Prompt   []byte    // text, or
	IDs      []int     // token ids

	Stream          bool
	IncludeUsage    bool
	ContinuousUsage bool // usage in every chunk
	StreamOptions   bool // stream_options was given
	MaxTokens       int  // -1 = absent
	MinTokens       int
	N               int
	IgnoreEOS       bool
}

// Message is one turn of a chat.
type Message struct {
	Role string
	Text []byte // all text parts, one after another
}

// InvalidError is a body that is refused with status 400, with the field that is wrong, if it is one.
type InvalidError struct{ Param, Message string }

func (e *InvalidError) Error() string { return e.Message }

// paramReader reads a body; the first invalid field is kept.
type paramReader struct {
	scanner
	Params
	invalid *InvalidError
	prompts int
	maxNew  int // max_completion_tokens, -1 = absent
	system  []byte

	tokenize bool // the body is that of a tokenize request, of vLLM or TGI
}

// ParseParams reads the body of a request of an API. Text in the result lies in body. An error is an *InvalidError.
func ParseParams(body []byte, api API) (*Params, error) { return new(Reader).Params(body, api) }

// Reader reads bodies, one after another, in the same memory. The zero value is ready.
type Reader struct{ paramReader }

// Params is ParseParams; its result is valid until the next call.
func (r *Reader) Params(body []byte, api API) (*Params, error) {
	r.paramReader = paramReader{
		scanner: scanner{data: body},
		Params:  Params{API: api, MaxTokens: -1, N: 1, Messages: r.Messages[:0]}, maxNew: -1,
	}
	r.members()
	r.end()
	if r.err != nil {
		return nil, &InvalidError{Message: "body is not a JSON object: " + r.err.Error()}
	}
	if r.maxNew >= 0 {
		r.MaxTokens = r.maxNew
	}
	if len(r.system) > 0 {
		r.Messages = append([]Message{{Role: "system", Text: r.system}}, r.Messages...)
	}
	r.check()
	if r.invalid != nil {
		return nil, r.invalid
	}
	return &r.paramReader.Params, nil
}

// members reads an object whose members are parameters.
func (r *paramReader) members() {
	for more := r.enter('{', '}'); more; more = r.more('}') {
		if key, ok := r.key(); ok {
			r.member(key)
		}
	}
}

func (r *paramReader) refuse(param, message string) {
	if r.invalid == nil {
		r.invalid = &InvalidError{Param: param, Message: message}
	}
}

func (r *paramReader) member(key string) {
	if key != "prompt" && key != "messages" && r.literal("null") { // null is the same as absent
		return
	}
	switch key {
	case "model":
		r.Model = r.stringValue(key)
	case "messages":
		r.messages()
	case "prompt":
		r.prompt()
	case "stream":
		r.Stream = r.boolean(key)
	case "stream_options":
		r.streamOptions()
	case "max_tokens":
		r.MaxTokens = r.integer(key, 1)
	case "max_completion_tokens":
		r.maxNew = r.integer(key, 1)
	case "min_tokens":
		r.MinTokens = r.integer(key, 0)
	case "n":
		r.N = r.integer(key, 1)
	case "ignore_eos":
		r.IgnoreEOS = r.boolean(key)
	default:
		r.special(key)
	}
}

// special reads what only one API has.
func (r *paramReader) special(key string) {
	switch {
	case r.API == Responses || r.API == Embeddings:
		r.inputMember(key)
	case r.API == Messages && key == "system":
		r.system = r.content()
	case r.API == Triton:
		r.tritonMember(key)
	case r.API == TGI:
		r.tgiMember(key)
	case r.tokenize && key == "inputs":
		r.API = TGI
		r.prompt()
	default:
		r.skip()
	}
}

// isChat tells that the prompt is a list of messages.
func (p *Params) isChat() bool { return p.API == Chat || p.API == Messages || len(p.Messages) > 0 }

func (r *paramReader) check() {
	switch {
	case r.N != 1:
		r.refuse("n", "n must be 1: the simulated engine gives one answer per request")
	case r.isChat() && len(r.Messages) == 0:
		r.refuse("messages", "messages is missing or empty")
	case !r.isChat() && r.prompts == 0:
		r.refuse(r.API.promptField(), r.API.promptField()+" is missing or empty")
	case r.API == Messages && r.MaxTokens < 0:
		r.refuse("max_tokens", "max_tokens: field required")
	case r.prompts > 1:
		r.refuse("prompt", "prompt is a batch of "+strconv.Itoa(r.prompts)+": send one prompt per request")
	case r.StreamOptions && !r.Stream:
		r.refuse("stream_options", "stream_options needs stream: true")
	case r.MaxTokens >= 0 && r.MinTokens > r.MaxTokens:
		r.refuse("min_tokens", "min_tokens is "+strconv.Itoa(r.MinTokens)+", more than max_tokens "+strconv.Itoa(r.MaxTokens))
	}
}

func (r *paramReader) stringValue(key string) string {
	if r.peek() != '"' {
		r.refuse(key, key+" must be a string")
		r.skip()
		return ""
	}
	return known(r.text())
}

func (r *paramReader) boolean(key string) bool {
	if r.literal("true") {
		return true
	}
	if !r.literal("false") {
		r.refuse(key, key+" must be true or false")
		r.skip()
	}
	return false
}

func (r *paramReader) integer(key string, least int) int {
	if c := r.peek(); c != '-' && (c < '0' || c > '9') {
		r.refuse(key, key+" must be an integer")
		r.skip()
		return least
	}
	text := r.number()
	n, err := strconv.Atoi(text)
	if err != nil || n < least {
		r.refuse(key, key+" must be an integer of at least "+strconv.Itoa(least)+", got "+text)
		return least
	}
	return n
}

func (r *paramReader) streamOptions() {
	if r.peek() != '{' {
		r.refuse("stream_options", "stream_options must be an object")
		r.skip()
		return
	}
	r.StreamOptions = true
	for more := r.enter('{', '}'); more; more = r.more('}') {
		key, ok := r.key()
		switch {
		case !ok:
		case key == "include_usage":
			r.IncludeUsage = r.boolean("stream_options.include_usage")
		case key == "continuous_usage_stats":
			r.ContinuousUsage = r.boolean("stream_options.continuous_usage_stats")
		default:
			r.skip()
		}
	}
}

// ParseTokenize reads the body of a tokenize request: a model, and a prompt or messages, or the inputs of TGI. An error
// is an *InvalidError.
func ParseTokenize(body []byte) (*Params, error) {
	r := &paramReader{scanner: scanner{data: body}, Params: Params{MaxTokens: -1, N: 1}, maxNew: -1, tokenize: true}
	r.members()
	r.end()
	if r.err != nil {
		return nil, &InvalidError{Message: "body is not a JSON object: " + r.err.Error()}
	}
	if len(r.Messages) > 0 {
		r.API = Chat
	}
	r.check()
	if r.invalid != nil {
		return nil, r.invalid
	}
	return &r.Params, nil
}
