package objects

import (
	"fmt"

	"bflow.dev/bflow/pipelines"
	"bflow.dev/bflow/runplan/contract"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"
)

// experimentObjects returns Pipeline bflow-experiment, by which consoles, tkn and Triggers start runs in a namespace,
// and its Task.
func experimentObjects(c Config, namespace string) ([]*unstructured.Unstructured, error) {
	task, pipeline, err := pipelines.Experiment(pipelines.Release{Version: labelValue(c.Version),
		Images: map[string]string{"bflow": c.Client}})
	if err != nil {
		return nil, err
	}
	var all []*unstructured.Unstructured
	for _, typed := range []any{task, pipeline} {
		o := &unstructured.Unstructured{}
		text, err := yaml.Marshal(typed)
		if err == nil {
			err = yaml.Unmarshal(text, &o.Object)
		}
		if err != nil {
			return nil, fmt.Errorf("writing %q: %w", contract.Experiment, err)
		}
		unstructured.RemoveNestedField(o.Object, "metadata", "creationTimestamp")
		o.SetNamespace(namespace)
		AddLabels(o, map[string]string{labelPartOf: partOf})
		all = append(all, o)
	}
	return all, nil
}

// clientImage returns the image of bflow itself: in the registry and folder of the controller, if nobody names it.
func clientImage(image, version string) string {
	if dir := imagePrefix(image); dir != "" {
		return dir + "/bflow:" + labelValue(version)
	}
	return DefaultClient + ":" + labelValue(version)
}
