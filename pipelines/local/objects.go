package local

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"bflow.dev/bflow/internal/durable"
	"bflow.dev/bflow/pipelines"

	"sigs.k8s.io/yaml"
)

// saveObjects keeps what the run is made of, for resume and for whoever wants to know what ran.
func saveObjects(runDir string, objects pipelines.Bundle) error {
	var all bytes.Buffer
	for _, o := range documents(objects) {
		data, err := yaml.Marshal(o)
		if err != nil {
			return fmt.Errorf("saving the objects of the run: %w", err)
		}
		all.WriteString("---\n")
		all.Write(data)
	}
	return durable.WriteFile(filepath.Join(runDir, fileObjects), all.Bytes())
}

// documents lists copies of objects with their kinds filled in, which typed ones may lack.
func documents(objects pipelines.Bundle) []any {
	const tekton = "tekton.dev/v1"
	var docs []any
	for _, o := range objects.ConfigMaps {
		o = o.DeepCopy()
		o.APIVersion, o.Kind = "v1", "ConfigMap"
		docs = append(docs, o)
	}
	for _, o := range objects.Tasks {
		o = o.DeepCopy()
		o.APIVersion, o.Kind = tekton, "Task"
		docs = append(docs, o)
	}
	for _, o := range objects.Pipelines {
		o = o.DeepCopy()
		o.APIVersion, o.Kind = tekton, "Pipeline"
		docs = append(docs, o)
	}
	for _, o := range objects.PipelineRuns {
		o = o.DeepCopy()
		o.APIVersion, o.Kind = tekton, "PipelineRun"
		docs = append(docs, o)
	}
	return docs
}

func loadObjects(runDir string) (pipelines.Bundle, error) {
	f, err := os.Open(filepath.Join(runDir, fileObjects))
	if err != nil {
		return pipelines.Bundle{}, fmt.Errorf("reading the objects of the run: %w", err)
	}
	defer f.Close()
	objects, err := pipelines.Parse(f)
	if err != nil {
		return pipelines.Bundle{}, fmt.Errorf("reading %q: %w", f.Name(), err)
	}
	return objects, nil
}
