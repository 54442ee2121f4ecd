package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"

	"bflow.dev/bflow/bootstrap/upstream"
)

// kueueImage is the released image, without its tag.
const kueueImage = "registry.k8s.io/kueue/kueue"

// kueue builds config/default with the released image and with our configuration, and leaves out the webhooks of
// integrations that are off.
func kueue(dir, version string) ([]*unstructured.Unstructured, error) {
	config := filepath.Join(dir, "config")
	memory := filesys.MakeFsInMemory()
	if err := load(memory, config); err != nil {
		return nil, err
	}
	if err := overlay(memory, config, version); err != nil {
		return nil, err
	}
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(memory, "/overlay")
	if err != nil {
		return nil, err
	}
	var all []*unstructured.Unstructured
	for _, r := range built.Resources() {
		text, err := r.AsYAML()
		if err != nil {
			return nil, err
		}
		u := &unstructured.Unstructured{}
		if text, err = yaml.YAMLToJSON(text); err != nil {
			return nil, err
		}
		if err := u.UnmarshalJSON(text); err != nil {
			return nil, err
		}
		trim(u)
		all = append(all, u)
	}
	return all, nil
}

// load copies a folder to /config of memory.
func load(memory filesys.FileSystem, dir string) error {
	return filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		inside, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		return memory.WriteFile("/config/"+filepath.ToSlash(inside), text)
	})
}

// overlay writes our kustomization on top of that of the module.
func overlay(memory filesys.FileSystem, config, version string) error {
	staging, err := stagingImage(filepath.Join(config, "components", "manager", "kustomization.yaml"))
	if err != nil {
		return err
	}
	settings, err := configuration(filepath.Join(config, "components", "manager", "controller_manager_config.yaml"))
	if err != nil {
		return err
	}
	kustomization := map[string]any{
		"apiVersion": "kustomize.config.k8s.io/v1beta1",
		"kind":       "Kustomization",
		"resources":  []any{"../config/default"},
		"images":     []any{map[string]any{"name": staging, "newName": kueueImage, "newTag": version}},
		"configMapGenerator": []any{map[string]any{"name": "kueue-manager-config", "namespace": upstream.KueueNamespace,
			"behavior": "replace",
			"files":    []any{"controller_manager_config.yaml"}}},
		"generatorOptions": map[string]any{"disableNameSuffixHash": true},
		"patches": []any{map[string]any{
			"target": map[string]any{"kind": "Deployment", "name": "kueue-controller-manager"},
			// Tags of releases are immutable, and a mirror may be the image store of a node.
			"patch": `[{"op": "replace", "path": "/spec/template/spec/containers/0/imagePullPolicy", "value": "IfNotPresent"}]`,
		}},
	}
	text, err := yaml.Marshal(kustomization)
	if err != nil {
		return err
	}
	if err := memory.WriteFile("/overlay/kustomization.yaml", text); err != nil {
		return err
	}
	return memory.WriteFile("/overlay/controller_manager_config.yaml", settings)
}

// stagingImage returns the name that the module gives the image: our kustomization has to replace that one.
func stagingImage(file string) (string, error) {
	var k struct {
		Images []struct {
			Name, NewName string
		}
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	if err := yaml.Unmarshal(text, &k); err != nil {
		return "", err
	}
	if len(k.Images) != 1 || k.Images[0].NewName == "" {
		return "", fmt.Errorf("%s: want one image with a newName", file)
	}
	return k.Images[0].NewName, nil
}

// configuration returns the default configuration of Kueue with the changes that runs need. The integrations pod,
// deployment and statefulset must be off: Tekton copies the queue label of a PipelineRun to its pods, which would then
// be queued again.
func configuration(file string) ([]byte, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	settings := map[string]any{}
	if err := yaml.Unmarshal(text, &settings); err != nil {
		return nil, err
	}
	settings["manageJobsWithoutQueueName"] = false
	settings["integrations"] = map[string]any{"frameworks": []any{"batch/job"}}
	settings["objectRetentionPolicies"] = map[string]any{"workloads": map[string]any{"afterFinished": "168h"}}
	delete(settings, "waitForPodsReady")
	return yaml.Marshal(settings)
}

// trim leaves out the webhooks of integrations that are off. They fail closed: while Kueue is down, nobody could
// create a Pod or a Deployment.
func trim(u *unstructured.Unstructured) {
	if kind := u.GetKind(); kind != "MutatingWebhookConfiguration" && kind != "ValidatingWebhookConfiguration" {
		return
	}
	hooks, _, _ := unstructured.NestedSlice(u.Object, "webhooks")
	hooks = slices.DeleteFunc(hooks, func(h any) bool { return !isNeeded(h) })
	u.Object["webhooks"] = hooks
}

// isNeeded reports whether a webhook is for Kueue's own objects or for an integration that is on.
func isNeeded(webhook any) bool {
	hook, _ := webhook.(map[string]any)
	rules, _, _ := unstructured.NestedSlice(hook, "rules")
	for _, r := range rules {
		rule, _ := r.(map[string]any)
		groups, _, _ := unstructured.NestedStringSlice(rule, "apiGroups")
		resources, _, _ := unstructured.NestedStringSlice(rule, "resources")
		if slices.Equal(groups, []string{"kueue.x-k8s.io"}) || slices.Equal(groups, []string{"batch"}) &&
			slices.Contains(resources, "jobs") {
			return true
		}
	}
	return false
}
