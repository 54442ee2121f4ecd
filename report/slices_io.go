package report

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"bflow.dev/bflow/internal/durable"
)

// FileSlices holds the time slices of a measurement, in measurements/<n>/, where the plan asks for them.
const FileSlices = "slices.jsonl"

// SlicesSchema names the format of a line of FileSlices.
const SlicesSchema = "bflow.slices/1"

// Slice is one span of a stage, of requests of every phase. A request belongs to the slice of its intended send; done,
// errors and tokens to the slice in which they came. Times are unix nanoseconds.
type Slice struct {
	Schema   string             `json:"schema"` // SlicesSchema
	Sample   int                `json:"sample"`
	Stage    int                `json:"stage"`
	Slice    int                `json:"slice"`
	StartNS  int64              `json:"start_ns"`
	EndNS    int64              `json:"end_ns"`
	Requests int                `json:"requests"` // intended in the slice
	Sent     int                `json:"sent"`
	Done     int                `json:"done"` // ok
	Errors   int                `json:"errors"`
	Rates    map[string]float64 `json:"rates"`   // request_rate, output_token_rate, achieved_rate
	Metrics  map[string]Metric  `json:"metrics"` // ttft, itl, e2e of the requests that ended well
}

// SliceWriter writes FileSlices.
type SliceWriter struct {
	path string
	f    *os.File
	buf  *bufio.Writer
}

// CreateSlices starts the file at path.
func CreateSlices(path string) (*SliceWriter, error) {
	f, err := durable.CreateGrowing(path)
	if err != nil {
		return nil, fmt.Errorf("creating slices: %w", err)
	}
	return &SliceWriter{path: path, f: f, buf: bufio.NewWriter(f)}, nil
}

// Write adds a slice.
func (w *SliceWriter) Write(s *Slice) error {
	s.Schema = SlicesSchema
	line, err := json.Marshal(s)
	if err == nil {
		_, err = w.buf.Write(append(line, '\n'))
	}
	if err != nil {
		return fmt.Errorf("writing %q: %w", w.path, err)
	}
	return nil
}

// Close ends the file.
func (w *SliceWriter) Close() error {
	if err := errors.Join(w.buf.Flush(), w.f.Close()); err != nil {
		return fmt.Errorf("closing %q: %w", w.path, err)
	}
	return nil
}

// ReadSlices returns the slices of the file at path. An unknown schema is an error.
func ReadSlices(path string) ([]Slice, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading slices: %w", err)
	}
	defer f.Close()
	var slices []Slice
	for dec := json.NewDecoder(f); ; {
		var s Slice
		if err := dec.Decode(&s); errors.Is(err, io.EOF) {
			return slices, nil
		} else if err != nil {
			return slices, fmt.Errorf("reading %q: %w", path, err)
		}
		if s.Schema != SlicesSchema {
			return slices, fmt.Errorf("reading %q: schema %q is not %q", path, s.Schema, SlicesSchema)
		}
		slices = append(slices, s)
	}
}
