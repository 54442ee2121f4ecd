package cluster

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// secretPrefix begins the variables through which texts of a pod get values of Secrets. Kubernetes puts them in.
const secretPrefix = "BFLOW_SECRET_"

// SecretsOf are the values that the pods of plan need, sorted. An object of a pod never holds one, but where it lies.
func SecretsOf(plan *runplan.RunPlan) ([]runplan.SecretKey, error) {
	d := &plan.Deployment
	return runplan.ReferencesIn([]any{d.Env, d.Args, d.Engine.Args, d.Engine.Command})
}

// selector names the value of keys[i]: in its own Secret, or in that of the release, where the Secrets of the run are
// on another cluster.
func (d *renderer) selector(i int) *corev1.SecretKeySelector {
	if d.Secrets != nil {
		return &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: secretsName(d.release)},
			Key: strconv.Itoa(i)}
	}
	return &corev1.SecretKeySelector{LocalObjectReference: corev1.LocalObjectReference{Name: d.keys[i].Name},
		Key: d.keys[i].Key}
}

// secretVars are the variables that other texts refer to. They stand before those.
func (d *renderer) secretVars() []corev1.EnvVar {
	var vars []corev1.EnvVar
	for i := range d.keys {
		vars = append(vars, corev1.EnvVar{Name: secretPrefix + strconv.Itoa(i),
			ValueFrom: &corev1.EnvVarSource{SecretKeyRef: d.selector(i)}})
	}
	return vars
}

// text is one of a pod with variables in place of references.
func (d *renderer) text(text string) string {
	for _, k := range runplan.References(text) {
		text = strings.ReplaceAll(text, k.Reference(), "$("+secretPrefix+strconv.Itoa(slices.Index(d.keys, k))+")")
	}
	return text
}

func (d *renderer) texts(list []string) []string {
	out := slices.Clone(list)
	for i := range out {
		out[i] = d.text(out[i])
	}
	return out
}

// secret holds the values of a release on a cluster where the Secrets of the run are not; nil where they are. Its
// owner, the Service of the release, is known once that is made.
func (d *renderer) secret() *corev1.Secret {
	if d.Secrets == nil {
		return nil
	}
	yes := true
	secret := &corev1.Secret{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: d.meta(secretsName(d.release)), Immutable: &yes,
		Data: map[string][]byte{}}
	for i, k := range d.keys {
		secret.Data[strconv.Itoa(i)] = []byte(d.Secrets[k])
	}
	return secret
}

// secretsName is the Secret of a release.
func secretsName(release string) string { return release + "-secrets" }

// createOwned makes an object of a release, with a Service of the release as its owner.
func (c *Cluster) createOwned(ctx context.Context, r plural, obj runtime.Object, meta metav1.Object,
	service string) error {
	of := meta.GetLabels()
	found, err := all[corev1.Service](ctx, c, services,
		contract.LabelRun+"="+of[contract.LabelRun]+","+contract.LabelRelease+"="+of[contract.LabelRelease])
	if err != nil {
		return fmt.Errorf("looking for service %q in namespace %q: %w", service, c.Namespace, err)
	}
	for _, s := range found {
		if s.Name == service {
			meta.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "Service", Name: s.Name, UID: s.UID}})
			return c.create(ctx, r, obj)
		}
	}
	return fmt.Errorf("creating %s %q in namespace %q: service %q is gone", r, meta.GetName(), c.Namespace, service)
}
