package wire

import "strings"

// API is the protocol of a request.
type API uint8

// The protocols that the engine speaks.
const (
	Completions API = iota
	Chat
	Responses
	Messages // of Anthropic
	Embeddings
	Triton // the generate extension
	TGI
)

// Route is what the path of a request says.
type Route struct {
	API    API
	Stream bool   // the path says that the answer streams
	Model  string // in the path
}

// RouteOf returns the route of a path that takes POST requests for the model; false for any other path.
func RouteOf(path string) (Route, bool) {
	switch path {
	case "/v1/chat/completions":
		return Route{API: Chat}, true
	case "/v1/completions":
		return Route{API: Completions}, true
	case "/v1/responses":
		return Route{API: Responses}, true
	case "/v1/messages":
		return Route{API: Messages}, true
	case "/v1/embeddings":
		return Route{API: Embeddings}, true
	case "/generate":
		return Route{API: TGI}, true
	case "/generate_stream":
		return Route{API: TGI, Stream: true}, true
	}
	model, verb, ok := TritonModel(path)
	if !ok || verb != "generate" && verb != "generate_stream" {
		return Route{}, false
	}
	return Route{API: Triton, Model: model, Stream: verb == "generate_stream"}, true
}

// TritonModel cuts a path of the form /v2/models/{model}[/versions/{version}][/verb].
func TritonModel(path string) (model, verb string, ok bool) {
	rest, ok := strings.CutPrefix(path, "/v2/models/")
	if !ok {
		return "", "", false
	}
	parts := strings.Split(rest, "/")
	if len(parts) > 2 && parts[1] == "versions" {
		parts = append(parts[:1], parts[3:]...)
	}
	switch len(parts) {
	case 1:
		return unescape(parts[0]), "", parts[0] != ""
	case 2:
		return unescape(parts[0]), parts[1], parts[0] != ""
	}
	return "", "", false
}

// unescape decodes what a name with a slash is written with.
func unescape(s string) string {
	return strings.NewReplacer("%2F", "/", "%2f", "/", "%3A", ":", "%3a", ":", "%20", " ", "%25", "%").Replace(s)
}

// Extras are what a request of Triton or TGI asks for beside the text.
type Extras struct {
	OutputCount, InputCount, FinishReason bool // Triton: return_num_output_tokens and so on
	Exclude                               bool // Triton: exclude_input_in_output
	Details                               bool // TGI
}

// Reasons tells that the API can tell reasoning from content.
func (a *Answer) Reasons() bool { return a.API == Chat || a.API == Responses || a.API == Messages }
