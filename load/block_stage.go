package load

import (
	"cmp"

	"bflow.dev/bflow/load/shape"
	"bflow.dev/bflow/runplan"
)

// blockStages adds the stages of one entry of stages, which is at path.
func (t *translator) blockStages(path string, s *NativeStage, data *NativeData) {
	stages := s.Choice.Stages()
	for _, stage := range stages {
		load := shape.Load(&stage)
		stage.Measure, stage.PauseAfter = s.Measure, runplan.Duration(s.PauseAfter)
		s.words().put(&stage, load, "constant")
		b := bounds{duration: runplan.Duration(s.Duration), requests: s.Requests.of(load)}
		if s.Measure {
			b = t.overridden(b, load)
		}
		t.limit(&stage, b, path, s.SkipFirst, s.SkipLast)
		for i := range s.Stop {
			stage.Stop = append(stage.Stop, s.Stop[i].plan(load))
		}
		switch {
		case s.Name != "" && len(stages) > 1:
			stage.Name = s.Name + "-" + shape.StageName(&stage)
		case s.Name != "":
			stage.Name = s.Name
		}
		at := t.block.below(path)
		t.keepData(at, &stage, data.plan(load))
		t.addStage(at, stage)
	}
}

// put fills in the words that depend on the shape of a stage; arrival is that of a rate which names none.
func (s shapeWords) put(stage *runplan.Stage, load float64, arrival string) {
	if shape.Of(stage.Shape).Takes.Arrival {
		stage.Arrival = cmp.Or(s.arrival, arrival)
	}
	stage.Burstiness, stage.MaxInflight = s.burstiness, s.maxInflight.of(load)
	stage.SlotPer, stage.OnFull = s.slotPer, s.onFull
	stage.Ramp, stage.RampFrom = runplan.Duration(s.ramp.Over), s.ramp.From
	stage.RampShape, stage.RampSteps = s.ramp.Shape, s.ramp.Steps
}

// overridden is what bounds a measured stage of a load value, 0 where it has none: the overrides of the experiment
// replace its own bounds.
func (t *translator) overridden(b bounds, load float64) bounds {
	if t.over.maxSeconds.set() {
		b.duration = t.over.duration()
	}
	if t.over.maxRequests.set() {
		var value *float64
		if load > 0 {
			value = &load
		}
		b.requests = t.over.requests(value)
	}
	return b
}

// limit fills in the bounds of the stage at path and what is not measured of it.
func (t *translator) limit(stage *runplan.Stage, b bounds, path string, first, last Skip) {
	t.reportAt(path, checkSkips(first, last, b))
	stage.Duration, stage.Requests = b.duration, b.requests
	stage.SkipFirst, stage.SkipLast = first.trim(b), last.trim(b)
}
