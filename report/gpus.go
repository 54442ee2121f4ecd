package report

import (
	"strconv"

	"bflow.dev/bflow/runplan"
)

// GPUs returns the model and the number of the GPUs that a plan uses, "" and 0 where it uses none or does not say.
// The model is the label "accelerator" of the experiment or the tag of that name.
func GPUs(p *runplan.RunPlan) (model string, count int) {
	model = p.Labels["accelerator"]
	if model == "" {
		model = p.Sinks.MLflow.Tags["accelerator"]
	}
	for _, resource := range []string{"nvidia.com/gpu", "amd.com/gpu", "habana.ai/gaudi"} {
		if n, err := strconv.Atoi(p.Queue.Requests[resource]); err == nil {
			count += n
		}
	}
	return model, count
}
