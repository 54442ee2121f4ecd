package waiting

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"bflow.dev/bflow/queue/run"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

type edit func(*kueue.Workload)

func makeWorkload(name string, second int64, edits ...edit) kueue.Workload {
	wl := kueue.Workload{
		ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "bench", UID: types.UID(name),
			CreationTimestamp: metav1.Time{Time: time.Unix(second, 0)}},
		Spec: kueue.WorkloadSpec{QueueName: "local", PodSets: []kueue.PodSet{
			{Count: 1, Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
				Containers: []corev1.Container{{Resources: corev1.ResourceRequirements{
					Requests: corev1.ResourceList{"nvidia.com/gpu": resource.MustParse("4")}}}},
			}}}}},
	}
	for _, e := range edits {
		e(&wl)
	}
	return wl
}

func condition(kind string, status metav1.ConditionStatus, reason, message string) edit {
	return func(wl *kueue.Workload) {
		wl.Status.Conditions = append(wl.Status.Conditions, metav1.Condition{
			Type: kind, Status: status, Reason: reason, Message: message,
			LastTransitionTime: metav1.Time{Time: time.Unix(1000, 0)},
		})
	}
}

func withPriority(p int32) edit { return func(wl *kueue.Workload) { wl.Spec.Priority = &p } }

func inactive(wl *kueue.Workload) { wl.Spec.Active = new(bool) }

func check(state kueue.CheckState, message string) edit {
	return func(wl *kueue.Workload) {
		wl.Status.AdmissionChecks = append(wl.Status.AdmissionChecks,
			kueue.AdmissionCheckState{Name: "bflow-local", State: state, Message: message})
	}
}

func TestKueuesOrder(t *testing.T) {
	reserved := condition(kueue.WorkloadQuotaReserved, "True", "QuotaReserved", "")
	later := func(wl *kueue.Workload) {
		wl.Status.Conditions[0].LastTransitionTime.Time = wl.Status.Conditions[0].LastTransitionTime.Add(time.Hour)
	}
	all := []kueue.Workload{
		makeWorkload("younger", 3), makeWorkload("older", 1), makeWorkload("urgent", 9, withPriority(5)),
		makeWorkload("sent-back", 0, condition(kueue.WorkloadEvicted, "True", kueue.WorkloadEvictedByAdmissionCheck, "")),
		makeWorkload("unstartable", 0, condition(kueue.WorkloadEvicted, "True", kueue.WorkloadEvictedByPodsReadyTimeout, ""),
			later),
		makeWorkload("running", 0, reserved), makeWorkload("over", 0,
			condition(kueue.WorkloadFinished, "True", "Succeeded", "")),
		makeWorkload("out", 0, inactive),
	}
	var names []string
	for _, wl := range Waiting(all) {
		names = append(names, wl.Name)
	}
	if got := strings.Join(names, " "); got != "urgent older younger sent-back unstartable" {
		t.Errorf("got %q", got)
	}
}

func TestPlacesFarBackChangeSeldom(t *testing.T) {
	for _, row := range []struct {
		n, before int
		exact     bool
	}{{1, 0, true}, {10, 9, true}, {11, 10, false}, {20, 10, false}, {21, 20, false}, {50, 20, false}, {51, 50, false},
		{101, 100, false}, {1999, 1000, false}, {2001, 2000, false}} {
		if before, exact := Before(row.n); before != row.before || exact != row.exact {
			t.Errorf("place %d: got %d, %v", row.n, before, exact)
		}
	}
	writes, last := 0, ""
	for n := 2000; n > 0; n-- { // the way of the last of 2000 runs to the front
		before, exact := Before(n)
		if text := fmt.Sprint(before, exact); text != last {
			writes, last = writes+1, text
		}
	}
	if writes > 20 {
		t.Errorf("one run was written %d times on its way to the front", writes)
	}
}

func TestWords(t *testing.T) {
	pending := func(reason, message string) edit {
		return condition(kueue.WorkloadQuotaReserved, "False", reason, message)
	}
	reserved := condition(kueue.WorkloadQuotaReserved, "True", "QuotaReserved", "")
	waits := pending(kueue.WorkloadQuotaReservedReasonWaitingForQuota,
		"couldn't assign flavors to pod set run: insufficient unused quota")
	admitted := condition(kueue.WorkloadAdmitted, "True", "Admitted", "")
	unstarted := condition(kueue.WorkloadEvicted, "True", kueue.WorkloadEvictedByPodsReadyTimeout,
		`the target has no namespace "bench"`)
	again := func(wl *kueue.Workload) {
		wl.Status.RequeueState = &kueue.RequeueState{RequeueAt: &metav1.Time{Time: time.Unix(300, 0)}}
	}
	for _, row := range []struct {
		name, kind, want string
		edits            []edit
		place            int
	}{
		{"the first waits for devices", KindNext, `Next in queue "local", waits for 4 nvidia.com/gpu`, []edit{waits}, 1},
		{"others wait for their turn", KindQueued, `Place 3 in queue "local", waits for 4 nvidia.com/gpu`, []edit{waits}, 3},
		{"far back the place is rounded", KindQueued, `At least 20 before it in queue "local", waits for 4 nvidia.com/gpu`,
			[]edit{waits}, 37},
		{"more than there is", KindTooBig,
			`It cannot start here: it asks for 4 nvidia.com/gpu. request > maximum capacity (4 > 2)`,
			[]edit{pending(kueue.WorkloadQuotaReservedReasonExceedsMaxQuota, "request > maximum\n capacity (4 > 2)")}, 1},
		{"no such queue", KindNotQueued, `Not queued in "local": LocalQueue local doesn't exist`,
			[]edit{pending(kueue.WorkloadQuotaReservedReasonMisconfigured, "LocalQueue local doesn't exist")}, 0},
		{"a check that has not answered", KindChecked, `Its quota is reserved; bflow-local: no answer yet`,
			[]edit{reserved, check(kueue.CheckStatePending, "")}, 0},
		{"a check that waits", KindChecked, `Its quota is reserved; bflow-local: no node has 4 free GPUs`,
			[]edit{reserved, check(kueue.CheckStatePending, "no node has 4 free GPUs")}, 0},
		{"checks that are done", KindChecked, `Its quota is reserved; it starts soon`,
			[]edit{reserved, check(kueue.CheckStateReady, "")}, 0},
		{"set aside", KindTooBig,
			`Set aside so that other runs can start: it asks for 16 x, and target "local" has 8 in all; it is queued again ` +
				`as soon as there is enough`,
			[]edit{waits, inactive, func(wl *kueue.Workload) {
				wl.Annotations = map[string]string{run.AnnotationTooBig: `asks for 16 x, and target "local" has 8 in all`}
			}}, 0},
		{"deactivated", KindDeactivated, `Taken out of the queue: its Workload is deactivated`, []edit{waits, inactive}, 0},
		{"sent back, and giving its quota back", KindSentBack,
			`Sent back, so that others go first: it was admitted and could not be started: the target has no namespace "bench"`,
			[]edit{reserved, admitted, unstarted}, 0},
		{"sent back, and not queued for a while", KindSentBack,
			`Sent back, so that others go first: it was admitted and could not be started: ` +
				`the target has no namespace "bench"; it queues again at 00:05:00 UTC`,
			[]edit{pending("Pending", ""), unstarted, again}, 4},
		{"sent back, and queued again", KindNext, `Next in queue "local", waits for 4 nvidia.com/gpu; ` +
			`it was admitted before and could not be started: the target has no namespace "bench"`, []edit{waits, unstarted}, 1},
		{"admitted again", KindStarting, `Admitted; it starts now`, []edit{reserved, admitted}, 0},
		{"not looked at yet", KindNoController, `Place 2 in queue "local", waits for 4 nvidia.com/gpu`, nil, 2},
	} {
		t.Run(row.name, func(t *testing.T) {
			wl := makeWorkload("w", 1, row.edits...)
			if got := Explain(&wl, row.place); got.Kind != row.kind || got.Text != row.want {
				t.Errorf("got %s: %s", got.Kind, got.Text)
			}
		})
	}
}
