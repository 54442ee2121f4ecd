//go:build e2e

package cluster

// labRun is a run, or another PipelineRun, on the cluster of a lab.
type labRun struct {
	l    *lab
	name string
}

// What a test does to a part of bflow or of a cluster, or asks of it.
type (
	controllers struct{ l *lab } // of bflow, and Deployments of others
	quota       struct{ l *lab } // GPUs, and the queues that promise them
	locks       struct{ l *lab } // of hubs, and of setups
	targets     struct{ l *lab } // of a hub
	teams       struct{ l *lab } // each with a namespace of runs
	tracking    struct{ l *lab } // MLflow
	auditLog    struct{ l *lab } // of the API server
)

func (l *lab) of(run string) labRun     { return labRun{l, run} }
func (l *lab) controllers() controllers { return controllers{l} }
func (l *lab) quota() quota             { return quota{l} }
func (l *lab) locks() locks             { return locks{l} }
func (l *lab) targets() targets         { return targets{l} }
func (l *lab) team() teams              { return teams{l} }
func (l *lab) mlflow() tracking         { return tracking{l} }
func (l *lab) auditLog() auditLog       { return auditLog{l} }
