package faults

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write docs/faults.md anew")

const page = "../../docs/faults.md"

func TestTheTableIsPrinted(t *testing.T) {
	if *update {
		if err := os.WriteFile(page, []byte(markdown()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	have, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(have), markdown()); diff != "" {
		t.Errorf("docs/faults.md is not up to date, make generate writes it (-have +want):\n%s", diff)
	}
}

const preface = `# How server faults show in a run

Each fault that the simulated engine can produce, and its effect on a run: when it is there from the start, and when it
begins in the middle of the load. "Harmless" means that a client must tolerate the fault: every request is ok and has
the right number of tokens. This page is generated from ` + "`e2e/faults`" + `, whose tests run every row.

| fault | from the start | in the middle of the load: request | verdict | exit code |
|---|---|---|---|---|
`

func markdown() string {
	var b strings.Builder
	b.WriteString(preface)
	for _, r := range table() {
		fmt.Fprintf(&b, "| `%s` | %s | %s | %s | %d |\n", r.kind, r.atStart.whole(), r.later.request(),
			r.later.judged(), r.later.exit)
	}
	return b.String()
}

// whole is the outcome in one cell.
func (o outcome) whole() string {
	if o.task != "" {
		return fmt.Sprintf("%s stops the run, exit code %d", o.task, o.exit)
	}
	if o == harmless() {
		return "harmless"
	}
	return fmt.Sprintf("%s, %s, exit code %d", o.request(), o.judged(), o.exit)
}

func (o outcome) request() string {
	if o.class == "" {
		return o.status
	}
	return fmt.Sprintf("%s, `%s`", o.status, o.class)
}

func (o outcome) judged() string {
	if o.finding == "" {
		return o.verdict
	}
	return fmt.Sprintf("%s (`%s`)", o.verdict, o.finding)
}
