// Package render writes what provision would create for plans, without a cluster. It shows the objects that package
// provision/cluster makes and must not make any of its own.
package render

import (
	"bytes"
	"fmt"
	"io"
	"path/filepath"

	"bflow.dev/bflow/generator/compile"
	"bflow.dev/bflow/internal/durable"
	"bflow.dev/bflow/platform"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/tasks/provision/cluster"
)

// Options are what the objects depend on besides the plan.
type Options struct {
	OpenShift bool
	SimImage  string // of the simulated engine, for plans that name none
}

// Write writes the objects of plans as YAML documents, in the order in which provision creates them.
func Write(w io.Writer, plans compile.Plans, o Options) error {
	return o.each(plans, func(_ string, text []byte) error {
		if _, err := w.Write(text); err != nil {
			return fmt.Errorf("writing objects: %w", err)
		}
		return nil
	})
}

// WriteDir writes a file of such documents for each plan, by its name. Files of an earlier call that are not written
// anew stay.
func WriteDir(dir string, plans compile.Plans, o Options) error {
	if err := durable.MkdirAll(dir); err != nil {
		return fmt.Errorf("writing objects: %w", err)
	}
	return o.each(plans, func(name string, text []byte) error {
		if err := durable.WriteFile(filepath.Join(dir, name+".yaml"), text); err != nil {
			return fmt.Errorf("writing objects: %w", err)
		}
		return nil
	})
}

func (o Options) each(plans compile.Plans, write func(name string, text []byte) error) error {
	for plan, err := range plans {
		if err != nil {
			return err
		}
		text, err := o.text(plan)
		if err == nil {
			err = write(plan.Name, text)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// text is the objects of a plan, for a run that has its name.
func (o Options) text(plan *runplan.RunPlan) ([]byte, error) {
	var out bytes.Buffer
	where, err := platform.All().Of(&plan.Deployment)
	if err != nil {
		return nil, fmt.Errorf("rendering %q: %w", plan.Name, err)
	}
	if !plan.Execution.Phases.Deploy || len(where.Modes) == 0 {
		fmt.Fprintf(&out, "# plan %s %s: bflow deploys nothing\n", plan.Name, plan.Hash)
		return out.Bytes(), nil
	}
	objects, err := cluster.Objects(plan, cluster.Run{ID: plan.Name, Attempt: 1, Target: plan.Target.Name},
		cluster.Rendering{Namespace: plan.Target.Namespace, OpenShift: o.OpenShift, SimImage: o.SimImage})
	if err != nil {
		return nil, err
	}
	text, err := cluster.YAML(objects)
	fmt.Fprintf(&out, "# plan %s %s, of a run that is called %s\n%s", plan.Name, plan.Hash, plan.Name, text)
	return out.Bytes(), err
}
