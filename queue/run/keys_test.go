package run_test

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"bflow.dev/bflow/queue/run"
	"bflow.dev/bflow/runplan/contract"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the table into the policy and the guide anew")

// TestTheTableIsWritten keeps the policy and the guide at what the table says.
func TestTheTableIsWritten(t *testing.T) {
	for _, row := range []struct{ file, from, to, want string }{
		{"../../bootstrap/overlays/base/policy.yaml", "  - name: rules ", "  - name: changed ", expression()},
		{"../../docs/queue.md", "## Keys of a run", "## The controller", section()},
	} {
		have, err := os.ReadFile(row.file)
		if err != nil {
			t.Fatal(err)
		}
		before, rest, begins := strings.Cut(string(have), row.from)
		heading, rest, _ := strings.Cut(rest, "\n")
		_, after, ends := strings.Cut(rest, row.to)
		if !begins || !ends {
			t.Fatalf("%s has no place for the table, from %q to %q", row.file, row.from, row.to)
		}
		want := before + row.from + heading + "\n" + row.want + row.to + after
		if *update {
			if err := os.WriteFile(row.file, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
		} else if diff := cmp.Diff(string(have), want); diff != "" {
			t.Errorf("%s is not what the table says, make generate writes it (-have +want):\n%s", row.file, diff)
		}
	}
}

// sorted are the keys of a rule.
func sorted(rule run.KeyRule) []run.MetadataKey {
	table := run.KeyTable()
	maps.DeleteFunc(table, func(_ run.MetadataKey, r run.KeyRule) bool { return r != rule })
	return slices.SortedFunc(maps.Keys(table), func(a, b run.MetadataKey) int {
		return strings.Compare(a.String(), b.String())
	})
}

// expression is the variable of the policy.
func expression() string {
	var entries []string
	for _, rule := range run.KeyRules() {
		for _, key := range sorted(rule) {
			entries = append(entries, fmt.Sprintf("'%s': '%s'", key, rule))
		}
	}
	return "    expression: >-\n      {" + strings.Join(entries, ",\n      ") + "}\n"
}

// section is the part of the guide.
func section() string {
	var b strings.Builder
	b.WriteString(`
The API server accepts only the labels and annotations below, each only from the writer that the table names
(ValidatingAdmissionPolicy ` + "`bflow-runs`" + `). This applies to keys under ` + "`bflow.dev/`" + ` of every PipelineRun in a
namespace of runs, and to keys under ` + "`kueue.x-k8s.io/`" + ` of runs. The controller holds the points of a matrix to the
same table. Other keys are not restricted.

| written by | labels | annotations |
|---|---|---|
`)
	for _, rule := range run.KeyRules() {
		cells := map[run.KeyKind][]string{}
		for _, key := range sorted(rule) {
			cells[key.Kind] = append(cells[key.Kind], "`"+strings.TrimPrefix(key.Name, contract.Prefix)+"`")
		}
		fmt.Fprintf(&b, "| %s | %s | %s |\n", rule.Sentence(), strings.Join(cells[run.LabelKey], " "),
			strings.Join(cells[run.AnnotationKey], " "))
	}
	b.WriteString("\n")
	return b.String()
}

func TestWhatWhoeverSubmitsARunMustNotWrite(t *testing.T) {
	for _, row := range []struct {
		name                string
		labels, annotations map[string]string
		want                string
	}{
		{name: "what the compiler writes", labels: map[string]string{contract.LabelPlanHash: "h",
			contract.LabelQueue: "local", contract.LabelTarget: "local"},
			annotations: map[string]string{contract.AnnotationRequests: "{}"}},
		{name: "keys of others", labels: map[string]string{"tekton.dev/pipeline": "p", "team": "a"},
			annotations: map[string]string{"kubectl.kubernetes.io/x": "y"}},
		{name: "that it was freed", annotations: map[string]string{contract.AnnotationFreed: "now"},
			want: "annotation bflow.dev/freed is written by bflow-controller only"},
		{name: "whose devices it has", labels: map[string]string{contract.LabelRun: "other"},
			want: "label bflow.dev/run is written by bflow-controller only"},
		{name: "a key of its own", labels: map[string]string{"bflow.dev/mine": "x"},
			want: "label bflow.dev/mine is not one that a run may carry"},
		{name: "a label as an annotation", annotations: map[string]string{contract.LabelTarget: "x"},
			want: "annotation bflow.dev/target is not one that a run may carry"},
		{name: "a gate of Kueue", annotations: map[string]string{"kueue.x-k8s.io/admission-gated-by": "x"},
			want: "annotation kueue.x-k8s.io/admission-gated-by is not one that a run may carry"},
	} {
		t.Run(row.name, func(t *testing.T) {
			err := run.CheckSubmittedKeys(row.labels, row.annotations)
			if got := fmt.Sprint(err); row.want == "" && err != nil || row.want != "" && got != row.want {
				t.Errorf("got %q, want %q", got, row.want)
			}
			labels, annotations := run.SubmittedKeys(row.labels, row.annotations)
			if err := run.CheckSubmittedKeys(labels, annotations); err != nil {
				t.Errorf("what is kept of it: %v", err)
			}
		})
	}
}
