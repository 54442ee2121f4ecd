package check

import (
	"embed"
	"fmt"

	"bflow.dev/bflow/internal/crd"
)

//go:embed crds/*.yaml
var crds embed.FS

// kinds returns those with a schema of their own, and its file.
func kinds() map[string]string {
	return map[string]string{
		"Task": "crds/task.yaml", "Pipeline": "crds/pipeline.yaml", "PipelineRun": "crds/pipelinerun.yaml",
	}
}

func loadSchemas() (map[string]*crd.Schema, error) {
	schemas := map[string]*crd.Schema{}
	for kind, file := range kinds() {
		text, err := crds.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("reading the schema of %s: %w", kind, err)
		}
		if schemas[kind], err = crd.New(text); err != nil {
			return nil, fmt.Errorf("compiling the schema of %s: %w", kind, err)
		}
	}
	return schemas, nil
}
