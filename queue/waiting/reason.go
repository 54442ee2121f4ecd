package waiting

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"bflow.dev/bflow/queue/run"
	"bflow.dev/bflow/runplan/contract"

	corev1 "k8s.io/api/core/v1"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

// Reason is why a run waits. Kind changes seldom and is what an event tells of; Text is the whole sentence.
type Reason struct {
	Kind string
	Text string
}

// Kinds of Reason.
const (
	KindQueued       = "Queued"       // others come first
	KindNext         = "Next"         // it is the first, and its devices are not free
	KindChecked      = "Checked"      // its quota is reserved; its target is looked at
	KindTooBig       = "TooBig"       // it asks for more than there is
	KindNotQueued    = "NotQueued"    // its queue is missing, stopped or misconfigured
	KindDeactivated  = "Deactivated"  // somebody took it out of the queue
	KindSentBack     = "SentBack"     // it was admitted, could not be let start, and lets others go first
	KindStarting     = "Starting"     // everything is there
	KindNoController = "NoController" // Kueue has not looked at it
)

// Explain says why the run of wl waits; place is its place in the queue, from 1, or 0 for none.
func Explain(wl *kueue.Workload, place int) Reason {
	reserved := apimeta.FindStatusCondition(wl.Status.Conditions, kueue.WorkloadQuotaReserved)
	lack := wl.Annotations[run.AnnotationTooBig]
	switch {
	case !active(wl) && lack != "":
		return Reason{KindTooBig, tidy("Set aside so that other runs can start: it " + lack +
			"; it is queued again as soon as there is enough")}
	case !active(wl):
		return Reason{KindDeactivated, "Taken out of the queue: its Workload is deactivated"}
	case unstartable(wl) != "" && (isInBackoff(wl) || apimeta.IsStatusConditionTrue(wl.Status.Conditions,
		kueue.WorkloadQuotaReserved)):
		return Reason{KindSentBack, sentBack(wl)}
	case apimeta.IsStatusConditionTrue(wl.Status.Conditions, kueue.WorkloadAdmitted):
		return Reason{KindStarting, "Admitted; it starts now"}
	case reserved != nil && reserved.Status == "True":
		return Reason{KindChecked, checks(wl)}
	case reserved == nil:
		return Reason{KindNoController, queued(wl, place)}
	}
	if wl.Spec.QueueName == contract.TargetAny {
		return Reason{KindNotQueued,
			"Waits for a target: none of those that it allows can take it now; bflow target list says why"}
	}
	switch reserved.Reason {
	case kueue.WorkloadQuotaReservedReasonExceedsMaxQuota, kueue.WorkloadQuotaReservedReasonNoMatchingFlavor:
		return Reason{KindTooBig, fmt.Sprintf("It cannot start here: it asks for %s. %s", asks(wl), tidy(reserved.Message))}
	case kueue.WorkloadQuotaReservedReasonMisconfigured, kueue.WorkloadQuotaReservedReasonSuspended,
		kueue.WorkloadInadmissible:
		return Reason{KindNotQueued, fmt.Sprintf("Not queued in %q: %s", wl.Spec.QueueName, tidy(reserved.Message))}
	}
	if place == 1 {
		return Reason{KindNext, fmt.Sprintf("Next in queue %q, waits for %s", wl.Spec.QueueName, asks(wl)) + before(wl)}
	}
	return Reason{KindQueued, queued(wl, place) + before(wl)}
}

// isInBackoff says whether Kueue lets the Workload wait before it queues it again.
func isInBackoff(wl *kueue.Workload) bool {
	return wl.Status.RequeueState != nil && wl.Status.RequeueState.RequeueAt != nil
}

// sentBack is what keeps a run that could not be let start, and when it is tried again.
func sentBack(wl *kueue.Workload) string {
	text := "Sent back, so that others go first: it was admitted and could not be started: " + tidy(unstartable(wl))
	if isInBackoff(wl) {
		text += "; it queues again at " + wl.Status.RequeueState.RequeueAt.UTC().Format(time.TimeOnly+" UTC")
	}
	return text
}

// before is what kept a run that queues again, "" for one that was not sent back.
func before(wl *kueue.Workload) string {
	if why := unstartable(wl); why != "" {
		return "; it was admitted before and could not be started: " + tidy(why)
	}
	return ""
}

func queued(wl *kueue.Workload, n int) string {
	if n == 0 {
		return fmt.Sprintf("Waits in queue %q for %s", wl.Spec.QueueName, asks(wl))
	}
	if before, exact := Before(n); !exact {
		return fmt.Sprintf("At least %d before it in queue %q, waits for %s", before, wl.Spec.QueueName, asks(wl))
	}
	return fmt.Sprintf("Place %d in queue %q, waits for %s", n, wl.Spec.QueueName, asks(wl))
}

// asks is what a Workload asks for, such as "4 nvidia.com/gpu".
func asks(wl *kueue.Workload) string {
	total := corev1.ResourceList{}
	for _, set := range wl.Spec.PodSets {
		for _, container := range set.Template.Spec.Containers {
			for name, amount := range container.Resources.Requests {
				sum := total[name]
				for range set.Count {
					sum.Add(amount)
				}
				total[name] = sum
			}
		}
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(total)) {
		amount := total[name]
		parts = append(parts, amount.String()+" "+string(name))
	}
	if len(parts) == 0 {
		return "its turn"
	}
	return strings.Join(parts, " and ")
}

// checks are what the checks of the target say.
func checks(wl *kueue.Workload) string {
	var parts []string
	for _, check := range wl.Status.AdmissionChecks {
		if check.State != kueue.CheckStateReady {
			said := tidy(check.Message)
			if said == "" {
				said = "no answer yet"
			}
			parts = append(parts, fmt.Sprintf("%s: %s", check.Name, said))
		}
	}
	if len(parts) == 0 {
		return "Its quota is reserved; it starts soon"
	}
	return "Its quota is reserved; " + strings.Join(parts, "; ")
}

// tidy shortens what Kueue says to one line.
func tidy(message string) string {
	const most = 300
	message = strings.Join(strings.Fields(message), " ")
	if runes := []rune(message); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return message
}
