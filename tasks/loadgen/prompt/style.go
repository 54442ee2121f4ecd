package prompt

import (
	"encoding/json"
	"fmt"
	"maps"

	"bflow.dev/bflow/runplan"
)

// Style is how prompts are written for one server: as token ids or as words, and with which names of fields.
type Style struct {
	Chat  bool     // the content is a list of messages
	Field string   // of the body that holds the content
	IDs   bool     // prompts are lists of token ids; completions only
	Words []string // each is one token behind a space; at least two
	Leads []string // words that are one token at the start of a text too; empty = Words

	PerWord  float64 // tokens per word
	Overhead int     // tokens that the server adds to a prompt without a system message
	System   int     // tokens that a system message adds beside its text

	// Of prompts in text form: what the server adds to a prompt, and for a system message, on top of the length asked.
	Frame, SystemFrame int

	LengthKeys []string // names of the answer's length in the body
	Exact      bool     // ask for exactly so many tokens

	model string
	api   runplan.API
	heads []head // the model's, then those of the adapters
	given map[string]bool
}

// head is a body up to the fields that change, without the closing brace. With nested it ends inside the object
// "parameters", which the lengths belong to.
type head struct {
	text   []byte
	nested bool
}

// NewStyle returns the style for the body of api, before the server has been asked anything.
func NewStyle(model string, api runplan.API) (Style, error) {
	s := Style{Words: Words(), PerWord: 1, Exact: api.ExactOutput, model: model, api: api, given: map[string]bool{}}
	s.setNames()
	for key, value := range api.Body {
		if key == s.Field || key == "stream" {
			return Style{}, fmt.Errorf("load.api.body.%s belongs to the generator and cannot be set", key)
		}
		s.given[key] = true
		if inner, ok := value.(map[string]any); ok && key == "parameters" {
			for name := range inner {
				s.given[name] = true
			}
		}
	}
	names := []string{""}
	for _, a := range api.Adapters {
		names = append(names, a.Name)
	}
	for _, name := range names {
		h, err := s.head(name, api.Stream)
		if err != nil {
			return Style{}, err
		}
		s.heads = append(s.heads, h)
	}
	return s, nil
}

// setNames sets what the fields of this kind of API are called.
func (s *Style) setNames() {
	switch s.api.Type {
	case runplan.APIEmbeddings:
		s.Field, s.Exact = "input", false
	case runplan.APIResponses:
		s.Chat, s.Field, s.LengthKeys = true, "input", []string{"max_output_tokens"}
	case runplan.APIMessages:
		s.Chat, s.Field, s.LengthKeys = true, "messages", []string{"max_tokens"}
	case runplan.APIChat:
		s.Chat, s.Field, s.LengthKeys = true, "messages", []string{"max_completion_tokens", "max_tokens"}
	case runplan.APITriton:
		s.Field, s.LengthKeys = "text_input", []string{"max_tokens"}
	case runplan.APITGI: // it cannot be kept from ending early
		s.Field, s.LengthKeys, s.Exact = "inputs", []string{"max_new_tokens"}, false
	default:
		s.Field, s.LengthKeys = "prompt", []string{"max_tokens"}
	}
}

// frame returns the fields that every request has. adapter is the name of a LoRA adapter, empty for the model itself.
func (s *Style) frame(adapter string, stream bool) map[string]any {
	switch s.api.Type {
	case runplan.APITriton:
		return map[string]any{
			"stream": stream, "exclude_input_in_output": true,
			"return_num_output_tokens": true, "return_num_input_tokens": true, "return_finish_reason": true,
			"parameters": named(map[string]any{"temperature": 0}, "lora_name", adapter),
		}
	case runplan.APITGI: // greedy is the absence of a temperature
		return map[string]any{
			"parameters": named(map[string]any{"do_sample": false, "details": true, "return_full_text": false},
				"adapter_id", adapter),
		}
	}
	body := named(map[string]any{"model": s.model}, "model", adapter)
	if s.api.Type == runplan.APIEmbeddings {
		return body
	}
	body["stream"], body["temperature"] = stream, 0
	if stream && (s.api.Type == runplan.APIChat || s.api.Type == runplan.APICompletions) {
		body["stream_options"] = map[string]any{"include_usage": true}
	}
	return body
}

func named(fields map[string]any, key, value string) map[string]any {
	if value != "" {
		fields[key] = value
	}
	return fields
}

// head returns the frame with the plan's body over it.
func (s *Style) head(adapter string, stream bool) (head, error) {
	body := s.frame(adapter, stream)
	for key, value := range s.api.Body {
		if key == "model" && adapter != "" || key == "stream_options" && !stream {
			continue
		}
		body[key] = merged(body[key], value)
	}
	parameters, nested := body["parameters"]
	nested = nested && (s.api.Type == runplan.APITriton || s.api.Type == runplan.APITGI)
	if nested {
		delete(body, "parameters")
	}
	text, err := json.Marshal(body)
	if err != nil {
		return head{}, fmt.Errorf("encoding load.api.body: %w", err)
	}
	if !nested {
		return head{text: text[:len(text)-1]}, nil
	}
	inner, err := json.Marshal(parameters)
	if err != nil {
		return head{}, fmt.Errorf("encoding load.api.body.parameters: %w", err)
	}
	text = text[:len(text)-1]
	if len(text) > 1 {
		text = append(text, ',')
	}
	text = append(append(text, `"parameters":`...), inner...)
	return head{text: text[:len(text)-1], nested: true}, nil
}

// merged returns value over base, key by key where both are objects.
func merged(base, value any) any {
	under, ok1 := base.(map[string]any)
	over, ok2 := value.(map[string]any)
	if !ok1 || !ok2 {
		return value
	}
	out := maps.Clone(under)
	for k, v := range over {
		out[k] = merged(out[k], v)
	}
	return out
}
