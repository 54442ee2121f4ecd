package truth

import (
	"bufio"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"bflow.dev/bflow/sim"
	"bflow.dev/bflow/tasks/report"
)

// ReadLog returns the records of a truth log, in the order in which the requests ended.
func ReadLog(path string) ([]sim.Record, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading the truth: %w", err)
	}
	defer f.Close()
	dec := json.NewDecoder(bufio.NewReaderSize(f, 1<<20))
	var out []sim.Record
	for {
		var r sim.Record
		switch err := dec.Decode(&r); {
		case errors.Is(err, io.EOF):
			return out, nil
		case err != nil:
			return nil, fmt.Errorf("reading the truth %q after %d records: %w", path, len(out), err)
		}
		out = append(out, r)
	}
}

// Row is a row of load-gen with the gaps between its token events, where they were recorded.
type Row struct {
	report.Row
	GapsUS []int32 `json:"gaps_us"` // microseconds; of stamps that were rounded before they were subtracted
}

// ReadRows returns the header and the rows of requests.jsonl.gz.
func ReadRows(path string) (report.Header, []Row, error) {
	var header report.Header
	f, err := os.Open(path)
	if err != nil {
		return header, nil, fmt.Errorf("reading rows: %w", err)
	}
	defer f.Close()
	gz, err := gzip.NewReader(bufio.NewReaderSize(f, 1<<20))
	if err != nil {
		return header, nil, fmt.Errorf("reading rows %q: %w", path, err)
	}
	dec := json.NewDecoder(gz)
	if err := dec.Decode(&header); err != nil {
		return header, nil, fmt.Errorf("reading the header of %q: %w", path, err)
	}
	var rows []Row
	for {
		var r Row
		switch err := dec.Decode(&r); {
		case errors.Is(err, io.EOF):
			return header, rows, nil
		case err != nil:
			return header, nil, fmt.Errorf("reading rows %q after %d: %w", path, len(rows), err)
		}
		rows = append(rows, r)
	}
}

// OfStage keeps the records of requests of load-gen's stage n, whose ids carry it; probes before the load have others.
func OfStage(log []sim.Record, n int) []sim.Record {
	mark := fmt.Sprintf("-s%d-", n)
	var out []sim.Record
	for _, r := range log {
		if strings.Contains(r.RequestID, mark) {
			out = append(out, r)
		}
	}
	return out
}
