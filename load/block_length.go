package load

import (
	"bflow.dev/bflow/load/tool"
	"bflow.dev/bflow/runplan"
)

// drawn is the length as a plan has it, whatever its shape is named.
func (l *Length) drawn() runplan.Length {
	out := runplan.Length{Mean: l.Mean, Stdev: l.Stdev}
	if l.Min != nil {
		out.Min = *l.Min
	}
	if l.Max != nil {
		out.Max = *l.Max
	}
	return tool.SettleShape(out)
}

// plan is the length of a plan; nil where there is none.
func (l *Length) plan() *runplan.Length {
	if l == nil {
		return nil
	}
	out := l.drawn()
	switch l.Shape {
	case "":
	case "fixed":
		out = runplan.Length{Shape: l.Shape, Mean: l.Mean}
	default:
		out.Shape = l.Shape
	}
	return &out
}
