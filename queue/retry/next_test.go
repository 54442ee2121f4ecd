package retry

import (
	"maps"
	"testing"

	"bflow.dev/bflow/queue/run"
	"bflow.dev/bflow/runplan/contract"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestTheNextAttemptBelongsToWhoeverStartedTheFirst(t *testing.T) {
	next := Next(&tektonv1.PipelineRun{ObjectMeta: metav1.ObjectMeta{Name: "r",
		Labels:          map[string]string{contract.LabelPlanHash: "abc", contract.LabelParent: "start"},
		Annotations:     map[string]string{contract.AnnotationStarted: "jane", contract.AnnotationReleased: "now"},
		OwnerReferences: []metav1.OwnerReference{{Kind: "PipelineRun", Name: "start", UID: "u"}}}})
	if len(next.OwnerReferences) != 1 || next.OwnerReferences[0].Name != "start" ||
		next.Labels[contract.LabelParent] != "start" {
		t.Errorf("owners %v, labels %v", next.OwnerReferences, next.Labels)
	}
	if next.Annotations[contract.AnnotationStarted] != "jane" || next.Annotations[contract.AnnotationReleased] != "" {
		t.Errorf("annotations %v", next.Annotations)
	}
}

func TestTheNextAttemptChoosesAmongAllTargetsOfTheRun(t *testing.T) {
	of := func(annotations map[string]string) *tektonv1.PipelineRun {
		return &tektonv1.PipelineRun{ObjectMeta: metav1.ObjectMeta{Name: "r", Annotations: annotations,
			Labels: map[string]string{
				contract.LabelPlanHash: "abc", contract.LabelQueue: "lost", contract.LabelTarget: "lost",
			}}}
	}
	for _, row := range []struct {
		name   string
		asked  map[string]string // what its annotations say of targets
		target string            // of the next attempt
	}{
		{"it names several", map[string]string{contract.AnnotationTargets: "lost,other", contract.AnnotationCacheKey: "k"},
			contract.TargetAny},
		{"it names labels", map[string]string{contract.AnnotationTargetSelector: "region=eu"}, contract.TargetAny},
		{"it names one", map[string]string{contract.AnnotationCacheKey: "k"}, "lost"},
	} {
		t.Run(row.name, func(t *testing.T) {
			first := of(maps.Clone(row.asked))
			first.Annotations[contract.AnnotationChosen] = "lost: nobody waits there"
			first.Annotations[contract.AnnotationAdmittedTo] = "lost"
			next := Next(first)
			if run.Queue(next) != row.target || run.Target(next) != row.target ||
				next.Annotations[contract.AnnotationChosen] != "" {
				t.Errorf("queue %q, target %q, annotations %v", run.Queue(next), run.Target(next), next.Annotations)
			}
			for key, want := range row.asked {
				if next.Annotations[key] != want {
					t.Errorf("annotation %s is %q, want %q", key, next.Annotations[key], want)
				}
			}
		})
	}
}

// TestTheNextAttemptKeepsWhatItsMakerWrote: whatever never changes of a run holds for each attempt at it.
func TestTheNextAttemptKeepsWhatItsMakerWrote(t *testing.T) {
	first := &tektonv1.PipelineRun{ObjectMeta: metav1.ObjectMeta{Name: "r", Labels: map[string]string{},
		Annotations: map[string]string{}}}
	table := run.KeyTable()
	for key := range table {
		if key.Kind == run.AnnotationKey {
			first.Annotations[key.Name] = "x"
		}
	}
	next := Next(first)
	for key, rule := range table {
		_, kept := next.Annotations[key.Name]
		point := key.Name == contract.AnnotationPoint || key.Name == contract.AnnotationMLflowParent
		if key.Kind == run.AnnotationKey && kept != (rule == run.RuleFixed || point) {
			t.Errorf("%s, which is written by %s: kept %v", key, rule.Sentence(), kept)
		}
	}
}
