package stack

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"bflow.dev/bflow/internal/problem"
)

// Picker is what the configuration of an endpoint picker may hold.
type Picker struct {
	APIVersions []string            `yaml:"api_versions"`
	Gates       []string            `yaml:"gates"`   // featureGates
	Plugins     map[string][]string `yaml:"plugins"` // their parameters, by type
	Removed     []string            `yaml:"removed"` // plugins of the base that the release has not
}

// anything stands where the parameters of a plugin are not known.
const anything = "any"

// configuration is an EndpointPickerConfig as far as it is checked.
// Source: apix/config/v1alpha1 of sigs.k8s.io/gateway-api-inference-extension v1.5.0.
type configuration struct {
	APIVersion   string         `json:"apiVersion"`
	Kind         string         `json:"kind"`
	Metadata     map[string]any `json:"metadata"`
	FeatureGates []string       `json:"featureGates"`
	Plugins      []plugin       `json:"plugins"`
	Profiles     []profile      `json:"schedulingProfiles"`
	Saturation   map[string]any `json:"saturationDetector"`
	DataLayer    map[string]any `json:"dataLayer"`
	FlowControl  map[string]any `json:"flowControl"`
	Parser       map[string]any `json:"parser"`
	Requests     map[string]any `json:"requestHandler"`
}

type plugin struct {
	Name       string         `json:"name"`
	Type       string         `json:"type"`
	Parameters map[string]any `json:"parameters"`
}

type profile struct {
	Name    string `json:"name"`
	Plugins []struct {
		Ref    string   `json:"pluginRef"`
		Weight *float64 `json:"weight"`
	} `json:"plugins"`
}

// Check finds what would stop an endpoint picker that is configured by text.
func (p Picker) Check(text string) (out problem.Findings) {
	c, err := parse(text)
	if err != nil {
		out.Add("", "%v", err)
		return out
	}
	if !slices.Contains(p.APIVersions, c.APIVersion) {
		out.Add("", "apiVersion: want one of %q, found %q", p.APIVersions, c.APIVersion)
	}
	for _, gate := range c.FeatureGates {
		if !slices.Contains(p.Gates, gate) {
			out.Add("", "featureGates: unknown gate %q%s", gate, problem.Nearest(gate, p.Gates))
		}
	}
	var names, profiles []string
	for i, one := range c.Plugins {
		names = unique(&out, names, fmt.Sprintf("plugins[%d]", i), one.name())
		p.checkPlugin(&out, fmt.Sprintf("plugins[%d]", i), one)
	}
	for i, profile := range c.Profiles {
		where := fmt.Sprintf("schedulingProfiles[%d]", i)
		profiles = unique(&out, profiles, where, profile.Name)
		for _, one := range profile.Plugins {
			if !slices.Contains(names, one.Ref) {
				out.Add("", "%s: plugin %q is not among the plugins%s", where, one.Ref, problem.Nearest(one.Ref, names))
			}
		}
	}
	if len(c.Plugins) == 0 || len(c.Profiles) == 0 {
		out.Add("", "want plugins and schedulingProfiles: without them requests are routed by nothing")
	}
	return out
}

// unique adds a name to those before it, unless one of them is the same.
func unique(out *problem.Findings, names []string, where, name string) []string {
	switch {
	case name == "":
		out.Add("", "%s: its name is missing", where)
	case slices.Contains(names, name):
		out.Add("", "%s: duplicate name %q", where, name)
	}
	return append(names, name)
}

func (p Picker) checkPlugin(out *problem.Findings, where string, one plugin) {
	parameters, known := p.Plugins[one.Type]
	if !known {
		types := slices.Sorted(maps.Keys(p.Plugins))
		if one.Type != "" || one.Name != "" { // else its name is missing, which is said
			out.Add("", "%s: unknown type %q%s", where, one.Type, problem.Nearest(one.Type, types))
		}
		return
	}
	for _, name := range slices.Sorted(maps.Keys(one.Parameters)) {
		if !slices.Contains(parameters, name) && !slices.Contains(parameters, anything) {
			out.Add("", "%s: %s has no parameter %q%s", where, one.Type, name, problem.Nearest(name, parameters))
		}
	}
}

func (p plugin) name() string {
	if p.Name == "" {
		return p.Type
	}
	return p.Name
}

// ScoresPrefixes reports whether an endpoint picker that is configured by text prefers pods that have the beginning of
// a prompt in their cache.
func ScoresPrefixes(text string) bool {
	c, err := parse(text)
	ofPrefixes := func(p plugin) bool { return strings.Contains(p.Type, "prefix-cache") }
	return err == nil && slices.ContainsFunc(c.Plugins, ofPrefixes)
}

func parse(text string) (c configuration, err error) {
	data, err := yaml.YAMLToJSONStrict([]byte(text))
	if err != nil {
		return c, fmt.Errorf("reading rendered YAML: %w", err)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	err = dec.Decode(&c)
	if wrong := new(json.UnmarshalTypeError); errors.As(err, &wrong) {
		err = fmt.Errorf("%s: want another type than %s", wrong.Field, wrong.Value)
	}
	return c, err
}
