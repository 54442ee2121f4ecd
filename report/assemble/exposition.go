package assemble

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
)

// exposition is a metrics text with all label sets of a name added up, which is what a whole deployment counts.
type exposition struct {
	sums    map[string]float64             // by plain name
	lines   map[string]int                 // how many were added
	buckets map[string]map[float64]float64 // by plain name without _bucket: upper bound to cumulative count
	started float64                        // when the last of its processes started; 0 where none says
	created float64                        // when the first of its metrics was made; 0 where none says
}

// maxLine bounds one line of a metrics text.
const maxLine = 1 << 20

// parseExposition reads the text format of Prometheus, or OpenMetrics as far as engines write it. Values that are no
// numbers are left out.
func parseExposition(text io.Reader) (*exposition, error) {
	e := &exposition{sums: map[string]float64{}, lines: map[string]int{}, buckets: map[string]map[float64]float64{}}
	scanner := bufio.NewScanner(text)
	scanner.Buffer(make([]byte, 64<<10), maxLine)
	for n := 1; scanner.Scan(); n++ {
		line := strings.TrimSpace(scanner.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		if err := e.add(line); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
	}
	return e, scanner.Err()
}

func (e *exposition) add(line string) error {
	name, bound, rest, err := splitSample(line)
	if err != nil {
		return err
	}
	fields := strings.Fields(rest) // a time or an exemplar may follow the value
	if len(fields) == 0 {
		return fmt.Errorf("%q has no value", name)
	}
	value, err := strconv.ParseFloat(fields[0], 64)
	if err != nil {
		return fmt.Errorf("value %q of %q is no number", fields[0], name)
	}
	if !finite(value) {
		return nil
	}
	name = plainName(name)
	e.date(name, value)
	if base, ok := strings.CutSuffix(name, "_bucket"); ok && bound != "" {
		return e.addBucket(base, bound, value)
	}
	if sum := e.sums[name] + value; finite(sum) {
		e.sums[name] = sum
	}
	e.lines[name]++
	return nil
}

// date notes what tells one process from another.
func (e *exposition) date(name string, value float64) {
	switch {
	case name == processStart:
		e.started = max(e.started, value)
	case strings.HasSuffix(name, "_created") && value > 0 && (e.created == 0 || value < e.created):
		e.created = value
	}
}

func (e *exposition) addBucket(base, bound string, count float64) error {
	le, err := strconv.ParseFloat(bound, 64)
	if err != nil || math.IsNaN(le) {
		return fmt.Errorf("bound %q of %q is no number", bound, base)
	}
	if e.buckets[base] == nil {
		e.buckets[base] = map[float64]float64{}
	}
	if !math.IsInf(le, 0) {
		e.buckets[base][le] += count
	}
	return nil
}

// splitSample takes a line apart: the name, the label le where there is one, and what follows.
func splitSample(line string) (name, bound, rest string, err error) {
	end := strings.IndexAny(line, "{ \t")
	if end <= 0 {
		return "", "", "", fmt.Errorf("%.40q is no metric", line)
	}
	name, rest = line[:end], strings.TrimLeft(line[end:], " \t")
	if !strings.HasPrefix(rest, "{") {
		return name, "", rest, nil
	}
	for rest = rest[1:]; ; {
		rest = strings.TrimLeft(rest, ", \t")
		if after, ok := strings.CutPrefix(rest, "}"); ok {
			return name, bound, after, nil
		}
		var label, value string
		if label, value, rest, err = splitLabel(rest); err != nil {
			return "", "", "", fmt.Errorf("labels of %q: %w", name, err)
		}
		if label == "le" {
			bound = value
		}
	}
}

// splitLabel reads `label="value"`; in the value \" stands for a quote and \\ for a backslash.
func splitLabel(text string) (label, value, rest string, err error) {
	label, quoted, ok := strings.Cut(text, `="`)
	if !ok {
		return "", "", "", errors.New("no quoted value")
	}
	for i := 0; i < len(quoted); i++ {
		switch quoted[i] {
		case '\\':
			i++
		case '"':
			return strings.TrimSpace(label), quoted[:i], quoted[i+1:], nil
		}
	}
	return "", "", "", errors.New("a quote is not closed")
}
