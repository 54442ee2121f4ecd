// Package keys is the one table of the labels and annotations of a PipelineRun of bflow, and of who may write each:
// the admission policy is generated from it, the controller enforces it for the points of a matrix, and docs/queue.md
// shows it. runplan/contract documents the meaning of each key. It must not connect to a cluster.
//
//go:generate go test . -run TestTheTableIsWritten -update
package keys

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"bflow.dev/bflow/queue/run"
	"bflow.dev/bflow/runplan/contract"
)

// PrefixKueue is that of the keys that Kueue reads. Of a PipelineRun that is no run of bflow they are nobody's business.
const PrefixKueue = "kueue.x-k8s.io/"

// Kind is where a key stands.
type Kind string

// Kinds of keys.
const (
	Label      Kind = "label"
	Annotation Kind = "annotation"
)

// Rule says who writes a key, and when. Its text is that of the policy.
type Rule string

// Rules. The controller may write what nobody else may; what never changes it does not change either.
const (
	// Fixed is written by whoever makes the PipelineRun, with it, and never changes.
	Fixed Rule = "fixed"
	// Queued is written by whoever makes the PipelineRun, and by anybody who may change it while it waits.
	Queued Rule = "queued"
	// Placed is written by whoever makes the PipelineRun, and by the controller while it waits and as it is let start.
	Placed Rule = "placed"
	// Wish is written by anybody at any time, and not taken back.
	Wish Rule = "wish"
	// Identity is written by the controller, once.
	Identity Rule = "identity"
	// Controller is written by the controller at any time.
	Controller Rule = "controller"
)

// Rules are all of them, in the order in which the guide shows them.
func Rules() []Rule { return []Rule{Fixed, Queued, Placed, Wish, Identity, Controller} }

// Sentence says to a person who writes a key of such a rule.
func (r Rule) Sentence() string {
	switch r {
	case Fixed:
		return "whoever creates the PipelineRun, on creation; immutable from then on"
	case Queued:
		return "whoever creates the PipelineRun, and whoever may change it while it waits; immutable once it has started"
	case Placed:
		return "whoever creates the PipelineRun, and the controller while it waits; immutable once it has started"
	case Wish:
		return "whoever may change the PipelineRun, at any time; it cannot be removed"
	case Identity:
		return "the controller, once"
	case Controller:
		return "the controller"
	}
	return string(r)
}

// BySubmitter says whether whoever makes a PipelineRun may write such a key.
func (r Rule) BySubmitter() bool { return r == Fixed || r == Queued || r == Placed || r == Wish }

// Key is a label or an annotation.
type Key struct {
	Kind Kind
	Name string
}

// String is the key in a sentence, and in the policy.
func (k Key) String() string { return string(k.Kind) + " " + k.Name }

// Compiled are the annotations that the compiler writes from the plan of a run: each attempt at it has them.
func Compiled() []string {
	return []string{contract.AnnotationRequests, contract.AnnotationPods, contract.AnnotationSetupKey, contract.AnnotationMetrics,
		contract.AnnotationName, contract.AnnotationModel, contract.AnnotationLoad, contract.AnnotationTTL}
}

// Table returns the rule of every key under contract.Prefix and PrefixKueue that is known.
func Table() map[Key]Rule {
	table := map[Key]Rule{}
	for rule, kinds := range map[Rule]map[Kind][]string{
		Fixed: {
			Label: {contract.LabelExperiment, contract.LabelPlanHash, contract.LabelParent, contract.LabelRole},
			Annotation: append(Compiled(),
				contract.AnnotationTargets, contract.AnnotationTargetSelector, contract.AnnotationCacheKey,
				contract.AnnotationSource, contract.AnnotationStarted, contract.AnnotationResultsSize,
				// What a webhook says of a run of bflow-experiment: bootstrap/overlays/components/triggers.
				contract.Prefix+"event", contract.Prefix+"repository", contract.Prefix+"commit", contract.Prefix+"author",
			),
		},
		Queued:   {Label: {contract.LabelQueue, contract.LabelPriority}},
		Placed:   {Label: {contract.LabelTarget}},
		Wish:     {Annotation: {contract.AnnotationCancel, contract.AnnotationForce, contract.AnnotationFetched}},
		Identity: {Label: {contract.LabelRun, contract.LabelAttempt}},
		Controller: {
			Label: {contract.LabelMatrix},
			Annotation: {
				contract.AnnotationAdmitted, contract.AnnotationAdmittedTo, contract.AnnotationFreed, contract.AnnotationReleased,
				contract.AnnotationReason, contract.AnnotationChosen, contract.AnnotationFence, contract.AnnotationPoint,
				contract.AnnotationMLflowParent, contract.AnnotationWorkload, run.AnnotationQueue, run.AnnotationStopped, run.AnnotationNext,
				contract.AnnotationVolumeDeleted, contract.AnnotationResults,
			},
		},
	} {
		for kind, names := range kinds {
			for _, name := range names {
				table[Key{kind, name}] = rule
			}
		}
	}
	return table
}

// Judged says whether a key is one that needs a rule.
func Judged(name string) bool {
	return strings.HasPrefix(name, contract.Prefix) || strings.HasPrefix(name, PrefixKueue)
}

// Submitted returns those of some labels and annotations of a PipelineRun that whoever submits a run may write. Keys of
// others than bflow and Kueue are among them.
func Submitted(labels, annotations map[string]string) (map[string]string, map[string]string) {
	table := Table()
	only := func(kind Kind, all map[string]string) map[string]string {
		kept := maps.Clone(all)
		maps.DeleteFunc(kept, func(name, _ string) bool { return Judged(name) && !table[Key{kind, name}].BySubmitter() })
		return kept
	}
	return only(Label, labels), only(Annotation, annotations)
}

// Check returns an error, a sentence, that names a key which whoever submits a run must not write, nil where there is none.
func Check(labels, annotations map[string]string) error {
	table := Table()
	for _, of := range []struct {
		kind Kind
		all  map[string]string
	}{{Label, labels}, {Annotation, annotations}} {
		for _, name := range slices.Sorted(maps.Keys(of.all)) {
			key := Key{of.kind, name}
			rule, known := table[key]
			switch {
			case !Judged(name) || rule.BySubmitter():
			case !known:
				return fmt.Errorf("%s is none that a run may carry", key)
			default:
				return fmt.Errorf("%s is written by %s only", key, contract.AccountController)
			}
		}
	}
	return nil
}
