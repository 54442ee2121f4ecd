package tool

import (
	"maps"
	"net/url"
	"slices"
	"strings"

	"bflow.dev/bflow/internal/problem"
	"bflow.dev/bflow/runplan"
)

// requestWords are the spellings of every type of API, lower case, with dashes, without a leading slash.
func requestWords() map[string][]string {
	return map[string][]string{
		runplan.APICompletions: {"v1/completions", "completion", "completions", "text-completion", "text-completions"},
		runplan.APIChat:        {"v1/chat/completions", "chat", "chat-completion", "chat-completions"},
		runplan.APIResponses:   {"v1/responses", "responses"},
		runplan.APIEmbeddings:  {"v1/embeddings", "embeddings"},
		runplan.APIMessages:    {"v1/messages", "anthropic-messages", "messages"},
		runplan.APITriton:      {"triton", "triton-generate"},
		runplan.APITGI:         {"tgi", "tgi-generate", "huggingface-generate"},
	}
}

// APIType returns the type of API, as in a plan, that word spells; case, _ for - and a leading / do not matter.
func APIType(word string) (string, bool) {
	word = plainWord(word)
	for kind, words := range requestWords() {
		if slices.Contains(words, word) {
			return kind, true
		}
	}
	return "", false
}

func plainWord(s string) string {
	return strings.TrimPrefix(strings.ReplaceAll(strings.ToLower(s), "_", "-"), "/")
}

// RequestType reads any spelling of a request type; def stands for a value that is not set.
func (v Value) RequestType(def string) string {
	s := v.Text()
	if s == "" {
		return def
	}
	if kind, ok := APIType(s); ok {
		return kind
	}
	// Sorted: the hint must not depend on the order of the map.
	known := slices.Sorted(slices.Values(slices.Concat(slices.Collect(maps.Values(requestWords()))...)))
	v.Errorf("unknown request type %q; known are completions, chat, responses, embeddings, messages, triton, tgi%s",
		s, problem.Nearest(plainWord(s), known))
	return def
}

// RequestPath is where a server takes requests of a type. The paths of Triton and TGI are apiPath's.
func RequestPath(kind string) string {
	switch kind {
	case runplan.APICompletions:
		return "/v1/completions"
	case runplan.APIResponses:
		return "/v1/responses"
	case runplan.APIEmbeddings:
		return "/v1/embeddings"
	case runplan.APIMessages:
		return "/v1/messages"
	default:
		return "/v1/chat/completions"
	}
}

// apiPath is RequestPath, and for servers whose path depends on model and streaming, theirs.
func (d *Draft) apiPath(kind string) string {
	end := "generate"
	if d.API.Stream {
		end = "generate_stream"
	}
	switch kind {
	case runplan.APITriton:
		model := "{model}" // whoever asks the server fills it in
		if d.src.Model != "" {
			model = url.PathEscape(d.src.Model)
		}
		return "/v2/models/" + model + "/" + end
	case runplan.APITGI:
		return "/" + end
	default:
		return RequestPath(kind)
	}
}
