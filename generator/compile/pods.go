package compile

import (
	"strconv"

	"bflow.dev/bflow/runplan"
)

// podsOf is annotation bflow.dev/pods: how the pods of the model server share what the run requests, which the sum does
// not tell: eight devices on one node are not four on each of two. "" where no pod takes a device.
func podsOf(plan *runplan.RunPlan) string {
	devices, err := runplan.Devices(&plan.Deployment)
	if err != nil || len(devices) == 0 || !plan.Execution.Phases.Deploy {
		return "" // a plan whose devices cannot be read has no requests of them either
	}
	requests := map[string]string{}
	for name, n := range devices {
		requests[name] = strconv.Itoa(n)
	}
	return mustJSON([]podShape{{Count: plan.Deployment.Replicas, Requests: requests}})
}

type podShape struct {
	Count    int               `json:"count"`
	Requests map[string]string `json:"requests"`
}
