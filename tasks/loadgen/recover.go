package loadgen

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/tasks/loadgen/record"
	"bflow.dev/bflow/tasks/step"
)

// spillName is the file of the outcomes of the stage in progress.
const spillName = "stage.spill"

// placeOf reads sample and stage back from the prefix of the ids of a stage, see idPrefix.
func placeOf(prefix string) (sample, stage int) {
	// A prefix that says nothing is not ours: its rows are the first stage's.
	_, _ = fmt.Sscanf(prefix[max(0, strings.LastIndex(prefix, "-r")):], "-r%d-s%d", &sample, &stage)
	return sample, stage
}

// recoverRows makes the rows of an attempt that was killed readable: those of its finished stages, and what the stage
// in progress had spilled, as unmeasured.
func recoverRows(dir string, h report.Header) error {
	path := filepath.Join(dir, contract.FileRequests)
	if _, err := os.Stat(report.PartRows(path)); err != nil {
		return nil // it was finished, or it never began
	}
	var old report.LoadGen
	if step.ReadJSON(filepath.Join(dir, contract.FileLoadGen), &old) == nil {
		h.Attempt, h.AnchorUnixNS, h.ToolVersion = old.Attempt, old.StartNS, old.Version
	}
	h.Tool, h.Clock = contract.LoadGen, "user"
	rows, err := report.ReopenRows(path)
	if err != nil {
		return err
	}
	spill := filepath.Join(dir, spillName)
	err = record.Recover(spill, func(prefix string, o *record.Outcome) error {
		if h.Clock = "user"; o.Kernel {
			h.Clock = "kernel"
		}
		sample, stage := placeOf(prefix)
		row := record.Row(o, record.Names{Prefix: prefix}, sample, stage, report.PhaseUnmeasured)
		return rows.Write(&row)
	})
	if rest := os.Remove(spill); err == nil && !errors.Is(rest, fs.ErrNotExist) {
		err = rest
	}
	return errors.Join(err, rows.Finish(h))
}
