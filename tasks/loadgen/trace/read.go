package trace

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"time"

	"bflow.dev/bflow/runplan"
)

// maxLine bounds the memory that one line of a file takes: 16 MiB hold a prompt of four million tokens.
const maxLine = 16 << 20

// maxRequests bounds the memory of a trace: some 400 MB.
const maxRequests = 10_000_000

// row is one line of a file, in the file's own times.
type row struct {
	at       int64 // ns; undated = not recorded
	delay    int64 // ns after the turn before; Absent
	duration int64 // ns that the request took; 0 = not recorded
	in, out  int64 // tokens; Absent
	session  []byte
	entry    byte // of text; 0 = none
	text     []byte
	blocks   []uint64
}

const undated = math.MinInt64

// parser reads the lines of a format.
type parser interface {
	// parse fills r from a line; false for one that is no request, such as a header. What r points to holds until the
	// next line.
	parse(line []byte, r *row) (bool, error)
}

func newParser(format string) (parser, error) {
	switch format {
	case runplan.TraceMooncake, runplan.TraceJSONL:
		return &jsonLines{unit: 6}, nil
	case runplan.TraceSynthetic:
		return &jsonLines{unit: 9, flat: true}, nil
	case runplan.TraceAzure:
		return &azure{}, nil
	}
	return nil, fmt.Errorf("format %q is not one of mooncake, azure, jsonl, trace_synthetic", format)
}

// Read reads a trace of the plan's format as the plan asks for it: the first Limit rows, of them those whose sessions
// start between From and To (a time of the file itself for numbers, from the first row on for dates) and whose input is
// not longer than MaxInput. Where a turn is left out, the later ones of its session are too: they would continue
// something that was never said. The first request left is sent at 0, the others by TimeScale.
func Read(r io.Reader, plan runplan.Trace) (*Trace, error) {
	p, err := newParser(plan.Format)
	if err != nil {
		return nil, err
	}
	if plan.TimeScale < 0 || math.IsNaN(plan.TimeScale) || math.IsInf(plan.TimeScale, 0) {
		return nil, fmt.Errorf("time scale %v is not above 0", plan.TimeScale)
	}
	c := newCollector(plan)
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 64<<10), maxLine)
	number, x := 0, row{}
	for !c.full() && lines.Scan() {
		number++
		line := lines.Bytes()
		if number == 1 {
			line = bytes.TrimPrefix(line, []byte("\ufeff"))
		}
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		x = row{at: undated, delay: Absent, in: Absent, out: Absent, blocks: x.blocks[:0]}
		ok, err := p.parse(line, &x)
		if err == nil && ok {
			err = c.add(number, &x)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", number, err)
		}
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return nil, fmt.Errorf("line %d: longer than %d MiB: is it a trace, one request per line?", number+1, maxLine>>20)
	} else if err != nil {
		return nil, err
	}
	return c.finish()
}

// Notes are sentences about what of the file is not played as it stands.
func (t *Trace) Notes(plan runplan.Trace) []string {
	var out []string
	say := func(n int, format string, args ...any) {
		if n > 0 {
			out = append(out, fmt.Sprintf("%d of %d requests of the trace ", n, t.Read.Rows)+fmt.Sprintf(format, args...))
		}
	}
	say(t.Read.Outside, "are left out: they lie outside of %s", window(plan))
	say(t.Read.TooLong, "are left out: their input is longer than %d tokens", plan.MaxInput)
	say(t.Read.Orphans, "are left out: an earlier turn of their session is")
	say(t.Read.Cut, "ask for %d output tokens instead of more", plan.MaxOutput)
	say(t.Read.Raised, "have a length of 0: 1 token is asked for")
	return out
}

func window(plan runplan.Trace) string {
	to := "the end"
	if plan.To > 0 {
		to = time.Duration(plan.To).String()
	}
	return time.Duration(plan.From).String() + " to " + to
}
