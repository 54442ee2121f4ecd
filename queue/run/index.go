package run

import (
	"context"
	"fmt"

	tektonv1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Index finds the runs that hold quota in a cache without looking at the thousands that wait: by target, or by
// Anywhere.
const Index = "bflow.dev/holding"

// Anywhere is what the Index has of every run that holds quota.
const Anywhere = "*"

// IndexOf are the values of an object in the Index.
func IndexOf(o client.Object) []string {
	pr, ok := o.(*tektonv1.PipelineRun)
	if !ok || !Ours(pr) || Queue(pr) == "" || !Holding(pr) {
		return nil
	}
	return []string{Anywhere, Target(pr)}
}

// IndexID finds runs by their identity, whatever the attempt.
const IndexID = "bflow.dev/run"

// IDOf is the value of an object in IndexID.
func IDOf(o client.Object) []string { return []string{ID(o)} }

// SetupIndexes makes both indexes.
func SetupIndexes(ctx context.Context, to client.FieldIndexer) error {
	for name, of := range map[string]client.IndexerFunc{Index: IndexOf, IndexID: IDOf} {
		if err := to.IndexField(ctx, &tektonv1.PipelineRun{}, name, of); err != nil {
			return fmt.Errorf("indexing runs: %w", err)
		}
	}
	return nil
}
