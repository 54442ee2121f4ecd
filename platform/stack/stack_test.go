package stack

import (
	"strings"
	"testing"
)

// TestEveryStackIsWhole: it names its images, and what it configures its endpoint picker by is what that one reads.
func TestEveryStackIsWhole(t *testing.T) {
	seen := map[string]bool{}
	for product, all := range releases() {
		for _, s := range all {
			if s.Name == "" || len(s.Refs) == 0 || s.Images.Engine == "" || s.Images.Picker == "" || s.Images.Proxy == "" {
				t.Errorf("a stack of %s leaves out its name, a ref or an image: %+v", product, s.Images)
			}
			for _, ref := range s.Refs {
				if key := product + " " + ref; seen[key] {
					t.Errorf("%s is two stacks", key)
				} else {
					seen[key] = true
				}
			}
			for path, p := range s.Paths {
				if found := s.Picker.Check(p.Config); len(found) > 0 {
					t.Errorf("%s, path %s: %v", s.Name, path, found)
				}
			}
		}
	}
}

// TestAReleaseThatIsBasedOnAnother differs in what its file says.
func TestAReleaseThatIsBasedOnAnother(t *testing.T) {
	base, err := Of("llm-d", "v0.9.0")
	if err != nil {
		t.Fatal(err)
	}
	s, err := Of("llm-d", "router-v0.11.0")
	if err != nil || s.Images.Picker == base.Images.Picker || s.Images.Engine != base.Images.Engine ||
		len(s.Paths) != len(base.Paths) || len(s.Picker.Plugins) != len(base.Picker.Plugins)-len(s.Picker.Removed) {
		t.Errorf("got %+v, %v", s, err)
	}
	const text = "apiVersion: llm-d.ai/v1alpha1\nkind: EndpointPickerConfig\n" +
		"plugins: [{type: precise-prefix-cache-scorer}]\nschedulingProfiles: [{name: default}]"
	if found := s.Picker.Check(text); len(found) != 1 || len(base.Picker.Check(text)) > 0 {
		t.Errorf("a plugin that is gone: %v", found)
	}
}

func TestAReleaseIsNamedByItsRef(t *testing.T) {
	s, err := Of("llm-d", "v0.9.0")
	if err != nil || s.Name != "llm-d v0.9" {
		t.Errorf("got %q, %v", s.Name, err)
	}
	_, err = Of("llm-d", "v0.3.0")
	if err == nil || !strings.HasPrefix(err.Error(), `unknown release "v0.3.0" of llm-d`) ||
		!strings.HasSuffix(err.Error(), "; use one of router-v0.11.0, router-v0.11, v0.9.0, v0.9, main") {
		t.Errorf("got %v", err)
	}
}

func TestWhatWouldStopAnEndpointPickerIsFound(t *testing.T) {
	s, err := Of("llm-d", "v0.9.0")
	if err != nil {
		t.Fatal(err)
	}
	const head = "apiVersion: llm-d.ai/v1alpha1\nkind: EndpointPickerConfig\n"
	const whole = "\nschedulingProfiles: [{name: default}]"
	for _, row := range []struct{ name, text, want string }{
		{"what it reads", head + "plugins: [{type: queue-scorer}]" + whole, ""},
		{"another version", "apiVersion: llm-d.ai/v2\nkind: EndpointPickerConfig\nplugins: [{type: queue-scorer}]" + whole,
			`found "llm-d.ai/v2"`},
		{"an unknown field", head + "plugin: []", `unknown field "plugin"`},
		{"nothing to route by", head, "want plugins and schedulingProfiles"},
		{"a plugin that is nothing", head + "plugins: [null]" + whole, "plugins[0]: its name is missing"},
		{"a plugin without a type", head + "plugins: [{name: a}]" + whole, `plugins[0]: unknown type ""`},
		{"a number as a name", head + "plugins: [{name: 5, type: queue-scorer}]" + whole,
			"plugins.name: want another type than number"},
		{"a text in place of a detector", head + "saturationDetector: x",
			"saturationDetector: want another type than string"},
		{"a field twice", head + "kind: EndpointPickerConfig", `key "kind" already set`},
		{"two profiles of one name", head + "plugins: [{type: queue-scorer}]\nschedulingProfiles: [{name: a}, {name: a}]",
			`schedulingProfiles[1]: duplicate name "a"`},
		{"an unknown gate", head + "featureGates: [flowControls]\nplugins: [{type: queue-scorer}]" + whole,
			`unknown gate "flowControls" (did you mean "flowControl"?)`},
		{"an unknown plugin", head + "plugins: [{type: queue-score}]" + whole,
			`plugins[0]: unknown type "queue-score" (did you mean "queue-scorer"?)`},
		{"an unknown parameter", head + "plugins: [{type: max-score-picker, parameters: {maxNumEndpoints: 1}}]" + whole,
			`plugins[0]: max-score-picker has no parameter "maxNumEndpoints" (did you mean "maxNumOfEndpoints"?)`},
		{"a parameter of a plugin without any", head + "plugins: [{type: queue-scorer, parameters: {a: 1}}]" + whole,
			`queue-scorer has no parameter "a"`},
		{"a name twice", head + "plugins: [{type: queue-scorer}, {type: queue-scorer}]" + whole,
			`plugins[1]: duplicate name "queue-scorer"`},
		{"a profile with a plugin that is not there", head +
			"plugins: [{name: queue, type: queue-scorer}]\nschedulingProfiles: [{name: default, plugins: [{pluginRef: queu}]}]",
			`schedulingProfiles[0]: plugin "queu" is not among the plugins (did you mean "queue"?)`},
	} {
		t.Run(row.name, func(t *testing.T) {
			found := s.Picker.Check(row.text)
			switch {
			case row.want == "" && len(found) > 0:
				t.Errorf("found %v", found)
			case row.want != "" && (len(found) != 1 || !strings.Contains(found[0].Text, row.want)):
				t.Errorf("found %v, want %q", found, row.want)
			}
		})
	}
}
