package export

import (
	"bytes"
	"strings"
	"testing"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/report/summary"
	"bflow.dev/bflow/runplan"
)

func TestAModelCannotPutAFormulaIntoASummary(t *testing.T) {
	r := &report.Report{
		Plan:         &runplan.RunPlan{},
		Measurements: []report.Measurement{{Samples: []report.Sample{{Stages: []report.Stage{{}}}}}},
	}
	r.Plan.Deployment.Model.Name = `=HYPERLINK("http://evil.example")`
	var out bytes.Buffer
	if err := summary.Write(&out, r); err != nil {
		t.Fatal(err)
	}
	if text := out.String(); strings.Contains(text, `,"=HYPERLINK`) || !strings.Contains(text, `'=HYPERLINK`) {
		t.Errorf("the model stands there as\n%s", text)
	}
}
