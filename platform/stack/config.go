package stack

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"bflow.dev/bflow/internal/problem"
)

// Picker is what the configuration of an endpoint picker may hold.
type Picker struct {
	APIVersions []string            `yaml:"api_versions"`
	Gates       []string            `yaml:"gates"`   // featureGates
	Plugins     map[string][]string `yaml:"plugins"` // their parameters, by type
}

// anything stands where the parameters of a plugin are not known.
const anything = "any"

// configuration is an EndpointPickerConfig as far as it is checked.
// Source: apix/config/v1alpha1 of sigs.k8s.io/gateway-api-inference-extension v1.5.0.
type configuration struct {
	APIVersion   string         `yaml:"apiVersion"`
	Kind         string         `yaml:"kind"`
	Metadata     any            `yaml:"metadata"`
	FeatureGates []string       `yaml:"featureGates"`
	Plugins      []plugin       `yaml:"plugins"`
	Profiles     []profile      `yaml:"schedulingProfiles"`
	Saturation   any            `yaml:"saturationDetector"`
	DataLayer    any            `yaml:"dataLayer"`
	FlowControl  any            `yaml:"flowControl"`
	Parser       any            `yaml:"parser"`
	Requests     map[string]any `yaml:"requestHandler"`
}

type plugin struct {
	Name       string         `yaml:"name"`
	Type       string         `yaml:"type"`
	Parameters map[string]any `yaml:"parameters"`
}

type profile struct {
	Name    string `yaml:"name"`
	Plugins []struct {
		Ref    string   `yaml:"pluginRef"`
		Weight *float64 `yaml:"weight"`
	} `yaml:"plugins"`
}

// Check finds what would stop an endpoint picker that is configured by text.
func (p Picker) Check(text string) (out problem.Findings) {
	c, err := parse(text)
	if err != nil {
		out.Add("", "want an EndpointPickerConfig: %s", strings.TrimPrefix(err.Error(), "yaml: "))
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
	names := map[string]bool{}
	for i, one := range c.Plugins {
		if where := fmt.Sprintf("plugins[%d]", i); names[one.name()] {
			out.Add("", "%s: duplicate name %q", where, one.name())
		} else {
			p.checkPlugin(&out, where, one)
		}
		names[one.name()] = true
	}
	for _, profile := range c.Profiles {
		for _, one := range profile.Plugins {
			if !names[one.Ref] {
				out.Add("", "schedulingProfiles: profile %q uses plugin %q, which is not among the plugins%s", profile.Name,
					one.Ref, problem.Nearest(one.Ref, slices.Sorted(maps.Keys(names))))
			}
		}
	}
	return out
}

func (p Picker) checkPlugin(out *problem.Findings, where string, one plugin) {
	parameters, known := p.Plugins[one.Type]
	if !known {
		types := slices.Sorted(maps.Keys(p.Plugins))
		out.Add("", "%s: unknown type %q%s", where, one.Type, problem.Nearest(one.Type, types))
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
	dec := yaml.NewDecoder(strings.NewReader(text))
	dec.KnownFields(true)
	if err = dec.Decode(&c); err == nil && c.Kind != "EndpointPickerConfig" {
		err = fmt.Errorf("found kind %q", c.Kind)
	}
	return c, err
}
