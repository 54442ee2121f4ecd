package remotetask

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"bflow.dev/bflow/internal/durable"
	"bflow.dev/bflow/tasks/step"
)

// failure is how a task ended, kept in a hidden file of the run directory: no result, but what the next launcher of the
// same Job is to know and to say.
type failure struct {
	Code  int    `json:"code"`
	Text  string `json:"text"`
	Lost  string `json:"lost,omitempty"`  // how it was lost, in one sentence
	Taken bool   `json:"taken,omitempty"` // the target took it away
}

func failureOf(err error) failure {
	f := failure{Code: step.Code(err), Text: err.Error()}
	var lost *lostError
	if errors.As(err, &lost) {
		f.Lost, f.Taken = oneLine(lost.why), lost.taken
	}
	return f
}

// failedBefore reads how the task of a Job ended; its code is 0 where it has not failed.
func failedBefore(runDir, job string) (f failure) {
	if step.ReadJSON(failureFile(runDir, job), &f) != nil {
		return failure{}
	}
	return f
}

func failureFile(runDir, job string) string { return filepath.Join(runDir, "."+job+".failed") }

// note keeps how a task ended.
func (f failure) note(runDir, job string) error {
	if err := durable.WriteJSON(failureFile(runDir, job), f); err != nil {
		return fmt.Errorf("recording how the task ended: %w", err)
	}
	return nil
}

// results writes those of a task that was lost.
func (f failure) results(o *Options) error {
	if f.Lost == "" {
		return nil
	}
	var failed error
	text := []byte(strings.ToValidUTF8(f.Lost[:min(len(f.Lost), 1000)], ""))
	if o.ReasonResult != "" {
		failed = durable.Replace(o.ReasonResult, text)
	}
	if o.LostResult != "" && f.Taken {
		failed = errors.Join(failed, durable.Replace(o.LostResult, text))
	}
	return failed
}

func (f failure) err() error { return step.Exit(f.Code, errors.New(f.Text)) }

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }
