package load

import (
	"cmp"

	"bflow.dev/bflow/load/shape"
	"bflow.dev/bflow/load/tool"
	"bflow.dev/bflow/runplan"
)

// addStages adds the stages of one entry of stages, which is at path.
func addStages(d *tool.Draft, path string, s *NativeStage, data *NativeData) {
	stages := s.Stages()
	for _, stage := range stages {
		load := shape.Load(&stage)
		stage.Measure, stage.PauseAfter = s.Measure, runplan.Duration(s.PauseAfter)
		s.words().put(&stage, load, "constant")
		b := tool.Bounds{Duration: runplan.Duration(s.Duration), Requests: s.Requests.Of(load)}
		if s.Measure {
			b = overridden(d, b, load)
		}
		setLimits(d, &stage, b, path, s.SkipFirst, s.SkipLast)
		for i := range s.Stop {
			stage.Stop = append(stage.Stop, s.Stop[i].plan(load))
		}
		switch {
		case s.Name != "" && len(stages) > 1:
			stage.Name = s.Name + "-" + shape.StageName(&stage)
		case s.Name != "":
			stage.Name = s.Name
		}
		at := d.Block.Below(path)
		d.KeepData(at, &stage, data.plan(load))
		d.AddStage(at, stage)
	}
}

// put fills in the words that depend on the shape of a stage; arrival is that of a rate which names none.
func (s shapeWords) put(stage *runplan.Stage, load float64, arrival string) {
	if shape.Of(stage.Shape).Takes.Arrival {
		stage.Arrival = cmp.Or(s.arrival, arrival)
	}
	stage.Burstiness, stage.MaxInflight = s.burstiness, s.maxInflight.Of(load)
	stage.SlotPer, stage.OnFull = s.slotPer, s.onFull
	stage.Ramp, stage.RampFrom = runplan.Duration(s.ramp.Over), s.ramp.From
	stage.RampShape, stage.RampSteps = s.ramp.Shape, s.ramp.Steps
}

// overridden is what bounds a measured stage of a load value, 0 where it has none: the overrides of the experiment
// replace its own bounds.
func overridden(d *tool.Draft, b tool.Bounds, load float64) tool.Bounds {
	if d.Over.MaxSeconds.IsSet() {
		b.Duration = d.Over.Duration()
	}
	if d.Over.MaxRequests.IsSet() {
		var value *float64
		if load > 0 {
			value = &load
		}
		b.Requests = d.Over.Requests(value)
	}
	return b
}

// setLimits fills in the bounds of the stage at path and what is not measured of it.
func setLimits(d *tool.Draft, stage *runplan.Stage, b tool.Bounds, path string, first, last Skip) {
	reportAt(d, path, checkSkips(first, last, b))
	stage.Duration, stage.Requests = b.Duration, b.Requests
	stage.SkipFirst, stage.SkipLast = first.Trim(b), last.Trim(b)
}
