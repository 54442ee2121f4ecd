package client

import (
	"net/url"
	"strings"

	"bflow.dev/bflow/runplan"
)

// modelPlace stands in a path for the name of the model.
const modelPlace = "{model}"

// Path returns where the requests of plan go, with the name of the model in it where the API wants it there. The APIs
// that say by the path whether they stream get the path that goes with plan.Stream.
func Path(plan runplan.API, model string) string {
	path := plan.Path
	switch {
	case path != "":
	case plan.Type == runplan.APITriton:
		path = "/v2/models/" + modelPlace + "/generate_stream"
	case plan.Type == runplan.APITGI:
		path = "/generate_stream"
	}
	if plan.Type == runplan.APITriton || plan.Type == runplan.APITGI {
		path = generatePath(path, plan.Stream)
	}
	return strings.ReplaceAll(path, modelPlace, url.PathEscape(model))
}

func generatePath(path string, stream bool) string {
	path, query, asks := strings.Cut(path, "?")
	if base, ok := strings.CutSuffix(path, "/generate_stream"); ok && !stream {
		path = base + "/generate"
	} else if base, ok := strings.CutSuffix(path, "/generate"); ok && stream {
		path = base + "/generate_stream"
	}
	if asks {
		path += "?" + query
	}
	return path
}
