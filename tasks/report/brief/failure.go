package brief

import (
	"bufio"
	"encoding/json"
	"os"
	"path/filepath"

	"bflow.dev/bflow/tasks/contract"
	"bflow.dev/bflow/tasks/step"
)

// failure says why a run came to no report, as far as its files tell.
func failure(runDir string) string {
	var smoke struct {
		Checks []struct{ Name, Verdict, Evidence string }
	}
	if step.ReadJSON(filepath.Join(runDir, contract.FileSmoketest), &smoke) == nil {
		for _, c := range smoke.Checks {
			if c.Verdict == "fail" {
				return cut("smoke test: " + c.Name + ": " + c.Evidence)
			}
		}
	}
	f, err := os.Open(filepath.Join(runDir, contract.FileEvents))
	if err != nil {
		return "it ended before anything was started"
	}
	defer f.Close()
	why := "it ended before its report was made"
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var e step.Event
		if json.Unmarshal(lines.Bytes(), &e) == nil && e.Event == "failed" {
			why = e.Source + ": " + e.Message
		}
	}
	return cut(why)
}
