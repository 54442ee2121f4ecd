package cluster

import (
	"slices"
	"strings"

	"bflow.dev/bflow/internal/kube"
	queuerun "bflow.dev/bflow/queue/run"
	"bflow.dev/bflow/runplan/contract"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
)

// view is what is known of the followed runs of one namespace.
type view struct {
	namespace string
	ids       []string
	plans     []string // label values of their plans, each once
	listed    struct{ runs, tasks bool }

	attempts map[string]tektonv1.PipelineRun // by name
	taskRuns map[string]tektonv1.TaskRun     // by name
}

// viewsOf sorts runs by their namespaces, in the order in which these are first met.
func viewsOf(runs []*Run) []*view {
	var all []*view
	for _, r := range runs {
		i := slices.IndexFunc(all, func(v *view) bool { return v.namespace == r.Namespace })
		if i < 0 {
			i = len(all)
			all = append(all, &view{namespace: r.Namespace, attempts: map[string]tektonv1.PipelineRun{},
				taskRuns: map[string]tektonv1.TaskRun{}})
		}
		v := all[i]
		v.ids = append(v.ids, r.ID)
		if plan := r.Last().Labels[contract.LabelPlanHash]; !slices.Contains(v.plans, plan) {
			v.plans = append(v.plans, plan)
		}
	}
	return all
}

// manyPlans is how many fit into the address of a watch; beyond it everything of bflow's is watched.
const manyPlans = 40

// selected selects the PipelineRuns, and the TaskRuns, which inherit the labels of theirs. All attempts of a run have
// its plan from the moment that they are made; the name of the run they get later, from the controller.
func (v *view) selected() kube.Selector {
	if len(v.plans) > manyPlans {
		return kube.Labels(ours)
	}
	return kube.Labels(contract.LabelPlanHash + " in (" + strings.Join(v.plans, ",") + ")")
}

func (v *view) runs(all []*tektonv1.PipelineRun) {
	clear(v.attempts)
	v.listed.runs = true
	for _, pr := range all {
		if slices.Contains(v.ids, queuerun.ID(pr)) {
			v.attempts[pr.Name] = *pr
		}
	}
}

func (v *view) tasks(all []*tektonv1.TaskRun) {
	clear(v.taskRuns)
	v.listed.tasks = true
	for _, tr := range all {
		v.taskRuns[tr.Name] = *tr
	}
}
