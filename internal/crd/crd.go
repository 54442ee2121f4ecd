// Package crd validates an object against the schema of a CustomResourceDefinition as the API server does: unknown
// fields, types, CEL rules. It is for tests: it is heavy, and a real server does the same.
package crd

import (
	"context"
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

// Schema is what the API server makes of one version of a CustomResourceDefinition.
type Schema struct {
	structural *structural.Structural
	validator  validation.SchemaValidator
	rules      *cel.Validator
}

// New reads an openAPIV3Schema as YAML.
func New(text []byte) (*Schema, error) {
	var props extv1.JSONSchemaProps
	if err := yaml.UnmarshalStrict(text, &props); err != nil {
		return nil, err
	}
	return newSchema(&props)
}

// Of reads the schema of one version of a whole CustomResourceDefinition as YAML.
func Of(text []byte, version string) (*Schema, error) {
	var definition extv1.CustomResourceDefinition
	if err := yaml.Unmarshal(text, &definition); err != nil {
		return nil, err
	}
	for _, v := range definition.Spec.Versions {
		if v.Name == version {
			return newSchema(v.Schema.OpenAPIV3Schema)
		}
	}
	return nil, fmt.Errorf("%s has no version %s", definition.Name, version)
}

func newSchema(props *extv1.JSONSchemaProps) (*Schema, error) {
	var internal apiextensions.JSONSchemaProps
	if err := extv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(props, &internal, nil); err != nil {
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
	return &Schema{structural: s, validator: v, rules: cel.NewValidator(s, true, celconfig.PerCallLimit)}, nil
}

// Check returns what the API server would refuse. A nil schema refuses nothing: the kind is built in.
func (s *Schema) Check(obj any) []error {
	if s == nil {
		return nil
	}
	tree, err := Tree(obj)
	if err != nil {
		return []error{err}
	}
	var problems []error
	defaulting.Default(tree, s.structural)
	unknown := pruning.PruneWithOptions(tree, s.structural, true,
		structural.UnknownFieldPathOptions{TrackUnknownFieldPaths: true})
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

// Tree returns obj as a server would read it.
func Tree(obj any) (map[string]any, error) {
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
