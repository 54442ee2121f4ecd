package mlflow

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/results/checksums"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
)

// ReplayFile lies in the run directory: a push made anew from it sends the same bytes.
const ReplayFile = "mlflow/replay.json"

// ReplaySchema names its format.
const ReplaySchema = "bflow.mlflow/1"

// MissingTag says what a push could not tell, because a file of the run was cut off.
const MissingTag = "bflow.missing"

// Replay is everything that a push sends.
type Replay struct {
	Schema     string     `json:"schema"`
	Experiment string     `json:"experiment"`
	RunName    string     `json:"run_name"`
	RunKey     string     `json:"run_key"`
	Start      time.Time  `json:"start"`
	End        time.Time  `json:"end"`
	Status     string     `json:"status"`
	Tags       []Pair     `json:"tags"`
	Params     []Pair     `json:"params"`
	Points     []Point    `json:"points"`
	Artifacts  []Artifact `json:"artifacts"`
	Missing    []string   `json:"missing,omitempty"` // what files that were cut off do not tell, a sentence each
}

// Build makes the replay of the run in o.RunDir from its files alone: the same files give the same replay.
func Build(o Options, plan *runplan.RunPlan, end *report.Verdict) (*Replay, error) {
	stages, missing, err := readStages(o.RunDir, len(plan.Measurements))
	if err != nil {
		return nil, err
	}
	r := &Replay{
		Schema: ReplaySchema, Experiment: clip(plan.Sinks.MLflow.Experiment, 256), RunName: clip(o.RunID, 250),
		RunKey: RunKey(o.RunID, plan),
		Status: status(end.ExitCode), Params: params(plan), Points: points(plan, stages, end), Tags: tags(o, plan, end),
		Missing: missing,
	}
	if len(missing) > 0 {
		r.Tags = append(r.Tags, Pair{MissingTag, clip(strings.Join(missing, "; "), 5000)})
	}
	r.Start, r.End = span(stages)
	if r.Artifacts, err = artifacts(o.RunDir); err != nil {
		return nil, err
	}
	return r, nil
}

// RunKey identifies a run on the tracking server. It is hex, because search has no escaping.
func RunKey(runID string, plan *runplan.RunPlan) string {
	sum := sha256.Sum256([]byte(runID + "\x00" + plan.Digest))
	return hex.EncodeToString(sum[:16])
}

// readStages returns the stage results of every measurement that has some, and what is missing where a file was cut
// off: a load generator that is killed leaves half a line.
func readStages(runDir string, measurements int) (all []report.StageResult, missing []string, err error) {
	for n := range measurements {
		dir := report.MeasurementDir(runDir, n)
		list, err := report.ReadStages(filepath.Join(dir, contract.FileStages))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if cut := new(report.CutError); errors.As(err, &cut) {
			missing = append(missing, fmt.Sprintf("%s: line %d is not whole, so that stage is missing",
				relative(runDir, dir, contract.FileStages), cut.Whole+1))
		} else if err != nil {
			return nil, nil, err
		}
		if err := addByToken(dir, list); err != nil && len(list) > 0 {
			missing = append(missing, fmt.Sprintf("%s: %v; the latencies by token are missing",
				relative(runDir, dir, contract.FileRequests), err))
		}
		all = append(all, list...)
	}
	return all, missing, nil
}

// relative is the name of a file of a measurement within its run.
func relative(runDir, dir, file string) string {
	name, err := filepath.Rel(runDir, filepath.Join(dir, file))
	if err != nil {
		return file
	}
	return filepath.ToSlash(name)
}

// span is the time of load. Without any stage it is empty, at the epoch: the push still tells what failed.
func span(stages []report.StageResult) (begin, end time.Time) {
	begin, end = time.Unix(0, 0), time.Unix(0, 0)
	seen := false
	for _, s := range stages {
		if !ran(&s) {
			continue
		}
		from, to := time.Unix(0, s.StartNS), time.Unix(0, max(s.EndNS, s.DrainEndNS))
		if !seen || from.Before(begin) {
			begin = from
		}
		seen = true
		if to.After(end) {
			end = to
		}
	}
	return begin.UTC(), end.UTC()
}

// ran says whether a stage has times and numbers: one that an earlier stage's end skipped has none.
func ran(s *report.StageResult) bool { return s.Ended != "skipped" }

// notUploaded are folders of the run directory that belong to this host, not to the result.
func notUploaded() []string { return []string{"local", "mlflow"} }

// artifacts lists the files of the run with size and hash. events.jsonl still grows, and checksums.json says of this
// folder what the list says of the push, so both stay behind.
func artifacts(runDir string) ([]Artifact, error) {
	var out []Artifact
	err := filepath.WalkDir(runDir, func(file string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(runDir, file)
		if err != nil {
			return err
		}
		switch {
		case entry.IsDir() && slices.Contains(notUploaded(), rel):
			return filepath.SkipDir
		case !entry.Type().IsRegular() || strings.HasPrefix(entry.Name(), ".") || rel == contract.FileEvents ||
			rel == contract.FileChecksums:
			return nil
		}
		a, err := describe(file, rel)
		out = append(out, a)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("listing the files to upload: %w", err)
	}
	return out, nil
}

func describe(file, rel string) (Artifact, error) {
	f, err := os.Open(file)
	if err != nil {
		return Artifact{}, err
	}
	defer f.Close()
	sum, size, err := checksums.Sum(f)
	return Artifact{File: rel, Path: artifactPath(rel), Size: size, SHA256: sum}, err
}

// artifactPath is the name on the server. The report becomes an index page, which the server shows inside the run.
func artifactPath(rel string) string {
	if rel == contract.FileReportHTML {
		return "report/index.html"
	}
	rel = strings.ReplaceAll(filepath.ToSlash(rel), ",_", "_")
	return regexp.MustCompile(`[^A-Za-z0-9._/-]`).ReplaceAllString(rel, "_")
}

// status is MLflow's word: a run that fails or must not be believed is not a finished one.
func status(exitCode int) string {
	switch exitCode {
	case contract.ExitPass, contract.ExitInconclusive:
		return Finished
	case contract.ExitInterrupted:
		return Killed
	default:
		return Failed
	}
}

func clip(s string, n int) string {
	r := []rune(s)
	return string(r[:min(len(r), n)])
}
