package check

import (
	"context"
	"embed"
	"encoding/json"
	"fmt"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	extv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	structural "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/defaulting"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/pruning"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/validation"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	"sigs.k8s.io/yaml"
)

//go:embed crds/*.yaml
var crds embed.FS

// kinds returns those with a schema of their own, and its file.
func kinds() map[string]string {
	return map[string]string{"Task": "crds/task.yaml", "Pipeline": "crds/pipeline.yaml", "PipelineRun": "crds/pipelinerun.yaml"}
}

// schema is what the API server makes of a CustomResourceDefinition.
type schema struct {
	structural *structural.Structural
	validator  validation.SchemaValidator
	rules      *cel.Validator
}

func loadSchemas() (map[string]*schema, error) {
	schemas := map[string]*schema{}
	for kind, file := range kinds() {
		text, err := crds.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("reading the schema of %s: %w", kind, err)
		}
		if schemas[kind], err = newSchema(text); err != nil {
			return nil, fmt.Errorf("compiling the schema of %s: %w", kind, err)
		}
	}
	return schemas, nil
}

func newSchema(text []byte) (*schema, error) {
	var props extv1.JSONSchemaProps
	if err := yaml.UnmarshalStrict(text, &props); err != nil {
		return nil, err
	}
	var internal apiextensions.JSONSchemaProps
	if err := extv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(&props, &internal, nil); err != nil {
		return nil, err
	}
	s, err := structural.NewStructural(&internal)
	if err != nil {
		return nil, err
	}
	v, _, err := validation.NewSchemaValidator(&internal)
	if err != nil {
		return nil, err
	}
	return &schema{structural: s, validator: v, rules: cel.NewValidator(s, true, celconfig.PerCallLimit)}, nil
}

// check returns what the API server would refuse. A nil schema refuses nothing: the kind is built in.
func (s *schema) check(obj any) []error {
	if s == nil {
		return nil
	}
	tree, err := toTree(obj)
	if err != nil {
		return []error{err}
	}
	var problems []error
	defaulting.Default(tree, s.structural)
	unknown := pruning.PruneWithOptions(tree, s.structural, true, structural.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
	for _, path := range unknown {
		problems = append(problems, fmt.Errorf("unknown field %q", path))
	}
	for _, e := range validation.ValidateCustomResource(nil, tree, s.validator) {
		problems = append(problems, e)
	}
	broken, _ := s.rules.Validate(context.Background(), nil, s.structural, tree, nil, celconfig.RuntimeCELCostBudget)
	for _, e := range broken {
		problems = append(problems, e)
	}
	return problems
}

func toTree(obj any) (map[string]any, error) {
	text, err := json.Marshal(obj)
	if err != nil {
		return nil, fmt.Errorf("encoding %T: %w", obj, err)
	}
	var tree map[string]any
	if err := json.Unmarshal(text, &tree); err != nil {
		return nil, fmt.Errorf("reading %T back: %w", obj, err)
	}
	return tree, nil
}
