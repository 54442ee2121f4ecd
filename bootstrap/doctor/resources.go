package doctor

import (
	"context"
	"fmt"
	"strings"

	"bflow.dev/bflow/bootstrap/detect"
)

// storage checks that volumes of runs can be provisioned.
func (d *doctor) storage(ctx context.Context) []Line {
	const check = "storage"
	classes, err := d.cluster.Storage(ctx)
	if err != nil {
		return unreadable(check, err)
	}
	var chosen []detect.Storage
	for _, c := range classes {
		if c.Default {
			chosen = append(chosen, c)
		}
	}
	remedy := "mark one: kubectl annotate storageclass NAME storageclass.kubernetes.io/is-default-class=true; or " +
		"compile with --results-claim"
	switch {
	case len(classes) == 0:
		return []Line{fail(check, "install a provisioner of volumes, or compile with --results-claim",
			"there is no StorageClass: the volume of a run would stay pending")}
	case len(chosen) == 0:
		return []Line{fail(check, remedy, "no StorageClass is the default: the volume of a run would stay pending")}
	case len(chosen) > 1:
		return []Line{warn(check, "leave the annotation on one of them",
			"%d StorageClasses are the default; the newest is used", len(chosen))}
	case chosen[0].Immediate && d.severalNodes(ctx):
		return []Line{warn(check, "use a class with volumeBindingMode WaitForFirstConsumer",
			"StorageClass %s binds a volume before its pods are scheduled, so they can only run where the volume is",
			chosen[0].Name)}
	default:
		return []Line{ok(check, "StorageClass %s (%s)", chosen[0].Name, chosen[0].Provisioner)}
	}
}

func (d *doctor) severalNodes(ctx context.Context) bool {
	n, err := d.readNodes(ctx)
	return err == nil && n.Count > 1
}

func (d *doctor) readNodes(ctx context.Context) (*detect.Nodes, error) {
	if d.nodes == nil {
		n, err := d.cluster.Nodes(ctx, d.api)
		if err != nil {
			return nil, err
		}
		d.nodes = &n
	}
	return d.nodes, nil
}

// gpus checks the accelerators of the nodes.
func (d *doctor) gpus(ctx context.Context) []Line {
	const check = "gpus"
	n, err := d.readNodes(ctx)
	if err != nil {
		return unreadable(check, err)
	}
	if len(n.Devices) == 0 {
		return []Line{
			warn(check, "install the GPU operator or device plugin of the vendor; endpoints and engine sim work without",
				"no node offers an accelerator")}
	}
	var lines []Line
	for _, g := range n.Devices {
		lines = append(lines, ok(check, "%s", describe(g)))
	}
	for _, i := range n.Ill {
		lines = append(lines,
			warn(check, fmt.Sprintf("check the log of the device plugin on node %s, and nvidia-smi or its equivalent", i.Node),
				"%d of %d %s on node %s are unhealthy and not offered", i.Count, i.Of, i.Resource, i.Node))
	}
	if len(n.Lost) > 0 {
		lines = append(lines, warn(check, "kubectl uncordon NODE, or see why it is not ready",
			"nodes with GPUs that accept no pods: %s", strings.Join(n.Lost, ", ")))
	}
	return lines
}

func describe(g detect.Device) string {
	text := fmt.Sprintf("%d %s on %d nodes", g.Total, g.Resource, g.Nodes)
	if g.Nodes == 1 {
		text = strings.TrimSuffix(text, "s")
	}
	if g.Product != "" {
		text += " (" + g.Product + ")"
	}
	return text
}
