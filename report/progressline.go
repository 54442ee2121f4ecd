package report

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
)

// Line is progress for a person. On a host a program reads progress.json; from a pod this line is all that leaves it
// before the run has ended, so ParseProgress reads it back.
func (p Progress) Line() string {
	text := fmt.Sprintf("%s%d/%d stage %d", progressHead, p.Sample+1, p.Samples, p.Stage+1)
	if p.Stage < p.Stages { // the levels of a search come after the stages, and nobody knows how many
		text += fmt.Sprintf("/%d", p.Stages)
	}
	text += fmt.Sprintf(" %q%s %.0f s", p.Name, p.Again(), p.ElapsedS)
	if p.ExpectedS > 0 {
		text += fmt.Sprintf(" of %.0f s", p.ExpectedS)
	}
	text += fmt.Sprintf(": %d sent, %d done, %d in flight, %d errors, %.2f req/s",
		p.Sent, p.Done, p.InFlight, p.Errors, p.Rate)
	if p.TTFTMS > 0 {
		text += fmt.Sprintf(", mean TTFT %.3f ms", p.TTFTMS)
	}
	return text
}

// Again says which try at its stage it is, and why the one before was not the last; nothing of the first.
func (p Progress) Again() string {
	if p.Try == 0 {
		return ""
	}
	return fmt.Sprintf(" (try %d, after %s)", p.Try+1, p.After)
}

const progressHead = "sample "

// progressLine matches what Line writes.
const progressLine = progressHead +
	`(\d+)/(\d+) stage (\d+)(?:/(\d+))? ("(?:[^"\\]|\\.)*")(?: \(try (\d+), after (\w+)\))? (\d+) s(?: of (\d+) s)?: ` +
	`(\d+) sent, (\d+) done, (\d+) in flight, (\d+) errors, ([\d.]+) req/s(?:, mean TTFT ([\d.]+) ms)?`

// ParseProgress reads what Line wrote, with anything before it; false where line is something else. Every stage that is
// told of counts as measured: the line does not say.
func ParseProgress(line string) (Progress, bool) {
	if !strings.Contains(line, progressHead) {
		return Progress{}, false
	}
	m := regexp.MustCompile(progressLine).FindStringSubmatch(line)
	if m == nil {
		return Progress{}, false
	}
	whole := func(i int) int {
		n, _ := strconv.Atoi(m[i]) // digits or nothing
		return n
	}
	name, err := strconv.Unquote(m[5])
	if err != nil {
		return Progress{}, false
	}
	rate, _ := strconv.ParseFloat(m[14], 64)
	ttft, _ := strconv.ParseFloat(m[15], 64)
	p := Progress{Sample: whole(1) - 1, Samples: whole(2), Stage: whole(3) - 1, Stages: whole(4),
		Name: name, Measure: true,
		Try: max(0, whole(6)-1), After: m[7], ElapsedS: float64(whole(8)), ExpectedS: float64(whole(9)),
		Sent: whole(10), Done: whole(11), InFlight: whole(12), Errors: whole(13), Rate: rate, TTFTMS: ttft}
	return p, true
}
