// Package shape describes the load shapes: by which field of a file a stage gets one, when its requests are sent, how
// long it takes, and how charts show it. Each shape is one file; docs/extend.md says how to add one. The package is
// arithmetic: it reads no clock, waits for nothing, and knows no request.
package shape

import (
	"slices"
	"strings"
	"time"

	"bflow.dev/bflow/load/schedule"
	"bflow.dev/bflow/runplan"
)

// Shape is how the requests of a stage are sent: at the times of a schedule, whatever the server does, or by slots,
// each of which sends its next request when the one before has ended.
type Shape struct {
	Name string // in a plan
	Key  string // the field of a file that chooses it; of several the one that messages name
	Axis Axis

	Takes   Takes
	Refuses Refuses

	// Replays means that the stage plays data.trace, which it needs, and ends with it.
	Replays bool
	// Paced means that requests are sent at the rate of the stage: so many in its duration, and load-gen judges by it.
	Paced bool

	// Schedule returns the sends of a stage. It is nil for slots.
	Schedule func(s runplan.Stage, in Input) (schedule.Schedule, error)
	// Slots is how many requests slots keep in flight. It is nil for a schedule.
	Slots func(s *runplan.Stage) int
	// Length is how long a stage without a duration takes; false where its bounds do not say. Nil is never known.
	Length func(s *runplan.Stage, trace *runplan.Trace) (length time.Duration, known bool)
	// Label names a stage that a file gives no name. Nil, or a label of "", is the name of the shape.
	Label func(s *runplan.Stage) string
	// Most bounds the requests of a stage and those in flight. Nil is runplan.MostRequests for both.
	Most func(s *runplan.Stage) (requests, inFlight int)
}

// Takes are the fields of a stage that have a meaning with some shapes alone.
type Takes struct {
	Arrival  bool // arrival
	Ramp     bool // ramp
	RampForm bool // from, shape and steps of ramp
	SlotPer  bool // slot_per
}

// Refuses says why a stage with a shape must not have a field; "" = it may.
type Refuses struct {
	MaxInflight, OnFull string
}

// Axis is how charts show the loads of a shape.
type Axis struct {
	Label string // of the axis; "" = the loads of the shape have no place on one
	Unit  string // stands behind a load value; "" = stages of the shape have none, and its name stands for them
}

// Input is what a schedule follows from, beside its stage.
type Input struct {
	Rate  float64 // in force: that of the stage, or one that stages before have found
	Seed  uint64  // the same seed gives the same times
	Trace Trace   // nil = there is none
}

// Trace is a recorded load that has been read.
type Trace interface {
	Schedule(s runplan.Stage) (schedule.Schedule, error)
}

// Of returns the shape of a name in a plan. A name that is none has the zero Shape, which neither follows a schedule
// nor has slots.
func Of(name string) Shape {
	for _, of := range registry() {
		if s := of(); s.Name == name {
			return s
		}
	}
	return Shape{}
}

// All are the shapes in the order in which charts show them.
func All() (all []Shape) {
	for _, of := range registry() {
		all = append(all, of())
	}
	return all
}

// Rank is the place of a shape in charts, -1 for a name that is none.
func Rank(name string) int {
	return slices.IndexFunc(All(), func(s Shape) bool { return s.Name == name })
}

// Names are those of all shapes, sorted.
func Names() (all []string) {
	for _, s := range All() {
		all = append(all, s.Name)
	}
	slices.Sort(all)
	return all
}

// KeysThatTake are the fields that choose a shape for which takes holds: "rate or schedule".
func KeysThatTake(takes func(Takes) bool) string {
	var keys []string
	for _, s := range All() {
		if takes(s.Takes) {
			keys = append(keys, s.Key)
		}
	}
	return strings.Join(keys, " or ")
}

// StageName is the name of a stage that the file gives none.
func StageName(s *runplan.Stage) string {
	if label := Of(s.Shape).Label; label != nil {
		if name := label(s); name != "" {
			return name
		}
	}
	return s.Shape
}

// Load is the load value of a stage, a rate or a number of slots; 0 where its shape has none.
func Load(s *runplan.Stage) float64 {
	if s.Rate != 0 {
		return s.Rate
	}
	return float64(s.Concurrency)
}

// Length is how long a stage takes until its last request is sent; false where its bounds do not say.
func Length(s *runplan.Stage, trace *runplan.Trace) (length time.Duration, known bool) {
	switch of := Of(s.Shape); {
	case s.Duration > 0:
		return s.Duration.D(), true
	case of.Length != nil:
		return of.Length(s, trace)
	}
	return 0, false
}

// Most bounds the requests of a stage, and those in flight.
func Most(s *runplan.Stage) (requests, inFlight int) {
	if most := Of(s.Shape).Most; most != nil {
		return most(s)
	}
	return runplan.MostRequests, runplan.MostRequests
}

// AxisOf is how charts show a shape. One that nobody knows is shown as a rate.
func AxisOf(name string) Axis {
	if of := Of(name); of.Name != "" {
		return of.Axis
	}
	return open().Axis
}

// HasSchedule reports whether a shape sends by a schedule. Where it does not, it may be no shape at all.
func HasSchedule(name string) bool { return Of(name).Schedule != nil }

// HasSlots reports whether requests of a shape wait for answers to those before them.
func HasSlots(name string) bool { return Of(name).Slots != nil }

// InFlight is how many requests of a stage are in flight at most, for a stage whose load is no number of slots.
func InFlight(s *runplan.Stage) int {
	switch {
	case s.MaxInflight > 0:
		return s.MaxInflight
	case s.Requests > 0:
		return s.Requests
	}
	return runplan.Uncapped
}
