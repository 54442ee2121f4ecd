package clusterrun

import (
	"regexp"
	"strconv"

	"bflow.dev/bflow/tasks/report"
)

// progressLine is what load-gen writes every few seconds. On a host its progress is a file beside the run; from a pod
// this line is all that leaves it before the run has ended.
const progressLine = `sample (\d+)/(\d+) stage (\d+)(?:/(\d+))? ("(?:[^"\\]|\\.)*") (\d+) s(?: of (\d+) s)?: (\d+) sent, (\d+) done, (\d+) in flight, (\d+) errors, ([\d.]+) req/s`

// parseProgress reads such a line.
func parseProgress(line string) (report.Progress, bool) {
	m := regexp.MustCompile(progressLine).FindStringSubmatch(line)
	if m == nil {
		return report.Progress{}, false
	}
	whole := func(i int) int {
		n, _ := strconv.Atoi(m[i]) // digits or nothing
		return n
	}
	name, err := strconv.Unquote(m[5])
	if err != nil {
		return report.Progress{}, false
	}
	rate, _ := strconv.ParseFloat(m[12], 64)
	p := report.Progress{Sample: whole(1) - 1, Samples: whole(2), Stage: whole(3) - 1, Stages: whole(4), Name: name, Measure: true,
		ElapsedS: float64(whole(6)), ExpectedS: float64(whole(7)), Sent: whole(8), Done: whole(9), InFlight: whole(10), Errors: whole(11), Rate: rate}
	return p, true
}
