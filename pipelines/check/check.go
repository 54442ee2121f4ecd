package check

import (
	"context"
	"errors"
	"fmt"
	"io"

	"bflow.dev/bflow/internal/crd"
	"bflow.dev/bflow/pipelines"

	"github.com/tektoncd/pipeline/pkg/apis/config"
	"k8s.io/apimachinery/pkg/runtime"
	"knative.dev/pkg/apis"
)

// Checker holds the compiled schemas and the configuration of Tekton.
type Checker struct {
	schemas map[string]*crd.Schema
	tekton  *config.Config
}

// New returns a Checker for the pinned version of Tekton under the feature flags that bootstrap installs.
func New() (*Checker, error) {
	schemas, err := loadSchemas()
	if err != nil {
		return nil, err
	}
	tekton, err := pinnedConfig()
	return &Checker{schemas: schemas, tekton: tekton}, err
}

// Stream reads documents strictly and checks them as Bundle does.
func (c *Checker) Stream(r io.Reader) error {
	b, err := pipelines.Parse(r)
	if err != nil {
		return err
	}
	return c.Bundle(b)
}

// Bundle returns every problem of the objects of b, each by itself and with each other, as one error. What the objects
// refer to must be in b: for a reference into an OCI bundle that is the Task of this name.
func (c *Checker) Bundle(b pipelines.Bundle) error {
	var problems []error
	for _, o := range objectsOf(b) {
		for _, err := range c.object(o) {
			problems = append(problems, fmt.Errorf("%s %q: %w", o.kind, o.name, err))
		}
	}
	return errors.Join(append(problems, wiring(b)...)...)
}

// object is one object of a bundle, whatever its kind.
type object struct {
	kind, name string
	value      any
}

func objectsOf(b pipelines.Bundle) []object {
	var all []object
	for _, t := range b.Tasks {
		all = append(all, object{"Task", t.Name, t})
	}
	for _, p := range b.Pipelines {
		all = append(all, object{"Pipeline", p.Name, p})
	}
	for _, r := range b.PipelineRuns {
		all = append(all, object{"PipelineRun", r.Name + r.GenerateName, r})
	}
	for _, m := range b.ConfigMaps {
		all = append(all, object{"ConfigMap", m.Name, m})
	}
	return all
}

// resource is what all Tekton kinds can do.
type resource interface {
	runtime.Object
	apis.Defaultable
	apis.Validatable
}

func (c *Checker) object(o object) []error {
	problems := append(c.schemas[o.kind].Check(o.value), metadata(o.value)...)
	if r, ok := o.value.(resource); ok {
		if err := c.admit(context.Background(), r); err != nil {
			problems = append(problems, err)
		}
	}
	return append(problems, podSecurity(o.value)...)
}
