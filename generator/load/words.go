package load

import (
	"slices"
	"strings"

	"bflow.dev/bflow/generator/problem"
)

// Request types, the values of runplan.API.Type.
const (
	Completions = "completions"
	Chat        = "chat"
	Responses   = "responses"
	Embeddings  = "embeddings"
	Messages    = "messages"
)

// requestWords are the spellings of every request type, lower case, with dashes, without a leading slash.
func requestWords() map[string][]string {
	return map[string][]string{
		Completions: {"v1/completions", "completion", "completions", "text-completion", "text-completions"},
		Chat:        {"v1/chat/completions", "chat", "chat-completion", "chat-completions"},
		Responses:   {"v1/responses", "responses"},
		Embeddings:  {"v1/embeddings", "embeddings"},
		Messages:    {"anthropic-messages", "messages"},
	}
}

// requestType reads any spelling of a request type; def stands for a value that is not set.
func (v value) requestType(def string) string {
	s := v.text()
	if s == "" {
		return def
	}
	norm := strings.TrimPrefix(strings.ReplaceAll(strings.ToLower(s), "_", "-"), "/")
	var known []string
	for kind, words := range requestWords() {
		if slices.Contains(words, norm) {
			return kind
		}
		known = append(known, words...)
	}
	slices.Sort(known) // the hint must not depend on the order of the map
	text := "unknown request type %q; known are completions, chat, responses, embeddings, messages"
	if near := problem.Closest(norm, known, 1); len(near) > 0 {
		v.errorf(text+" (did you mean %q?)", s, near[0])
	} else {
		v.errorf(text, s)
	}
	return def
}

// requestPath is where an OpenAI-compatible server takes requests of a type.
func requestPath(kind string) string {
	switch kind {
	case Completions:
		return "/v1/completions"
	case Responses:
		return "/v1/responses"
	case Embeddings:
		return "/v1/embeddings"
	case Messages:
		return "/v1/messages"
	default:
		return "/v1/chat/completions"
	}
}
