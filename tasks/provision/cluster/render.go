package cluster

import (
	"fmt"
	"slices"

	"bflow.dev/bflow/platform"
	"bflow.dev/bflow/runplan"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Rendering is what a rendering depends on besides the plan and the run.
type Rendering struct {
	Namespace string
	Platforms platform.Registry // nil = all
	SimImage  string            // of the simulated engine, where the plan names none
	OpenShift bool              // the platform assigns users, so none is named
	Part      map[string]string // labels of the nodes that are the target, nil for all
	// Secrets are the values that SecretsOf names, for a cluster where the Secrets of the run are not; nil where they are.
	Secrets map[runplan.SecretKey]string
}

// Objects returns what a plan is deployed as by its platform, in the order in which it is created. It depends on its
// arguments alone.
func Objects(plan *runplan.RunPlan, run Run, r Rendering) ([]runtime.Object, error) {
	where, err := r.Platforms.OrAll().Of(&plan.Deployment)
	if err != nil {
		return nil, fmt.Errorf("deploying %q: %w", plan.Name, err)
	}
	if lacking := where.LacksFor(&plan.Deployment); lacking != "" {
		return nil, fmt.Errorf("deploying %q: %s", plan.Name, where.Undeployable(plan.Deployment.Profile, lacking))
	}
	d := renderer{plan: plan, run: run, Rendering: r, release: runplan.Release(plan, run.ID)}
	template, err := d.pod()
	if err != nil {
		return nil, err
	}
	objects, err := where.Objects(platform.Release{
		Plan: plan, Name: d.release, Runtime: d.set, Meta: d.meta, Selector: run.own(d.release), Pod: template,
		Beside: d.beside(),
	})
	if err != nil {
		return nil, fmt.Errorf("deploying %q on platform %s: %w", plan.Name, where.Name, err)
	}
	for _, obj := range objects {
		if kind := obj.GetObjectKind().GroupVersionKind().Kind; !slices.Contains(where.Kinds, kind) && !isOwned(obj) {
			return nil, fmt.Errorf("deploying %q on platform %s: nothing would remove %s %q; "+
				"add its kind to Kinds of the platform", plan.Name, where.Name, kind, nameOf(obj))
		}
	}
	return d.withOwned(objects), nil
}

// pod reads the plan and returns the pod of its engine.
func (d *renderer) pod() (corev1.PodTemplateSpec, error) {
	var err error
	if d.set, err = platform.RuntimeOf(d.plan); err != nil {
		return corev1.PodTemplateSpec{}, err
	}
	if d.set.Resources == nil {
		d.set.Resources = &platform.Resources{}
	}
	if d.labels = d.run.labels(d.plan, d.release); d.plan.Deployment.Engine.Kind == "" {
		return corev1.PodTemplateSpec{}, fmt.Errorf("deploying %q: the plan names no engine", d.plan.Name)
	}
	if d.program, err = programOf(d.plan, d.SimImage); err != nil {
		return corev1.PodTemplateSpec{}, err
	}
	if d.keys, err = SecretsOf(d.plan); err != nil {
		return corev1.PodTemplateSpec{}, err
	}
	return d.template()
}

// isOwned reports whether an object goes with the first Service of its release: nobody may list objects of its kind to
// delete them.
func isOwned(obj runtime.Object) bool {
	switch obj.(type) {
	case *corev1.Secret, *corev1.ConfigMap:
		return true
	}
	return false
}

// owner is the index of the first Service, -1 where there is none.
func owner(objects []runtime.Object) int {
	return slices.IndexFunc(objects, func(o runtime.Object) bool { _, ok := o.(*corev1.Service); return ok })
}

// withOwned puts the Secret and the files of a release, where it needs any, behind the Service that will own them.
func (d *renderer) withOwned(objects []runtime.Object) []runtime.Object {
	var owned []runtime.Object
	if secret := d.secret(); secret != nil && len(d.keys) > 0 {
		owned = append(owned, secret)
	}
	if files := d.files(); files != nil {
		owned = append(owned, files)
	}
	return slices.Insert(objects, owner(objects)+1, owned...)
}

// renderer makes the objects of one release.
type renderer struct {
	Rendering
	plan    *runplan.RunPlan
	run     Run
	set     platform.Runtime
	release string
	labels  map[string]string
	program program
	keys    []runplan.SecretKey // whose values its pods need
}

func (d *renderer) meta(name string) metav1.ObjectMeta {
	m := metav1.ObjectMeta{Name: name, Namespace: d.Namespace, Labels: d.labels}
	if d.run.Owner != nil {
		m.OwnerReferences = []metav1.OwnerReference{*d.run.Owner}
	}
	return m
}
