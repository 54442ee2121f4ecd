package doctor

import (
	"context"
	"fmt"
	"io"
	"slices"

	install "bflow.dev/bflow/bootstrap"
	"bflow.dev/bflow/runplan/contract"
)

// targets checks the rights on other clusters. Their administrators give them, so that after an upgrade of the hub a
// target may lack rights.
func (d *doctor) targets(ctx context.Context) []Line {
	const check = "targets"
	hub, err := install.New(d.client, io.Discard)
	if err != nil {
		return unreadable(check, err)
	}
	all, err := hub.Targets(ctx, d.Version)
	if err != nil {
		return unreadable(check, err)
	}
	var lines []Line
	others := 0
	for _, t := range all {
		if t.Name == contract.TargetLocal {
			continue
		}
		others++
		if slices.Contains(t.Lacks, d.Namespace) {
			remedy := fmt.Sprintf("run bflow target add %s --kubeconfig FILE with the kubeconfig of an administrator", t.Name)
			lines = append(lines, warn(check, remedy,
				"the service accounts of bflow on target %q lack permissions that this version needs for runs of namespace %s",
				t.Name, d.Namespace))
		}
	}
	if len(lines) == 0 && others > 0 {
		return []Line{ok(check, "targets other than the hub: %d, with the permissions that this version needs", others)}
	}
	return lines
}
