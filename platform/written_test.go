package platform

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the rights and the table of platforms anew")

// Lines around the rules that follow from the table of kinds.
const (
	rightsBegin = "# the objects of model servers; make generate writes these rules, as the kinds of " +
		"package platform say\n"
	rightsEnd = "# end of the objects of model servers\n"
)

// TestTheRightsAreWritten keeps the rights to the objects of platforms, and the policy that bounds them, at what the
// table of kinds says.
func TestTheRightsAreWritten(t *testing.T) {
	for _, row := range []struct{ file, indent, rules string }{
		{"runs/rbac.yaml", "", rightsOf(provisionVerbs)},
		{"target/rbac-runner.yaml", "", rightsOf(provisionVerbs)},
		{"target/rbac-agent.yaml", "", rightsOf(leftoverVerbs)},
		{"base/rbac-runs.yaml", "", rightsOf(leftoverVerbs)},
		{"base/policy.yaml", "    ", policyOf()},
	} {
		compare(t, "../bootstrap/overlays/"+row.file, rightsBegin, row.indent+rightsEnd, row.rules)
	}
}

// TestTheTableOfPlatformsIsWritten: README.md has a row for each platform, with whether bflow deploys it.
func TestTheTableOfPlatformsIsWritten(t *testing.T) {
	var rows strings.Builder
	for _, p := range All() {
		state := "not yet: plans and hashes only"
		switch {
		case len(p.Modes) == 0:
			state = "measured where it is"
		case p.Deploys != "":
			state = "deployed: " + p.Deploys + "; not yet otherwise"
		case p.Objects != nil:
			state = "deployed"
		}
		rows.WriteString("| `" + p.Name + "` | " + p.About + " | " + state + " |\n")
	}
	compare(t, "../README.md", "| platform | what it is | state |\n|---|---|---|\n", "\n", rows.String())
}

// compare tells whether a file says want between two texts. With -update it is written there.
func compare(t *testing.T, file, begin, end, want string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, begins := strings.Cut(string(text), begin)
	have, after, ends := strings.Cut(rest, "\n"+end)
	if !begins || !ends {
		t.Fatalf("%s has no place for what package platform says, from %q to %q", file, begin, end)
	}
	switch {
	case *update:
		if err := os.WriteFile(file, []byte(before+begin+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
	case have+"\n" != want:
		t.Errorf("%s says\n%s\nand make generate writes\n%s", file, have, want)
	}
}

// provisionVerbs are what provision does with objects of a kind: it waits for those that make pods.
func provisionVerbs(k Kind) string {
	if k.MakesPods {
		return "create, list, watch, delete"
	}
	return "create, list, delete"
}

// leftoverVerbs are what the controller and its agents do with what a run leaves behind.
func leftoverVerbs(Kind) string { return "list, delete" }

// group is a rule: kinds of one API group with the same verbs.
type group struct {
	name, verbs string
	resources   []string
}

func groupsOf(verbs func(Kind) string) []group {
	var all []group
	for _, k := range Kinds() {
		if k.Maker != ByPlatform {
			continue
		}
		at := slices.IndexFunc(all, func(g group) bool { return g.name == k.Group && g.verbs == verbs(k) })
		if at < 0 {
			at, all = len(all), append(all, group{name: k.Group, verbs: verbs(k)})
		}
		all[at].resources = append(all[at].resources, k.Resource)
	}
	return all
}

// api is the name of the group in YAML.
func (g group) api() string {
	if g.name == "" {
		return `""`
	}
	return g.name
}

func rightsOf(verbs func(Kind) string) string {
	var b strings.Builder
	for _, g := range groupsOf(verbs) {
		fmt.Fprintf(&b, "- apiGroups: [%s]\n  resources: [%s]\n  verbs: [%s]\n", g.api(),
			strings.Join(g.resources, ", "), g.verbs)
	}
	return b.String()
}

func policyOf() string {
	var b strings.Builder
	for _, g := range groupsOf(leftoverVerbs) {
		fmt.Fprintf(&b, "    - apiGroups: [%s]\n      apiVersions: [\"*\"]\n      operations: [CREATE, UPDATE, DELETE]\n"+
			"      resources: [%s]\n      scope: Namespaced\n", g.api(), strings.Join(g.resources, ", "))
	}
	return b.String()
}
