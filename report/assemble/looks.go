package assemble

import (
	"errors"
	"path/filepath"
	"slices"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/runplan"
)

// readings are those of a measurement. Each is made over a connection of its own, so that behind a Service each may
// be of another replica: that is no restart, and what lies between two replicas is no difference.
type readings struct {
	engines int       // that may have answered; 0 = not known
	births  []float64 // of every process that has answered
}

// readingOrError is one reading, or why there is none.
type readingOrError struct {
	*reading
	err error
}

// Readings of which there is no difference.
var (
	errOnce     = errors.New("the engine's metrics were read only once")
	errRestart  = errors.New("the engine restarted during the stage")
	errReplicas = errors.New("the engine's metrics before and after the stage are, or may be, of different replicas")
)

// enginesOf returns how many engines answer at the address of a plan; 0 = not known, as behind one that was there
// before.
func enginesOf(d *runplan.Deployment) int {
	if d.Endpoint != nil {
		return 0
	}
	return max(1, d.Replicas)
}

// read reads what one scrape has left, and keeps which process it is of.
func (l *readings) read(dir string, s *report.Scrape) *readingOrError {
	if s.Error != "" {
		return &readingOrError{err: errors.New(s.Error)}
	}
	r, err := readScrape(filepath.Join(dir, s.File))
	if err != nil {
		return &readingOrError{err: err}
	}
	r.at = float64(s.UnixNS) / 1e9
	l.births = append(l.births, r.born)
	return &readingOrError{reading: r}
}

func (l *readingOrError) result() (*reading, error) {
	if l == nil {
		return nil, errOnce
	}
	return l.reading, l.err
}

// between returns what was counted between two readings, as far as they are of the same engine.
func (l *readings) between(before, after *reading) *difference {
	switch {
	case l.engines == 1:
		return subtract(before, after)
	case l.bornBetween(before.at, after.at):
		return &difference{restarted: true, err: errRestart}
	case before.born == 0 || after.born == 0:
		if l.engines == 0 {
			return subtract(before, after) // most addresses have one engine behind them
		}
		return &difference{err: errReplicas}
	case before.born != after.born:
		return &difference{err: errReplicas}
	}
	return subtract(before, after)
}

// bornBetween says whether a process that has ever answered started between two moments: a replica that did so before
// the stage was there all the time.
func (l *readings) bornBetween(from, to float64) bool {
	return slices.ContainsFunc(l.births, func(born float64) bool { return born > from && born <= to })
}
