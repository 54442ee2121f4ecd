package local

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"

	v1 "github.com/tektoncd/pipeline/pkg/apis/pipeline/v1"
)

// maxResultBytes bounds the results of one TaskRun together: on a cluster they travel in a termination message of this
// size, so a Pipeline that passes here must not fail there.
const maxResultBytes = 4096

// declaredResult is a result with its type, of a Task or of a step.
type declaredResult struct {
	name string
	kind v1.ResultsType
}

// readResults reads the files that steps wrote below dir, one per result; a result without a file is left out.
func readResults(dir string, wanted []declaredResult) (Results, error) {
	out := Results{}
	total := 0
	for _, w := range wanted {
		data, err := os.ReadFile(filepath.Join(dir, w.name))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("reading result %q: %w", w.name, err)
		}
		total += len(w.name) + len(data)
		if total > maxResultBytes {
			return nil, fmt.Errorf("results take more than %d bytes with %q; keep data in a workspace", maxResultBytes, w.name)
		}
		value, err := parseResult(string(data), w)
		if err != nil {
			return nil, err
		}
		out[w.name] = value
	}
	return out.orNil(), nil
}

// parseResult reads text as the declared type: JSON for arrays and objects of strings.
func parseResult(text string, w declaredResult) (v1.ParamValue, error) {
	value := v1.ParamValue{Type: v1.ParamType(w.kind)}
	var err error
	switch w.kind {
	case v1.ResultsTypeArray:
		err = json.Unmarshal([]byte(text), &value.ArrayVal)
	case v1.ResultsTypeObject:
		err = json.Unmarshal([]byte(text), &value.ObjectVal)
	default:
		value = v1.ParamValue{Type: v1.ParamTypeString, StringVal: text}
	}
	if err != nil {
		return v1.ParamValue{}, fmt.Errorf("reading result %q as %s: %w", w.name, w.kind, err)
	}
	return value, nil
}

// taskResults are the results of a TaskRun: files, and values that name results of its steps.
func taskResults(spec *v1.TaskSpec, dir string, scope values) (Results, error) {
	var files []declaredResult
	for _, r := range spec.Results {
		if r.Value == nil {
			files = append(files, declaredResult{r.Name, r.Type})
		}
	}
	read, err := readResults(dir, files)
	if err != nil {
		return nil, err
	}
	out := Results{}
	maps.Copy(out, read)
	for _, r := range spec.Results {
		if r.Value == nil {
			continue
		}
		if value := scope.value(*r.Value); !mentions(value, "$(steps.") {
			out[r.Name] = value
		}
	}
	return out.orNil(), nil
}

// pipelineResults are the results of the Pipeline that all their sources exist for.
func pipelineResults(spec *v1.PipelineSpec, tasks []Task) Results {
	scope := newValues()
	for _, t := range tasks {
		if t.State == Succeeded || t.Ignored {
			scope.setResults(resultPrefix(t), t.Results)
		}
	}
	out := Results{}
	for _, r := range spec.Results {
		value := scope.value(r.Value)
		if !mentions(value, "$(tasks.") && !mentions(value, "$(finally.") {
			out[r.Name] = value
		}
	}
	return out.orNil()
}

// orNil makes no results nil, as they are when they come back from the journal.
func (r Results) orNil() Results {
	if len(r) == 0 {
		return nil
	}
	return r
}

func resultPrefix(t Task) string {
	part := "tasks."
	if t.Finally {
		part = "finally."
	}
	return part + t.Name + ".results"
}

// matrixResults gathers the string results of the combinations of a matrix, in their order, as arrays.
func matrixResults(runs []TaskRun) Results {
	out := Results{}
	for _, run := range runs {
		for name, value := range run.Results {
			if value.Type != v1.ParamTypeString {
				continue
			}
			all := out[name]
			all.Type = v1.ParamTypeArray
			all.ArrayVal = append(all.ArrayVal, value.StringVal)
			out[name] = all
		}
	}
	return out.orNil()
}
