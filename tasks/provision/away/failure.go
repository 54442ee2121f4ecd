package away

import (
	"errors"
	"fmt"
	"path/filepath"

	"bflow.dev/bflow/tasks/step"
)

// failure is how a task ended, kept in a hidden file of the run directory: no result, but what the next launcher of the
// same Job is to know.
type failure struct {
	Code int    `json:"code"`
	Text string `json:"text"`
}

func failureFile(runDir, job string) string { return filepath.Join(runDir, "."+job+".failed") }

// noteFailure keeps how a task ended.
func noteFailure(runDir, job string, err error) error {
	if err := step.WriteJSON(failureFile(runDir, job), failure{Code: step.Code(err), Text: err.Error()}); err != nil {
		return fmt.Errorf("noting how the task ended: %w", err)
	}
	return nil
}

// failedBefore is the error with which the task of a Job ended, nil where it has not failed.
func failedBefore(runDir, job string) error {
	var f failure
	if step.ReadJSON(failureFile(runDir, job), &f) != nil || f.Code == 0 {
		return nil
	}
	return step.Exit(f.Code, errors.New(f.Text))
}
