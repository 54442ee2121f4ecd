package loadgen

import (
	"errors"
	"fmt"
	"strings"

	"bflow.dev/bflow/load/demand"
	"bflow.dev/bflow/load/shape"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/tasks/loadgen/search"
	"bflow.dev/bflow/verdict"
)

// check says, before any load, what of a measurement cannot be carried out.
func check(m *runplan.Measurement, slo *runplan.SLO) error {
	problems := demand.Bounds(m)
	if m.Runner != "" && m.Runner != runplan.RunnerNative {
		problems = append(problems, fmt.Errorf("runner %q is not load-gen's: its own image carries it out", m.Runner))
	}
	if m.Search != nil {
		if _, err := search.New(*m.Search); err != nil {
			problems = append(problems, err)
		}
		if slo == nil || slo.Goodput == nil {
			problems = append(problems,
				errors.New("load.search needs slo.goodput, which defines the requests that count as good"))
		}
	}
	if len(m.Stages) == 0 && m.Search == nil {
		problems = append(problems, errors.New("it has no stage"))
	}
	for i, s := range m.Stages {
		if err := checkStage(m, i, s); err != nil {
			problems = append(problems, fmt.Errorf("stage %d (%q): %w", i, s.Name, err))
		}
	}
	return errors.Join(problems...)
}

func checkStage(m *runplan.Measurement, i int, s runplan.Stage) error {
	switch of := shape.Of(s.Shape); {
	case of.Name == "":
		return fmt.Errorf("shape %q is not one of %s", s.Shape, strings.Join(shape.Names(), ", "))
	case of.Replays && m.Data.Trace == nil:
		return fmt.Errorf("%s: %s needs load.data.trace", of.Key, of.Name)
	case of.Schedule != nil && !of.Replays:
		if err := checkRate(i, s, of); err != nil {
			return err
		}
	}
	if s.Duration <= 0 && s.Requests <= 0 && m.Data.Trace == nil && (m.Data.Conversations <= 0 || m.Data.Reuse) {
		return errors.New("it never ends: give it a duration or a number of requests")
	}
	for _, r := range s.Stop {
		if !verdict.Known(r.Kind) {
			return fmt.Errorf("stop rule %q is not known", r.Kind)
		}
	}
	return nil
}

func checkRate(i int, s runplan.Stage, of shape.Shape) error {
	if b := s.Between; b != nil {
		if b.Low < 0 || b.High < 0 || b.Low >= i || b.High >= i {
			return errors.New("its rate lies between stages that do not come before it")
		}
		s.Rate = 1 // known when those stages have run
	}
	_, err := of.Schedule(s, shape.Input{Rate: s.Rate})
	return err
}
