package spec

import "bflow.dev/bflow/tasks/runplan"

// RunPlan is a resolved plan given as input. Both apiVersion and api_version are read.
type RunPlan struct {
	Doc
	Plan runplan.RunPlan
}
