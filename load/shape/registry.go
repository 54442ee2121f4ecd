package shape

import (
	"reflect"
	"strings"

	"bflow.dev/bflow/runplan"
)

// registry lists the shapes in the order in which charts show them. It holds functions, so that looking for one of them
// allocates nothing.
func registry() []func() Shape {
	return []func() Shape{
		closed,
		open,
		trace,
		throughput,
	}
}

// Choice holds the fields of a stage of a load block that choose its shape: exactly one of them is set. Each is of the
// file of its shape. Their order is that of the documentation.
type Choice struct {
	ConcurrencyField
	RateField
	ScheduleField
	ThroughputField
	SynchronousField
}

// Field is a struct with one field of a file, the tags of which describe it.
type Field interface {
	// Stages are the stages that the field makes of one, each with its shape and its load value; none while it is not set.
	Stages() []runplan.Stage
}

// Given is a field that is set.
type Given struct {
	Key    string
	Stages []runplan.Stage
}

// Given are the fields that are set.
func (c Choice) Given() (set []Given) {
	c.each(func(key string, f Field) {
		if stages := f.Stages(); len(stages) > 0 {
			set = append(set, Given{key, stages})
		}
	})
	return set
}

// Stages are the stages that all fields make.
func (c Choice) Stages() (all []runplan.Stage) {
	for _, g := range c.Given() {
		all = append(all, g.Stages...)
	}
	return all
}

// Keys are the names of all fields.
func Keys() (all []string) {
	Choice{}.each(func(key string, _ Field) { all = append(all, key) })
	return all
}

// each visits the fields by reflection, so that a new one is named in Choice alone.
func (c Choice) each(visit func(key string, f Field)) {
	for _, field := range reflect.ValueOf(c).Fields() {
		key, _, _ := strings.Cut(field.Type().Field(0).Tag.Get("json"), ",")
		visit(key, field.Interface().(Field))
	}
}
