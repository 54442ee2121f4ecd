package record

import (
	"testing"

	"bflow.dev/bflow/report"
)

func TestRequestsAreSplitByAdapter(t *testing.T) {
	one, two := answered(1, 2), answered(1, 2)
	failed, none := answered(1, 2), answered(1, 2)
	one.Adapter, two.Adapter, failed.Adapter = 0, 1, 1
	one.Token(10e6, 1)
	two.Token(30e6, 1)
	failed.Status = report.StatusFailed
	in := &Stage{End: 1e9, WindowEnd: 1e9, DrainEnd: 1e9, Adapters: []string{"cats", "dogs"}}
	in.Plan.Measure = true
	a := newAccount(in, span{end: 1e9, to: 4}, new(store))
	for _, o := range []*Outcome{one, two, failed, none} {
		row := Row(o, Names{Adapters: in.Adapters}, 0, 0, report.PhaseMeasured)
		if (o == none) != (row.Adapter == "") {
			t.Errorf("adapter %q", row.Adapter)
		}
		a.add(o, &row)
	}
	got := a.numbers(t).Result.Adapters
	if dogs := got["dogs"]; len(got) != 2 || dogs.Requests != 2 || dogs.OK != 1 || dogs.Metrics["ttft"].Mean != 30 ||
		got["cats"].Metrics["ttft"].N != 1 {
		t.Errorf("%+v", got)
	}
	if got := accountOf(one).numbers(t).Result.Adapters; got != nil {
		t.Errorf("adapters of a plan without any: %+v", got)
	}
}
