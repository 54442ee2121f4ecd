package opensearch

import (
	"context"

	"bflow.dev/bflow/report/tools"
)

// WriteTemplate returns the index template of the documents: texts are keywords, times dates, numbers doubles or longs.
// It depends on no run. rate stays numeric, as existing indexes have it.
func WriteTemplate(context.Context, tools.Run) ([]tools.File, error) {
	properties := object{}
	kinds := map[string][]string{
		"date":    {"timestamp", "intended_timestamp"},
		"boolean": {"errored", "completed", "valid", "slo_ok", "conn_reused"},
		"long": {"rate", "concurrency", "stage_index", "sample_index", "total_requests", "successful_requests", "errored_requests", "incomplete_requests",
			"attempt", "gpus", "http_status", "tokens_in", "tokens_out", "tokens_cached"},
	}
	for kind, names := range kinds {
		for _, name := range names {
			properties[name] = object{"type": kind}
		}
	}
	doc := object{
		"index_patterns": []string{"bflow-*"}, "priority": 100,
		"_meta": object{"exported_by": tools.ExportedBy, "schema": Schema},
		"template": object{"mappings": object{"properties": properties, "dynamic_templates": []object{
			{"texts": object{"match_mapping_type": "string", "mapping": object{"type": "keyword", "ignore_above": 1024}}},
			{"whole_numbers": object{"match_mapping_type": "long", "mapping": object{"type": "double"}}},
			{"numbers": object{"match_mapping_type": "double", "mapping": object{"type": "double"}}},
		}}},
	}
	return []tools.File{tools.JSON("opensearch-template.json", doc)}, nil
}
