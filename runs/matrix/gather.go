package matrix

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"bflow.dev/bflow/results/gather"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/runs"
	"bflow.dev/bflow/tasks/step"
)

// Gather copies to folder into what can be copied of the volumes in folder from, one by the name of each run, and
// writes the names of those runs to file result. One run that cannot be copied is said, and keeps the others from
// nothing.
func Gather(ctx context.Context, on runs.Console, from, into, result string) error {
	folders, err := os.ReadDir(from)
	if err != nil {
		return fmt.Errorf("looking for results to gather: %w", err)
	}
	var gathered []string
	for _, folder := range folders {
		if ctx.Err() != nil {
			return step.Exit(contract.ExitInterrupted,
				errors.New("gathering results: interrupted; the files copied so far are kept"))
		}
		if err := gather.Copy(filepath.Join(from, folder.Name()), into, folder.Name()); err != nil {
			fmt.Fprintf(on.Err, "warning: %v; its volume is kept\n", err)
			continue
		}
		gathered = append(gathered, folder.Name())
	}
	fmt.Fprintf(on.Err, "gathered the results of %d of %d runs\n", len(gathered), len(folders))
	return writeResult(result, strings.Join(gathered, ","))
}
