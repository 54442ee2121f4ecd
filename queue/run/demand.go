package run

import (
	"encoding/json"
	"fmt"

	"bflow.dev/bflow/queue/devices"
	"bflow.dev/bflow/runplan/contract"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Shapes are the pods that the run puts on nodes with devices. What it says of them must be what it asks its queue for:
// one that said less would be let start where there is no room, on devices that were promised to others.
func Shapes(o metav1.Object) ([]devices.Shape, error) {
	requests, err := devices.ParseRequests(o.GetAnnotations()[contract.AnnotationRequests])
	if err != nil {
		return nil, err
	}
	text := o.GetAnnotations()[contract.AnnotationPods]
	if text == "" {
		return devices.Shapes(requests), nil
	}
	shapes, err := devices.ParsePods(text)
	if err != nil {
		return nil, err
	}
	if !devices.Share(shapes, requests) {
		return nil,
			fmt.Errorf(
				"annotation %q does not share out the devices of annotation %q, which are %s; submit the run as bflow compiles it",
				contract.AnnotationPods, contract.AnnotationRequests, requests.Devices())
	}
	return shapes, nil
}

// Demand is what the run asks its queue for, by resource. It reads the annotation that nobody may change and nothing
// else: a demand that changed would make Kueue drop the quota of a run that has begun.
func Demand(o metav1.Object) (corev1.ResourceList, error) {
	text := o.GetAnnotations()[contract.AnnotationRequests]
	if text == "" {
		return corev1.ResourceList{}, nil
	}
	var asked map[string]string
	if err := json.Unmarshal([]byte(text), &asked); err != nil {
		return nil, fmt.Errorf("reading annotation %q: %w; want JSON such as {\"nvidia.com/gpu\":\"4\"}",
			contract.AnnotationRequests, err)
	}
	demand := make(corev1.ResourceList, len(asked))
	for name, amount := range asked {
		quantity, err := devices.ParseQuantity(name, amount)
		if err != nil {
			return nil, fmt.Errorf("reading annotation %q: %s: %w", contract.AnnotationRequests, name, err)
		}
		if quantity.Sign() < 0 {
			return nil, fmt.Errorf("reading annotation %q: %s: %q is below zero", contract.AnnotationRequests, name, amount)
		}
		demand[corev1.ResourceName(name)] = quantity
	}
	return demand, nil
}
