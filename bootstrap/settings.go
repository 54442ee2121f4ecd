package bootstrap

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"

	"bflow.dev/bflow/bootstrap/component"
)

// Settings are the options of the last installation; upgrade and status continue with them.
type Settings struct {
	Versions   map[string]string `json:"versions,omitempty"` // part -> version
	Namespaces []string          `json:"namespaces,omitempty"`
	Overlay    string            `json:"overlay,omitempty"`
	Image      string            `json:"image,omitempty"`
	Client     string            `json:"client,omitempty"`
	Registry   string            `json:"registry,omitempty"`
	ImageMap   map[string]string `json:"imageMap,omitempty"`
	Digests    map[string]string `json:"digests,omitempty"` // of images of Tekton and Kueue, by reference with tag
	LoadNodes  map[string]string `json:"loadNodes,omitempty"`
	Controller []string          `json:"controller,omitempty"` // more flags of the controller

	Components component.Settings `json:"-"` // written as members beside these

	Targets map[string]TargetSettings `json:"targets,omitempty"`
}

// TargetSettings are the options of the last bflow target add of a name.
type TargetSettings struct {
	UID        string            `json:"uid"` // of the target's kube-system
	Labels     map[string]string `json:"labels,omitempty"`
	Aliases    map[string]string `json:"aliases,omitempty"`    // hosts by name
	Nodes      map[string]string `json:"nodes,omitempty"`      // labels of its nodes; none = all
	LoadNodes  map[string]string `json:"loadNodes,omitempty"`  // node selector of the Jobs of tasks there
	Namespaces []string          `json:"namespaces,omitempty"` // of runs; none = those of the hub
	Rights     map[string]string `json:"rights,omitempty"`     // given there, by namespace: see rightsOnTargets
}

// MarshalJSON writes the settings of components as members of the same object, before the targets.
func (s Settings) MarshalJSON() ([]byte, error) {
	type plain Settings // has no methods
	before, targets := plain(s), plain{Targets: s.Targets}
	before.Targets = nil
	all := []any{before}
	for _, key := range s.Components.Keys() {
		all = append(all, component.Settings{key: s.Components[key]})
	}
	var members [][]byte
	for _, part := range append(all, targets) {
		text, err := json.Marshal(part)
		if err != nil {
			return nil, err
		}
		if inner := text[1 : len(text)-1]; len(inner) > 0 {
			members = append(members, inner)
		}
	}
	return append(append([]byte{'{'}, bytes.Join(members, []byte{','})...), '}'), nil
}

// UnmarshalJSON reads every member that is no field as the setting of a component.
func (s *Settings) UnmarshalJSON(text []byte) error {
	type plain Settings // has no methods
	if err := json.Unmarshal(text, (*plain)(s)); err != nil {
		return err
	}
	if err := json.Unmarshal(text, &s.Components); err != nil {
		return err
	}
	for fields, i := reflect.TypeFor[Settings](), 0; i < fields.NumField(); i++ {
		key, _, _ := strings.Cut(fields.Field(i).Tag.Get("json"), ",")
		delete(s.Components, key)
	}
	return nil
}
