package report

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"bflow.dev/bflow/tasks/durable"
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

// ReadStages returns the stages of the file at path in the order in which they ran. An unknown schema is an error.
func ReadStages(path string) ([]StageResult, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading stages: %w", err)
	}
	defer f.Close()
	var stages []StageResult
	for dec := json.NewDecoder(f); ; {
		var s StageResult
		if err := dec.Decode(&s); errors.Is(err, io.EOF) {
			return stages, nil
		} else if err != nil {
			return stages, fmt.Errorf("reading %q: %w", path, err)
		}
		if s.Schema != StagesSchema {
			return stages, fmt.Errorf("reading %q: schema %q is not %q", path, s.Schema, StagesSchema)
		}
		stages = append(stages, s)
	}
}
