package local

import (
	"path/filepath"
	"strings"
)

// The executor's own files, below the run directory.
const (
	dirState    = "local"
	dirLogs     = "local/logs"
	dirScratch  = "local/taskruns" // one folder per TaskRun: working directory, results, volumes
	dirVolumes  = "local/volumes"  // claims and ConfigMaps
	dirSecrets  = "local/secrets"  // only while an executor lives
	fileObjects = "local/objects.yaml"
	fileJournal = "local/journal.jsonl"
	fileLock    = "local/lock"
)

func journalPath(runDir string) string { return filepath.Join(runDir, fileJournal) }

// logPath returns the log of a step, relative to the run directory. name is the task, or task-index in a matrix.
func logPath(name, step string) string {
	if step != "" {
		name += "-" + step
	}
	return filepath.Join(dirLogs, name+".log")
}

// below joins sub to root, or returns false when it would lead out of root.
func below(root, sub string) (string, bool) {
	path := filepath.Join(root, sub)
	rel, err := filepath.Rel(root, path)
	return path, err == nil && rel != ".." && !strings.HasPrefix(rel, "../")
}
