package platform

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"bflow.dev/bflow/internal/credential"
	"bflow.dev/bflow/internal/problem"
	"bflow.dev/bflow/runplan"
)

// maxEPPBytes bounds options.epp_config.
const maxEPPBytes = 64 << 10

// sharedEPPVariables are the variables that epp_config may hold on every platform.
func sharedEPPVariables() []string {
	return []string{"release_name", "namespace", "model_name", "model_uri", "replicas", "runtime_image", "scheduler_image"}
}

// RenderEPP replaces {{ variable }} in text. A variable that values lacks and any other template syntax is an error.
func RenderEPP(text string, values map[string]string) (string, error) {
	var out strings.Builder
	syntax := regexp.MustCompile(`\{\{.*?\}\}|\{\{|\{%|\{#`)
	name := regexp.MustCompile(`^\{\{-?\s*([A-Za-z_][A-Za-z0-9_]*)\s*-?\}\}$`)
	for text != "" {
		at := syntax.FindStringIndex(text)
		if at == nil {
			break
		}
		m := name.FindStringSubmatch(text[at[0]:at[1]])
		if m == nil {
			return "", fmt.Errorf("reading template: want only {{ variable }}, found %q", text[at[0]:at[1]])
		}
		value, ok := values[m[1]]
		if !ok {
			return "", unknownVariable(m[1], slices.Sorted(maps.Keys(values)))
		}
		out.WriteString(text[:at[0]] + value)
		text = text[at[1]:]
	}
	return out.String() + text, nil
}

func unknownVariable(name string, known []string) error {
	if near := problem.Closest(name, known, 1); len(near) > 0 {
		return fmt.Errorf("unknown variable %q (did you mean %q?)", name, near[0])
	}
	return fmt.Errorf("unknown variable %q, want one of %s", name, strings.Join(known, ", "))
}

// sampleEPP renders the text with sample values.
func sampleEPP(variables []string, text string) (string, error) {
	values := map[string]string{}
	for i, name := range append(sharedEPPVariables(), variables...) {
		values[name] = strconv.Itoa(i + 1)
	}
	return RenderEPP(text, values)
}

// eppValues are the variables of a release: those of every platform, and those of a platform that deploys llm-d.
func (r Release) eppValues() map[string]string {
	d := &r.Plan.Deployment
	mount := ""
	if d.ModelStorage != nil {
		mount = d.ModelStorage.MountPath
	}
	return map[string]string{
		"release_name": r.Name, "namespace": r.Meta(r.Name).Namespace, "model_name": d.Model.Name,
		"model_uri": d.ModelPath(), "replicas": strconv.Itoa(replicas(d)), "runtime_image": d.Engine.Image,
		"scheduler_image": d.SchedulerImage, "mode": d.Mode, "repo_ref": d.RepoRef, "gateway": d.Gateway,
		"model_mount_path": mount, "tensor_parallelism": strconv.Itoa(d.TensorParallel),
	}
}

// checkEPP reads the text with sample values: the kind does not depend on them.
func checkEPP(variables []string, text string) (out problem.Findings) {
	if text == "" {
		return nil
	}
	if len(text) > maxEPPBytes {
		out.Add("", "want at most 64 KiB, found %d bytes", len(text))
		return out
	}
	rendered, err := sampleEPP(variables, text)
	if err != nil {
		out.Add("", "%v", err)
		return out
	}
	dec := yaml.NewDecoder(strings.NewReader(rendered))
	var head map[string]any
	err = dec.Decode(&head)
	kind, _ := head["kind"].(string)
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		out.Add("", "reading rendered YAML: %s", strings.TrimPrefix(err.Error(), "yaml: "))
	case kind != "EndpointPickerConfig":
		out.Add("", "want text that renders to kind EndpointPickerConfig, found kind %q", kind)
	case !errors.Is(dec.Decode(new(any)), io.EOF):
		out.Add("", "want one document, found several")
	case len(runplan.References(rendered)) > 0 || credential.Text(rendered) != rendered:
		out.Add("", "it contains what may be a credential, and everybody who may read ConfigMaps would see it; remove it")
	}
	return out
}
