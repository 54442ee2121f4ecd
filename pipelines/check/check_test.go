package check

import (
	"os"
	"strings"
	"testing"
)

// sound is a small bundle without a fault; each row of the test below plants one.
func sound(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("testdata/sound.yaml")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestASoundBundlePasses(t *testing.T) {
	c, err := New()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Stream(strings.NewReader(sound(t))); err != nil {
		t.Error(err)
	}
}

func TestPlantedFaultsAreFound(t *testing.T) {
	c, err := New()
	if err != nil {
		t.Fatal(err)
	}
	base := sound(t)
	for _, row := range []struct{ name, old, new, want string }{
		{"an unknown field", "displayName: Make", "display: Make", `unknown field "display"`},
		{"a param that nobody declares", "name: size, value: big", "name: sice, value: big",
			`task make binds param "sice", which is not declared`},
		{"a param that is not bound", "params: [{name: size, value: big}]", "params: []",
			`task make does not bind param "size"`},
		{"a param of another type", "name: size, value: big", "name: size, value: [big]",
			`binds param "size" as array, want string`},
		{"a result that is not written", "$(tasks.make.results.url)", "$(tasks.make.results.uri)",
			`reads result "uri", which task "make" does not write`},
		{"a result of another type", "{name: url, type: string}", "{name: url, type: array}",
			`reads result "url" of task "make" as text, but it is array`},
		{"a workspace of the Task left open", "workspaces: [{name: run, workspace: run}, ", "workspaces: [",
			`task make does not bind workspace "run"`},
		{"a workspace of the Pipeline left open", "- {name: run, emptyDir: {}}", "", `does not bind workspace "run"`},
		{"a workspace that nobody declares", "- {name: run, emptyDir: {}}",
			"- {name: run, emptyDir: {}}\n  - {name: rum, emptyDir: {}}", `binds workspace "rum"`},
		{"a ConfigMap that is not there", "configMap: {name: plan}", "configMap: {name: plam}",
			`workspace "plan" is ConfigMap "plam", which is not there`},
		{"a Task that is not there", "taskRef: {name: make}", "taskRef: {name: made}",
			`task "make" refers to Task "made", which is not there`},
		{"a Pipeline that is not there", "pipelineRef: {name: flow}", "pipelineRef: {name: flaw}",
			`refers to Pipeline "flaw", which is not there`},
		{"a timeout for a task that is not there", "pipelineTaskName: use", "pipelineTaskName: usage",
			`taskRunSpecs names task "usage"`},
		{"an unknown runAfter", "runAfter: [make]", "runAfter: [mark]", "mark"},
		{"a variable that nobody declares", "$(params.size)", "$(params.sice)", `non-existent variable`},
		{"tasks longer than the pipeline", "tasks: 30m", "tasks: 3h", "timeouts"},
		{"a value that the schema refuses", "name: size, type: string", "name: size, type: [string]", "reading document"},
		{"root", "runAsNonRoot: true", "runAsNonRoot: false", "pod security: runAsNonRoot != true"},
		{"a kept capability", "drop: [ALL]", "drop: [CHOWN]", "pod security: unrestricted capabilities"},
		{"a name no label can hold", "name: flow #", "name: f" + strings.Repeat("l", 70) + " #",
			"has more than 63 characters"},
		{"a label no server takes", "team: search", "team: -search-", "metadata.labels"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if !strings.Contains(base, row.old) {
				t.Fatalf("the sound bundle does not hold %q", row.old)
			}
			err := c.Stream(strings.NewReader(strings.Replace(base, row.old, row.new, 1)))
			if err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("got %v\nwant an error with %q", err, row.want)
			}
		})
	}
}
