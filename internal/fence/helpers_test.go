package fence

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// waits are the packages of tests that wait themselves, each with its reason.
var waits = map[string]string{
	"internal/eventually": "the waiting itself",
	"internal/leakcheck":  "it waits for goroutines, which send no signal when they end",
}

// TestHelpersKeepTheRulesOfTests: what tests share in a package of its own waits and judges times as a test may. The
// linter forbidigo takes all but the files that its exclusion names for code that ships.
func TestHelpersKeepTheRulesOfTests(t *testing.T) {
	text, err := os.ReadFile(root + "/.golangci.yml")
	if err != nil {
		t.Fatal(err)
	}
	var config struct {
		Linters struct {
			Exclusions struct {
				Rules []struct {
					PathExcept string   `json:"path-except"`
					Linters    []string `json:"linters"`
				} `json:"rules"`
			} `json:"exclusions"`
		} `json:"linters"`
	}
	if err := yaml.Unmarshal(text, &config); err != nil {
		t.Fatal(err)
	}
	var tests *regexp.Regexp
	for _, rule := range config.Linters.Exclusions.Rules {
		if rule.PathExcept != "" && len(rule.Linters) == 1 && rule.Linters[0] == "forbidigo" {
			tests = regexp.MustCompile(rule.PathExcept)
		}
	}
	if tests == nil {
		t.Fatal(".golangci.yml does not say which files forbidigo is for")
	}
	helpers := list(t, `{{range .Imports}}{{if eq . "testing"}}{{$.ImportPath}}{{end}}{{end}}`, "./...")
	if len(helpers) < 5 {
		t.Errorf("only %q import package testing", helpers)
	}
	for _, pkg := range helpers {
		folder := strings.TrimPrefix(pkg, module)
		if waits[folder] == "" && !tests.MatchString(folder+"/x.go") {
			t.Errorf("%s is for tests, but forbidigo does not check it: add it to path-except in .golangci.yml", folder)
		}
	}
}
