package load

import (
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

// requestWords are the spellings of a request type, lower case, with dashes, without a leading slash.
var requestWords = []struct{ word, kind string }{
	{"v1/completions", Completions}, {"completion", Completions}, {"completions", Completions},
	{"text-completion", Completions}, {"text-completions", Completions},
	{"v1/chat/completions", Chat}, {"chat", Chat}, {"chat-completion", Chat}, {"chat-completions", Chat},
	{"v1/responses", Responses}, {"responses", Responses},
	{"v1/embeddings", Embeddings}, {"embeddings", Embeddings},
	{"anthropic-messages", Messages}, {"messages", Messages},
}

// requestType reads any spelling of a request type; def stands for a value that is not set.
func (v value) requestType(def string) string {
	s := v.text()
	if s == "" {
		return def
	}
	norm := strings.TrimPrefix(strings.ReplaceAll(strings.ToLower(s), "_", "-"), "/")
	known := make([]string, len(requestWords))
	for i, w := range requestWords {
		if w.word == norm {
			return w.kind
		}
		known[i] = w.word
	}
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
