package cluster_test

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	"bflow.dev/bflow/internal/apitest"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/runs/cluster"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	corev1 "k8s.io/api/core/v1"
)

// annotated adds an annotation.
func annotated(key, value string) func(*tektonv1.PipelineRun) {
	return func(pr *tektonv1.PipelineRun) {
		if pr.Annotations == nil {
			pr.Annotations = map[string]string{}
		}
		pr.Annotations[key] = value
	}
}

// queued lets the run be of a queue, for two devices.
func queued(queue string) func(*tektonv1.PipelineRun) {
	return func(pr *tektonv1.PipelineRun) {
		pr.Labels[contract.LabelQueue] = queue
		annotated(contract.AnnotationRequests, `{"nvidia.com/gpu":"2"}`)(pr)
	}
}

func TestAWaitingRunSaysWhoHoldsWhatItWaitsFor(t *testing.T) {
	at := func(minute int) string {
		return time.Date(2026, 11, 25, 12, minute, 0, 0, time.UTC).Format(time.RFC3339)
	}
	reason := func(place int) func(*tektonv1.PipelineRun) {
		return annotated(contract.AnnotationReason, fmt.Sprintf(`Place %d in queue "local", waits for 2 nvidia.com/gpu`,
			place))
	}
	waits := func(name string, place int) *tektonv1.PipelineRun {
		return makeRun(name, queued("local"), pending, reason(place))
	}
	admitted := func(name string, minute int, more ...func(*tektonv1.PipelineRun)) *tektonv1.PipelineRun {
		return makeRun(name, append([]func(*tektonv1.PipelineRun){queued("local"),
			annotated(contract.AnnotationAdmitted, at(minute))}, more...)...)
	}
	ended := condition(corev1.ConditionTrue, "Succeeded", "")
	elsewhere := admitted("of-a-team", 2)
	elsewhere.Namespace = "team"
	far := admitted("elsewhere", 3)
	far.Labels[contract.LabelQueue] = "far"
	for _, row := range []struct {
		name   string
		denied bool
		want   string
	}{
		{"whoever sees all runs", false,
			"of-a-team 2 since 12:02; holds 2 since 12:05; ends 2 since 12:07 ending | first 2; second 3 | hidden false"},
		{"whoever sees one namespace", true,
			"holds 2 since 12:05; ends 2 since 12:07 ending | first 2; second 3 | hidden true"},
	} {
		t.Run(row.name, func(t *testing.T) {
			srv, c := newCluster(t)
			for _, pr := range []*tektonv1.PipelineRun{waits("r", 4), waits("second", 3), waits("first", 2), waits("later", 5),
				admitted("holds", 5), admitted("ends", 7, ended), admitted("freed", 1, annotated(contract.AnnotationFreed, at(3))),
				admitted("released", 1, ended, annotated(contract.AnnotationReleased, at(3))), elsewhere, far} {
				srv.Put("/apis/tekton.dev/v1/namespaces/"+pr.Namespace+"/pipelineruns/"+pr.Name, pr)
			}
			if row.denied {
				srv.Refuse(func(q apitest.Request) (int, string) {
					if q.Path == "/apis/tekton.dev/v1/pipelineruns" {
						return http.StatusForbidden, "not yours"
					}
					return 0, ""
				})
			}
			run, err := c.Find(t.Context(), "r", namespace)
			if err != nil {
				t.Fatal(err)
			}
			s, err := c.Status(t.Context(), run)
			if err != nil || s.Queue.Neighbours == nil {
				t.Fatalf("%+v, %v", s.Queue, err)
			}
			if got := render(s.Queue.Neighbours); got != row.want {
				t.Errorf("got  %s\nwant %s", got, row.want)
			}
		})
	}
}

func render(near *cluster.Neighbours) string {
	text := ""
	for i, n := range near.Holders {
		if i > 0 {
			text += "; "
		}
		text += fmt.Sprintf("%s %s since %s", n.Run, n.Requests["nvidia.com/gpu"], n.Since.Format("15:04"))
		if n.Ending {
			text += " ending"
		}
	}
	text += " | "
	for i, n := range near.Before {
		if i > 0 {
			text += "; "
		}
		text += fmt.Sprintf("%s %d", n.Run, n.Place)
	}
	return text + fmt.Sprintf(" | hidden %v", near.Hidden)
}
