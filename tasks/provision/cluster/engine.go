package cluster

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"bflow.dev/bflow/platform"
	"bflow.dev/bflow/platform/engine"
	"bflow.dev/bflow/runplan"

	corev1 "k8s.io/api/core/v1"
)

// program is what runs in the container of an engine.
type program struct {
	engine.Program
	kind  engine.Engine
	image string
}

// programOf returns the server program of plan; ownImage is that of an engine of bflow where the plan names none.
func programOf(plan *runplan.RunPlan, ownImage string) (program, error) {
	d := &plan.Deployment
	p := program{kind: engine.Of(d.Engine.Kind), image: d.Engine.Image}
	if own := p.kind.OwnImage; own != "" {
		p.image = cmp.Or(p.image, plan.Images[own], ownImage)
	}
	if p.image == "" {
		return p, fmt.Errorf("deploying engine %q of %q: there is no image; set engine.image", d.Engine.Kind, plan.Name)
	}
	var err error
	if p.Program, err = p.kind.Program(d, engine.Listener{Host: "0.0.0.0", Port: platform.Port(d)}); err != nil {
		return p, fmt.Errorf("deploying %q: %w", plan.Name, err)
	}
	return p, nil
}

// environment is that of the program with the plan's on top, sorted by name, behind the variables that others refer to.
func (d *renderer) environment() []corev1.EnvVar {
	set := map[string]string{}
	maps.Copy(set, d.program.Env)
	maps.Copy(set, d.plan.Deployment.Env)
	vars := []corev1.EnvVar{
		{Name: "POD_NAME", ValueFrom: &corev1.EnvVarSource{
			FieldRef: &corev1.ObjectFieldSelector{FieldPath: "metadata.name"}}},
		{Name: "POD_IP", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{FieldPath: "status.podIP"}}},
	}
	vars = slices.DeleteFunc(vars, func(v corev1.EnvVar) bool { _, ok := set[v.Name]; return ok })
	vars = append(vars, d.secretVars()...)
	for _, name := range slices.Sorted(maps.Keys(set)) {
		vars = append(vars, corev1.EnvVar{Name: name, Value: d.text(set[name])})
	}
	return vars
}
