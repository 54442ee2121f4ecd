package compile

import (
	"bflow.dev/bflow/runplan"
)

// eachMatrix emits the objects of plans: those of one experiment that stand together as a matrix, a plan that stands
// alone as a run.
func (c *compiler) eachMatrix(plans Plans, e *emitter) error {
	var m *gathering
	var alone Objects
	flush := func() error {
		switch {
		case m == nil:
			return nil
		case m.out.Points == 1:
			return e.objects(alone)
		}
		out, err := m.close()
		if err != nil {
			return err
		}
		return e.matrix(out)
	}
	for plan, err := range plans {
		if err != nil {
			return err
		}
		if m != nil && !c.together(m.first, plan) {
			if err := flush(); err != nil {
				return err
			}
			m = nil
		}
		if m == nil {
			m = c.newMatrix()
		}
		objs, err := c.compile(plan)
		if err != nil {
			return err
		}
		alone = objs
		if err := m.addCompiled(plan, objs); err != nil {
			return err
		}
	}
	return flush()
}

// together says whether two plans belong to one matrix.
func (c *compiler) together(a, b *runplan.RunPlan) bool {
	return a.Experiment == b.Experiment && a.Target.Namespace == b.Target.Namespace && len(a.Axes) == len(b.Axes)
}

func (e *emitter) matrix(m MatrixObjects) error {
	for _, t := range m.Tasks {
		if err := e.once("Task", &t.ObjectMeta, t); err != nil {
			return err
		}
	}
	for _, p := range m.Pipelines {
		if err := e.once("Pipeline", &p.ObjectMeta, p); err != nil {
			return err
		}
	}
	for _, cm := range m.Plans {
		if err := e.once("ConfigMap", &cm.ObjectMeta, cm); err != nil {
			return err
		}
	}
	return e.object("PipelineRun", m.Parent.GenerateName, m.Parent)
}
