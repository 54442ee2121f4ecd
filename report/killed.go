package report

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"bflow.dev/bflow/internal/durable"
	"bflow.dev/bflow/runplan/contract"
)

// Kill is how a load generator ended that could say nothing itself.
type Kill struct {
	How    string // what follows "load-gen"
	Advice string // what to do about it
}

// KillOf returns what a reason of package contract tells of the end of a load generator that said nothing; false where
// that is no reason to end so.
func KillOf(reason string) (Kill, bool) {
	switch reason {
	case contract.ReasonStepOOM:
		return Kill{"was killed: out of memory",
			"send fewer requests at once, ask for shorter answers, or give it more memory"}, true
	case contract.ReasonStepKilled:
		return Kill{"was killed (signal 9)", "somebody did it, or memory ran out"}, true
	case contract.ReasonPodEvicted:
		return Kill{"was killed: its pod was evicted", "its node was short of memory or disk; run it again"}, true
	case contract.ReasonStepFailed:
		return Kill{"ended without a word", "its log may say more"}, true
	default:
		return Kill{}, false
	}
}

// MarkKilled writes into the result of measurement n of a run how its load generator was killed, and in which stage;
// false where load-gen did not run in this attempt, came to its end, or said why not.
func MarkKilled(runDir string, n, attempt int, k Kill) (bool, error) {
	dir := MeasurementDir(runDir, n)
	var l LoadGen
	path := filepath.Join(dir, contract.FileLoadGen)
	data, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &l)
	}
	if err != nil {
		return false, fmt.Errorf("reading how measurement %d ended: %w", n, err)
	}
	if !l.Cut() || l.Attempt != attempt {
		return l.Killed && l.Attempt == attempt, nil
	}
	l.Killed, l.Interrupted, l.Error = true, true, k.sentence(l.MemoryLimit, place(dir))
	return true, durable.WriteJSON(path, l)
}

// place says where in its measurement a load generator was last seen, which is once a second.
func place(dir string) string {
	var last Progress
	data, err := os.ReadFile(filepath.Join(dir, FileProgress))
	if err != nil || json.Unmarshal(data, &last) != nil || last.Stages == 0 {
		return "before its first stage"
	}
	name := cmp.Or(last.Name, fmt.Sprint(last.Stage))
	stages, _ := ReadStages(filepath.Join(dir, contract.FileStages)) // those that can be read
	for _, s := range stages {
		if s.Sample == last.Sample && s.Stage == last.Stage {
			return fmt.Sprintf("after stage %q", name)
		}
	}
	return fmt.Sprintf("in stage %q after %.0f s", name, last.ElapsedS)
}

func (k Kill) sentence(limit int64, place string) string {
	how := k.How
	if limit > 0 && strings.HasSuffix(how, "out of memory") {
		how += fmt.Sprintf(" (limit %s)", quantity(limit))
	}
	return fmt.Sprintf("load-gen %s %s; %s", how, place, k.Advice)
}

// quantity writes bytes as Kubernetes does, in the largest unit that leaves no rest.
func quantity(bytes int64) string {
	units := []string{"", "Ki", "Mi", "Gi", "Ti"}
	i := 0
	for ; bytes%1024 == 0 && i < len(units)-1; i++ {
		bytes /= 1024
	}
	return fmt.Sprint(bytes, units[i])
}
