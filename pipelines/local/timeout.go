package local

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// defaultTimeout is Tekton's for a TaskRun and for a PipelineRun that name none.
const defaultTimeout = 60 * time.Minute

// taskTimeout returns the timeout of one TaskRun of the pipeline task name; 0 is none.
func (p *program) taskTimeout(name string) time.Duration {
	if t := p.run.GetTaskRunSpec(name).Timeout; t != nil {
		return t.Duration
	}
	phase := p.run.TasksTimeout()
	for _, pt := range p.all() {
		if pt.Name == name && pt.Timeout != nil {
			return pt.Timeout.Duration
		}
	}
	if p.isFinally(name) {
		phase = p.run.FinallyTimeout()
	}
	// A phase shorter than the default needs no timeout of its own: the phase ends first.
	if phase != nil && (phase.Duration == 0 || phase.Duration > defaultTimeout) {
		return phase.Duration
	}
	return defaultTimeout
}

func (p *program) isFinally(name string) bool {
	for _, pt := range p.spec.Finally {
		if pt.Name == name {
			return true
		}
	}
	return false
}

func phaseTimeout(d *metav1.Duration) time.Duration {
	if d == nil {
		return 0
	}
	return d.Duration
}
