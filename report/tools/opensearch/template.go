package opensearch

import (
	"context"

	"bflow.dev/bflow/report/tools"
)

// WriteTemplate returns the index template of the documents: texts are keywords, times dates, numbers doubles or longs.
// It depends on no run. rate stays numeric, as existing indexes have it.
func WriteTemplate(context.Context, tools.Run) ([]tools.File, error) {
	properties := map[string]property{}
	kinds := map[string][]string{
		"date":    {"timestamp", "intended_timestamp"},
		"boolean": {"errored", "completed", "valid", "slo_ok", "conn_reused"},
		"long": {"rate", "concurrency", "stage_index", "sample_index", "total_requests", "successful_requests",
			"errored_requests", "incomplete_requests", "attempt", "gpus", "http_status", "tokens_in", "tokens_out",
			"tokens_cached"},
	}
	for kind, names := range kinds {
		for _, name := range names {
			properties[name] = property{Type: kind}
		}
	}
	doc := indexTemplate{Meta: meta(), Patterns: []string{"bflow-*"}, Priority: 100}
	doc.Template.Mappings = mappings{Properties: properties, Dynamic: []map[string]dynamicMapping{
		{"texts": {Match: "string", Mapping: property{Type: "keyword", IgnoreAbove: 1024}}},
		{"whole_numbers": {Match: "long", Mapping: property{Type: "double"}}},
		{"numbers": {Match: "double", Mapping: property{Type: "double"}}},
	}}
	return []tools.File{tools.JSON("opensearch-template.json", doc)}, nil
}
