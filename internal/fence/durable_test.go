package fence

import (
	"go/ast"
	"go/parser"
	"slices"
	"testing"
)

// namesFiles are the files that name others without package durable, each with its reason.
var namesFiles = map[string]string{
	"internal/durable/durable.go":          "it is the package",
	"tasks/loadgen/record/column.go":       "scratch of one stage",
	"tasks/loadgen/dataset/source.go":      "a copy among temporary files, of what is asked for again",
	"tasks/loadgen/record/merge.go":        "scrapes of a shard, which are brought to disk with the folder",
	"tasks/loadgen/files.go":               "attempt-<k>, which must be new; the moves into it bring it to disk",
	"tasks/provision/remotetask/inputs.go": "attempt-<k>, which must be new; the moves into it bring it to disk",
	"tasks/loadgen/external/process.go":    "inputs of a tool with modes of their own, and its secrets taken out in place",
	"report/rows_io.go":                    "rows that a killed process had flushed are gone on with",
	"report/imports/rows.go":               "rows on their way into an order, in a file without a name",
	"report/tools/spill.go":                "requests of another tool on their way into a run, in a file without a name",
	"report/imports/write.go": "the folder of a run, which must be new; what is written below it " +
		"brings it to disk",
	"report/reporttest/run.go":          "made-up runs of tests",
	"report/reporttest/load.go":         "made-up runs of tests",
	"results/transfer/fetch.go":         "half a file, which is gone on with, and brought to disk before it gets its name",
	"pipelines/local/journal.go":        "it brings every record to disk",
	"pipelines/local/lock.go":           "a lock ends with its holder",
	"pipelines/local/keyfiles.go":       "volumes of a TaskRun, with modes of their own, made anew by every attempt",
	"pipelines/local/resolve.go":        "scratch of a TaskRun",
	"pipelines/local/room.go":           "scratch of a TaskRun",
	"pipelines/local/steprun.go":        "scratch of a TaskRun, and /dev/null",
	"pipelines/local/workspace.go":      "volumes of a TaskRun, made anew by every attempt",
	"cmd/bflow/app/images.go":           "images, no results",
	"cmd/bflow/app/bundle.go":           "a bundle, no result",
	"runs/experiment/submit.go":         "a copy of a repository among temporary files",
	"runs/local/import.go":              "a run in the making, which gets its name by package durable",
	"runs/tracking/tracking.go":         "a page among temporary files, on its way to MLflow",
	"runs/gitsource/gittest/gittest.go": "repositories of tests",
}

// TestFilesOfARunGetTheirNamesDurably: a file that is named before it is on disk may be empty after a loss of power,
// beside one that says it is whole.
func TestFilesOfARunGetTheirNamesDurably(t *testing.T) {
	folders := slices.Concat(foundations, []string{"cmd", "internal/kube", "pipelines/local", "runs", "tasks"})
	onlyIn(t, folders, naming, namesFiles,
		"a loss of power may leave what this names empty: use package durable, or say in namesFiles why it does not matter")
}

// naming are the functions of os below n that make, or name, files and folders.
func naming(n ast.Node) (found []ast.Node) {
	ast.Inspect(n, func(n ast.Node) bool {
		s, ok := n.(*ast.SelectorExpr)
		if ok && of(s, "os", "Create", "CreateTemp", "OpenFile", "WriteFile", "Rename", "Link", "Symlink", "Mkdir",
			"MkdirAll", "MkdirTemp", "CopyFS") {
			found = append(found, s)
		}
		return true
	})
	return found
}

func TestAFileThatIsNamedInAnotherWayIsSeen(t *testing.T) {
	for text, want := range map[string]int{
		`os.WriteFile(path, data, 0o644)`:             1,
		`errors.Join(f.Close(), os.Rename(from, to))`: 1,
		`durable.WriteFile(path, data)`:               0,
		`os.ReadFile(path)`:                           0,
	} {
		expr, err := parser.ParseExpr(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := naming(expr); len(got) != want {
			t.Errorf("%s: %d found, want %d", text, len(got), want)
		}
	}
}
