package truth

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"bflow.dev/bflow/sim"
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
