package assemble

import (
	"testing"

	"bflow.dev/bflow/report"
)

func TestTheLoadWindowSpansAllMeasurements(t *testing.T) {
	var run report.RunInfo
	Span(&run, report.LoadGen{StartNS: 2e9, EndNS: 3e9})
	Span(&run, report.LoadGen{StartNS: 1e9, EndNS: 2e9})
	if run.Start.Unix() != 1 || run.End.Unix() != 3 {
		t.Errorf("%v to %v", run.Start, run.End)
	}
}
