package run

//go:generate go test . -run TestTheTableIsWritten -update

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"bflow.dev/bflow/runplan/contract"
)

// PrefixKueue is that of the keys that Kueue reads. Of a PipelineRun that is no run of bflow they are nobody's
// business.
const PrefixKueue = "kueue.x-k8s.io/"

// KeyKind is where a key stands.
type KeyKind string

// Kinds of keys.
const (
	LabelKey      KeyKind = "label"
	AnnotationKey KeyKind = "annotation"
)

// KeyRule says who writes a key, and when. Its text is that of the policy.
type KeyRule string

// KeyRules. The controller may write what nobody else may; what never changes it does not change either.
const (
	// RuleFixed is written by whoever makes the PipelineRun, with it, and never changes.
	RuleFixed KeyRule = "fixed"
	// RuleQueued is written by whoever makes the PipelineRun, and by anybody who may change it while it waits.
	RuleQueued KeyRule = "queued"
	// RulePlaced is written by whoever makes the PipelineRun, and by the controller while it waits and as it is let
	// start.
	RulePlaced KeyRule = "placed"
	// RuleWish is written by anybody at any time, and not taken back.
	RuleWish KeyRule = "wish"
	// RuleIdentity is written by the controller, once.
	RuleIdentity KeyRule = "identity"
	// RuleController is written by the controller at any time.
	RuleController KeyRule = "controller"
)

// KeyRules are all of them, in the order in which the guide shows them.
func KeyRules() []KeyRule {
	return []KeyRule{RuleFixed, RuleQueued, RulePlaced, RuleWish, RuleIdentity, RuleController}
}

// Sentence says to a person who writes a key of such a rule.
func (r KeyRule) Sentence() string {
	switch r {
	case RuleFixed:
		return "whoever creates the PipelineRun, on creation; immutable from then on"
	case RuleQueued:
		return "whoever creates the PipelineRun, and whoever may change it while it waits; immutable once it has started"
	case RulePlaced:
		return "whoever creates the PipelineRun, and the controller while it waits; immutable once it has started"
	case RuleWish:
		return "whoever may change the PipelineRun, at any time; it cannot be removed"
	case RuleIdentity:
		return "the controller, once"
	case RuleController:
		return "the controller"
	}
	return string(r)
}

// BySubmitter says whether whoever makes a PipelineRun may write such a key.
func (r KeyRule) BySubmitter() bool {
	return r == RuleFixed || r == RuleQueued || r == RulePlaced || r == RuleWish
}

// MetadataKey is a label or an annotation.
type MetadataKey struct {
	Kind KeyKind
	Name string
}

// String is the key in a sentence, and in the policy.
func (k MetadataKey) String() string { return string(k.Kind) + " " + k.Name }

// CompiledAnnotations are the annotations that the compiler writes from the plan of a run: each attempt at it has them.
func CompiledAnnotations() []string {
	return []string{contract.AnnotationRequests, contract.AnnotationPods, contract.AnnotationSetupKey,
		contract.AnnotationMetrics,
		contract.AnnotationName, contract.AnnotationModel, contract.AnnotationLoad, contract.AnnotationTTL,
		contract.AnnotationKeepServer}
}

// KeyTable returns the rule of every key under contract.Prefix and PrefixKueue that a PipelineRun of bflow may carry.
// It is the one table of them: the admission policy is made of it, the controller holds the points of a matrix to it,
// and docs/queue.md shows it. What a key means is said in runplan/contract.
func KeyTable() map[MetadataKey]KeyRule {
	table := map[MetadataKey]KeyRule{}
	for rule, kinds := range map[KeyRule]map[KeyKind][]string{
		RuleFixed: {
			LabelKey: {contract.LabelExperiment, contract.LabelPlanHash, contract.LabelParent, contract.LabelRole},
			AnnotationKey: append(CompiledAnnotations(),
				contract.AnnotationTargets, contract.AnnotationTargetSelector, contract.AnnotationCacheKey,
				contract.AnnotationSource, contract.AnnotationStarted, contract.AnnotationResultsSize,
				// What a webhook says of a run of bflow-experiment: bootstrap/overlays/components/triggers.
				contract.Prefix+"event", contract.Prefix+"repository", contract.Prefix+"commit", contract.Prefix+"author",
			),
		},
		RuleQueued:   {LabelKey: {contract.LabelQueue, contract.LabelPriority}},
		RulePlaced:   {LabelKey: {contract.LabelTarget}},
		RuleWish:     {AnnotationKey: {contract.AnnotationCancel, contract.AnnotationForce, contract.AnnotationFetched}},
		RuleIdentity: {LabelKey: {contract.LabelRun, contract.LabelAttempt}},
		RuleController: {
			LabelKey: {contract.LabelMatrix},
			AnnotationKey: {
				contract.AnnotationAdmitted, contract.AnnotationAdmittedTo, contract.AnnotationFreed, contract.AnnotationReleased,
				contract.AnnotationReason, contract.AnnotationChosen, contract.AnnotationFence, contract.AnnotationPoint,
				contract.AnnotationMLflowParent, contract.AnnotationWorkload, AnnotationQueue, AnnotationStopped, AnnotationNext,
				contract.AnnotationVolumeDeleted, contract.AnnotationResults, contract.AnnotationServerUntil,
			},
		},
	} {
		for kind, names := range kinds {
			for _, name := range names {
				table[MetadataKey{kind, name}] = rule
			}
		}
	}
	return table
}

// NeedsKeyRule says whether a key is one that needs a rule.
func NeedsKeyRule(name string) bool {
	return strings.HasPrefix(name, contract.Prefix) || strings.HasPrefix(name, PrefixKueue)
}

// SubmittedKeys returns those of some labels and annotations of a PipelineRun that whoever submits a run may write.
// Keys of others than bflow and Kueue are among them.
func SubmittedKeys(labels, annotations map[string]string) (map[string]string, map[string]string) {
	table := KeyTable()
	only := func(kind KeyKind, all map[string]string) map[string]string {
		kept := maps.Clone(all)
		maps.DeleteFunc(kept, func(name, _ string) bool {
			return NeedsKeyRule(name) &&
				!table[MetadataKey{kind, name}].BySubmitter()
		})
		return kept
	}
	return only(LabelKey, labels), only(AnnotationKey, annotations)
}

// CheckSubmittedKeys returns an error, a sentence, that names a key which whoever submits a run must not write, nil
// where there is none.
func CheckSubmittedKeys(labels, annotations map[string]string) error {
	table := KeyTable()
	for _, of := range []struct {
		kind KeyKind
		all  map[string]string
	}{{LabelKey, labels}, {AnnotationKey, annotations}} {
		for _, name := range slices.Sorted(maps.Keys(of.all)) {
			key := MetadataKey{of.kind, name}
			rule, known := table[key]
			switch {
			case !NeedsKeyRule(name) || rule.BySubmitter():
			case !known:
				return fmt.Errorf("%s is not one that a run may carry", key)
			default:
				return fmt.Errorf("%s is written by %s only", key, contract.AccountController)
			}
		}
	}
	return nil
}
