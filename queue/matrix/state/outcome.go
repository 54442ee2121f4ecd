package state

import (
	"bytes"
	"fmt"
	"strconv"

	"bflow.dev/bflow/verdict"
)

// Outcome is what became of a point. Capital letters are runs that failed as PipelineRuns: what is found of a point,
// and whether its experiment wants it to fail for that, are two things.
type Outcome byte

// Outcomes.
const (
	None         Outcome = '.' // no run of it is made yet
	Made         Outcome = 'o' // its run is made and has not ended
	Passed       Outcome = 'p'
	Breached     Outcome = 'f' // the verdict is fail, and the run is green
	Failed       Outcome = 'F'
	Doubted      Outcome = 'i' // the verdict is invalid, and the run is green
	Invalid      Outcome = 'I'
	Unclear      Outcome = 'n' // the verdict is inconclusive, and the run is green
	Inconclusive Outcome = 'N'
	Cancelled    Outcome = 'c'
	Deleted      Outcome = 'd'
	Skipped      Outcome = 's'
)

// Ended says whether nothing will change any more.
func (o Outcome) Ended() bool { return o != None && o != Made }

// Red says whether the run failed as a PipelineRun.
func (o Outcome) Red() bool { return o >= 'A' && o <= 'Z' }

// Good says whether a person who runs again what failed leaves the point out.
func (o Outcome) Good() bool {
	return o == Passed || o.Ended() && o >= 'a' && o != Cancelled && o != Deleted && o != Skipped
}

// Verdict is the word of a point that was measured, "" of any other.
func (o Outcome) Verdict() string {
	switch o {
	case Passed:
		return verdict.Pass
	case Breached, Failed:
		return verdict.Fail
	case Doubted, Invalid:
		return verdict.Invalid
	case Unclear, Inconclusive:
		return verdict.Inconclusive
	}
	return ""
}

// Word says it to a person.
func (o Outcome) Word() string {
	switch o {
	case None:
		return "waiting"
	case Made:
		return "made"
	case Cancelled:
		return "cancelled"
	case Deleted:
		return "deleted"
	case Skipped:
		return "skipped"
	case Passed:
		return "passed"
	case Breached, Failed:
		return "failed"
	}
	return o.Verdict()
}

// Of is the outcome of a run that ended by itself, from its verdict.
func Of(word string, green bool) Outcome {
	switch {
	case word == verdict.Invalid && green:
		return Doubted
	case word == verdict.Invalid:
		return Invalid
	case word == verdict.Inconclusive && green:
		return Unclear
	case word == verdict.Inconclusive:
		return Inconclusive
	case !green:
		return Failed
	case word == verdict.Fail:
		return Breached
	}
	return Passed
}

// Encode writes outcomes in runs: a number, where it is more than one, and a letter.
func Encode(all []Outcome) string {
	var b bytes.Buffer
	for i := 0; i < len(all); {
		n := 1
		for i+n < len(all) && all[i+n] == all[i] {
			n++
		}
		if n > 1 {
			b.WriteString(strconv.Itoa(n))
		}
		b.WriteByte(byte(all[i]))
		i += n
	}
	return b.String()
}

// Decode reads what Encode writes. It returns points outcomes: what is not told is None.
func Decode(text string, points int) ([]Outcome, error) {
	all := make([]Outcome, 0, points)
	n := 0
	for i := range len(text) {
		c := text[i]
		switch {
		case c >= '0' && c <= '9':
			if n = n*10 + int(c-'0'); n > points {
				return nil, fmt.Errorf("reading the outcomes of a matrix: more than its %d points", points)
			}
		case bytes.IndexByte([]byte(".opfFiInNcds"), c) < 0:
			return nil, fmt.Errorf("reading the outcomes of a matrix: %q is not an outcome", c)
		default:
			for range max(n, 1) {
				all = append(all, Outcome(c))
			}
			n = 0
		}
		if len(all) > points {
			return nil, fmt.Errorf("reading the outcomes of a matrix: more than its %d points", points)
		}
	}
	for len(all) < points {
		all = append(all, None)
	}
	return all, nil
}

// Tally counts outcomes; those that are made and not at their end are left to the caller.
func Tally(all []Outcome) Counts {
	var c Counts
	for _, o := range all {
		switch o {
		case None:
			c.Waiting++
		case Passed:
			c.Passed++
		case Breached, Failed:
			c.Failed++
		case Doubted, Invalid:
			c.Invalid++
		case Unclear, Inconclusive:
			c.Inconclusive++
		case Cancelled:
			c.Cancelled++
		case Deleted:
			c.Deleted++
		case Skipped:
			c.Skipped++
		}
	}
	return c
}

// Verdict is that of the whole: the worst of its points; a point that was not measured makes it inconclusive.
func (c Counts) Verdict() string {
	switch {
	case c.Failed > 0:
		return verdict.Fail
	case c.Invalid > 0:
		return verdict.Invalid
	case c.Inconclusive+c.Cancelled+c.Deleted+c.Skipped+c.Waiting+c.Queued+c.Running > 0:
		return verdict.Inconclusive
	}
	return verdict.Pass
}
