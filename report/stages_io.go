package report

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"bflow.dev/bflow/internal/durable"
)

// AppendStage adds s as a line of the stages file at path, making the file where it is missing.
func AppendStage(path string, s *StageResult) error {
	s.Schema = StagesSchema
	line, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("encoding stage %d: %w", s.Stage, err)
	}
	f, err := durable.AppendGrowing(path)
	if err != nil {
		return fmt.Errorf("writing stages: %w", err)
	}
	_, err = f.Write(append(line, '\n'))
	if err = errors.Join(err, f.Close()); err != nil {
		return fmt.Errorf("writing %q: %w", path, err)
	}
	return nil
}

// CutError says that the last line of a stages file is not whole: whoever wrote it was killed. The stages before it are
// good.
type CutError struct {
	Path  string
	Whole int // lines that could be read
}

func (e *CutError) Error() string {
	return fmt.Sprintf("reading %q: its last line, number %d, is not whole, so that stage is missing", e.Path, e.Whole+1)
}

// ReadStages returns the stages of the file at path in the order in which they ran. An unknown schema is an error, and
// so is a line that cannot be read: a *CutError where it is the last one.
func ReadStages(path string) ([]StageResult, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading stages: %w", err)
	}
	defer f.Close()
	var stages []StageResult
	for in := bufio.NewReader(f); ; {
		line, err := in.ReadBytes('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return stages, fmt.Errorf("reading %q: %w", path, err)
		}
		last := err != nil
		if line = bytes.TrimSpace(line); len(line) > 0 {
			var s StageResult
			err := json.Unmarshal(line, &s)
			if _, rest := in.Peek(1); err != nil && (last || rest != nil) {
				return stages, &CutError{path, len(stages)}
			}
			if err != nil {
				return stages, fmt.Errorf("reading line %d of %q: %w", len(stages)+1, path, err)
			}
			if s.Schema != StagesSchema {
				return stages, fmt.Errorf("reading %q: schema %q is not %q", path, s.Schema, StagesSchema)
			}
			stages = append(stages, s)
		}
		if last {
			return stages, nil
		}
	}
}
