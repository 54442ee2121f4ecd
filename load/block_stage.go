package load

import (
	"cmp"

	"bflow.dev/bflow/runplan"
)

// stageAt is a stage of a plan of which only shape and load value are known.
type stageAt struct {
	stage runplan.Stage
	load  float64 // 0 where the shape has none
}

// shapes are the stages that s makes: a list in concurrency or rate makes one per value.
func (s *NativeStage) shapes() []stageAt {
	var out []stageAt
	switch {
	case s.Schedule != "":
		out = append(out, stageAt{stage: runplan.Stage{Shape: runplan.ShapeTrace}})
	case s.Throughput:
		out = append(out, stageAt{stage: runplan.Stage{Shape: runplan.ShapeThroughput}})
	case s.Synchronous:
		out = append(out, stageAt{runplan.Stage{Name: "synchronous", Shape: runplan.ShapeClosed, Concurrency: 1}, 1})
	}
	for _, n := range s.Concurrency {
		out = append(out, stageAt{runplan.Stage{Shape: runplan.ShapeClosed, Concurrency: n}, float64(n)})
	}
	for _, x := range s.Rate {
		out = append(out, stageAt{runplan.Stage{Shape: runplan.ShapeOpen, Rate: x}, x})
	}
	return out
}

// blockStages adds the stages of one entry of stages, which is at path.
func (t *translator) blockStages(path string, s *NativeStage, data *NativeData) {
	shapes := s.shapes()
	for _, one := range shapes {
		stage := one.stage
		stage.Measure, stage.PauseAfter = s.Measure, runplan.Duration(s.PauseAfter)
		s.words().put(&stage, one.load, "constant")
		b := bounds{duration: runplan.Duration(s.Duration), requests: s.Requests.of(one.load)}
		if s.Measure {
			b = t.overridden(b, one.load)
		}
		t.limit(&stage, b, path, s.SkipFirst, s.SkipLast)
		for i := range s.Stop {
			stage.Stop = append(stage.Stop, s.Stop[i].plan(one.load))
		}
		switch {
		case s.Name != "" && len(shapes) > 1:
			stage.Name = s.Name + "-" + stageName(stage)
		case s.Name != "":
			stage.Name = s.Name
		}
		at := t.block.below(path)
		t.keepData(at, &stage, data.plan(one.load))
		t.addStage(at, stage)
	}
}

// put fills in the words that depend on the shape of a stage; arrival is that of a rate which names none.
func (s shapeWords) put(stage *runplan.Stage, load float64, arrival string) {
	if stage.Shape == runplan.ShapeOpen {
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
		b.duration = t.over.maxSeconds.positiveSeconds()
	}
	if t.over.maxRequests.set() {
		var value *float64
		if load > 0 {
			value = &load
		}
		b.requests = t.over.maxRequests.expand(value).integer(1)
	}
	return b
}

// limit fills in the bounds of the stage at path and what is not measured of it.
func (t *translator) limit(stage *runplan.Stage, b bounds, path string, first, last Skip) {
	t.reportAt(path, checkSkips(first, last, b))
	stage.Duration, stage.Requests = b.duration, b.requests
	stage.SkipFirst, stage.SkipLast = first.trim(b), last.trim(b)
}
