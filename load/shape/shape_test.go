package shape

import (
	"slices"
	"testing"
	"time"

	"bflow.dev/bflow/runplan"
)

func TestEveryShapeIsChosenByAFieldAndSendsInOneWay(t *testing.T) {
	var names []string
	for _, s := range All() {
		if slices.Contains(names, s.Name) || s.Name == "" {
			t.Errorf("%q is the name of two shapes, or of none", s.Name)
		}
		names = append(names, s.Name)
		if !slices.Contains(Keys(), s.Key) {
			t.Errorf("%s is chosen by %q, which is no field of a stage", s.Name, s.Key)
		}
		if (s.Schedule == nil) == (s.Slots == nil) {
			t.Errorf("%s has both a schedule and slots, or none of them", s.Name)
		}
		if s.Axis.Unit != "" && s.Axis.Label == "" {
			t.Errorf("%s has load values and no axis for them", s.Name)
		}
	}
}

func TestAFieldMakesStagesOfAShapeThatThereIs(t *testing.T) {
	all := Choice{
		ConcurrencyField: ConcurrencyField{List[int]{2, 3}}, RateField: RateField{List[float64]{0.5}},
		ScheduleField: ScheduleField{"trace"}, ThroughputField: ThroughputField{true},
		SynchronousField: SynchronousField{true},
	}
	var keys []string
	for _, g := range all.Given() {
		keys = append(keys, g.Key)
		for _, s := range g.Stages {
			if Of(s.Shape).Name == "" {
				t.Errorf("%s makes a stage of shape %q, which is none", g.Key, s.Shape)
			}
		}
	}
	if !slices.Equal(keys, Keys()) {
		t.Errorf("%v are set, want %v", keys, Keys())
	}
	if none := (Choice{}).Stages(); len(none) > 0 {
		t.Errorf("nothing is set and makes %v", none)
	}
}

func TestNamesOfStages(t *testing.T) {
	for _, row := range []struct {
		want  string
		stage runplan.Stage
	}{
		{"rate-0.5", runplan.Stage{Shape: runplan.ShapeOpen, Rate: 0.5}},
		{"open", runplan.Stage{Shape: runplan.ShapeOpen, Between: &runplan.Between{}}},
		{"concurrency-8", runplan.Stage{Shape: runplan.ShapeClosed, Concurrency: 8}},
		{"throughput-8", runplan.Stage{Shape: runplan.ShapeThroughput, MaxInflight: 8}},
		{"throughput", runplan.Stage{Shape: runplan.ShapeThroughput}},
		{"trace", runplan.Stage{Shape: runplan.ShapeTrace}},
		{"tide", runplan.Stage{Shape: "tide", Rate: 3}},
	} {
		if got := StageName(&row.stage); got != row.want {
			t.Errorf("%+v is named %q, want %q", row.stage, got, row.want)
		}
	}
}

func TestSlotsOfAStage(t *testing.T) {
	for _, row := range []struct {
		name  string
		stage runplan.Stage
		want  int
	}{
		{"as many as it says", runplan.Stage{Shape: runplan.ShapeClosed, Concurrency: 8, Requests: 3}, 8},
		{"a closed loop has at least one", runplan.Stage{Shape: runplan.ShapeClosed}, 1},
		{"the cap of a throughput", runplan.Stage{Shape: runplan.ShapeThroughput, MaxInflight: 8, Requests: 30}, 8},
		{"all requests at once", runplan.Stage{Shape: runplan.ShapeThroughput, Requests: 30}, 30},
		{"as much as the server takes", runplan.Stage{Shape: runplan.ShapeThroughput}, runplan.Uncapped},
	} {
		if got := Of(row.stage.Shape).Slots(&row.stage); got != row.want {
			t.Errorf("%s: %d slots, want %d", row.name, got, row.want)
		}
	}
}

func TestLengthOfAStage(t *testing.T) {
	window := &runplan.Trace{From: runplan.Duration(time.Second), To: runplan.Duration(3 * time.Second), TimeScale: 2}
	for _, row := range []struct {
		name  string
		stage runplan.Stage
		want  time.Duration // 0 = it is not known
	}{
		{"its duration, whatever its shape",
			runplan.Stage{Shape: "tide", Duration: runplan.Duration(time.Minute)}, time.Minute},
		{"requests at a rate", runplan.Stage{Shape: runplan.ShapeOpen, Rate: 4, Requests: 8}, 2 * time.Second},
		{"a rate that requests in flight hold up",
			runplan.Stage{Shape: runplan.ShapeOpen, Rate: 4, Requests: 8, MaxInflight: 1}, 0},
		{"a rate that stages before find",
			runplan.Stage{Shape: runplan.ShapeOpen, Requests: 8, Between: &runplan.Between{}}, 0},
		{"the window of a trace, slowed down", runplan.Stage{Shape: runplan.ShapeTrace}, 4 * time.Second},
		{"slots are as fast as the server", runplan.Stage{Shape: runplan.ShapeClosed, Concurrency: 2, Requests: 8}, 0},
	} {
		got, known := Length(&row.stage, window)
		if got != row.want || known != (row.want > 0) {
			t.Errorf("%s: %v, %v; want %v", row.name, got, known, row.want)
		}
	}
}

func TestLookingForAShapeAllocatesNothing(t *testing.T) {
	if n := testing.AllocsPerRun(10, func() { _ = HasSlots(runplan.ShapeThroughput) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
}
