package check

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// maxConfigMap is the API server's limit for all values of a ConfigMap together.
const maxConfigMap = 1 << 20

// metadata checks names and labels, and what the server checks of a ConfigMap.
func metadata(obj any) []error {
	m, ok := obj.(metav1.Object)
	if !ok {
		return []error{fmt.Errorf("%T has no metadata", obj)}
	}
	var problems []error
	name := m.GetName()
	if name == "" {
		name = m.GetGenerateName() + "abcde"
	}
	for _, text := range validation.IsDNS1123Subdomain(name) {
		problems = append(problems, fmt.Errorf("name %q: %s", name, text))
	}
	// Tekton writes the names of its objects into labels.
	if len(name) > validation.LabelValueMaxLength {
		problems = append(problems, fmt.Errorf("name %q has more than %d characters", name, validation.LabelValueMaxLength))
	}
	for _, e := range metavalidation.ValidateLabels(m.GetLabels(), field.NewPath("metadata", "labels")) {
		problems = append(problems, e)
	}
	if cm, ok := obj.(*corev1.ConfigMap); ok {
		problems = append(problems, configMap(cm)...)
	}
	return problems
}

func configMap(cm *corev1.ConfigMap) []error {
	var problems []error
	total := 0
	key := func(name string, size int) {
		total += size
		for _, text := range validation.IsConfigMapKey(name) {
			problems = append(problems, fmt.Errorf("key %q: %s", name, text))
		}
	}
	for name, value := range cm.Data {
		key(name, len(value))
		if _, twice := cm.BinaryData[name]; twice {
			problems = append(problems, fmt.Errorf("key %q is in data and in binaryData", name))
		}
	}
	for name, value := range cm.BinaryData {
		key(name, len(value))
	}
	if total > maxConfigMap {
		problems = append(problems, fmt.Errorf("%d bytes are more than the %d of a ConfigMap", total, maxConfigMap))
	}
	return problems
}
