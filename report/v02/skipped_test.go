package v02_test

import (
	"testing"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/report/v02"
	"bflow.dev/bflow/runplan"
)

func TestASampleThatWasSkippedDoesNotMoveTheStart(t *testing.T) {
	stage := func(sample int, ended string, start, end int64) report.Stage {
		s := report.Stage{}
		s.Sample, s.Ended = sample, ended
		s.StartNS, s.EndNS = start, end
		return s
	}
	ran, skipped := stage(0, "duration", 5e18, 5e18+2e9), stage(1, "skipped", 0, 0)
	m := report.Measurement{
		Samples: []report.Sample{{Stages: []report.Stage{ran}}, {Sample: 1, Stages: []report.Stage{skipped}}},
	}
	r := &report.Report{
		Plan: &runplan.RunPlan{Measurements: []runplan.Measurement{{}}}, Measurements: []report.Measurement{m},
	}
	doc, err := v02.Convert(r, &m, &ran)
	if err != nil {
		t.Fatal(err)
	}
	if got := doc.Run.Time; got == nil || got.Duration != "PT2.000000S" {
		t.Errorf("time %+v, want two seconds", got)
	}
}
