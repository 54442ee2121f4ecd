package spec

import (
	"reflect"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// kubernetesWords are the values of a Kubernetes word type, nil for other types. Its Go types only say that they are
// text, so that a typo would show when the pods are made.
func kubernetesWords(t reflect.Type) []string {
	switch t {
	case reflect.TypeFor[corev1.TolerationOperator]():
		return []string{"Exists", "Equal", "Lt", "Gt"}
	case reflect.TypeFor[corev1.TaintEffect]():
		return []string{"NoSchedule", "PreferNoSchedule", "NoExecute"}
	case reflect.TypeFor[corev1.NodeSelectorOperator]():
		return []string{"In", "NotIn", "Exists", "DoesNotExist", "Gt", "Lt"}
	case reflect.TypeFor[metav1.LabelSelectorOperator]():
		return []string{"In", "NotIn", "Exists", "DoesNotExist"}
	case reflect.TypeFor[corev1.URIScheme]():
		return []string{"HTTP", "HTTPS"}
	}
	return nil
}

// kubernetesRequired reports whether a field of a Kubernetes struct must be there: those without omitempty. The
// handlers of a probe are exempt, because a probe in a file is a patch.
func kubernetesRequired(parent reflect.Type, tag string) bool {
	return kubernetes(parent) && !strings.HasSuffix(parent.Name(), "Action") && !strings.Contains(tag, "omit") &&
		!strings.Contains(tag, "inline")
}

func kubernetes(t reflect.Type) bool { return strings.HasPrefix(t.PkgPath(), "k8s.io/") }
