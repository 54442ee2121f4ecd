package loadgen

import (
	"context"
	"fmt"
	"strings"
	"time"

	"bflow.dev/bflow/internal/durable"
	"bflow.dev/bflow/report"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/tasks/loadgen/search"
)

// Bounds of a level of a search where the plan gives none.
const (
	levelLength = 30 * time.Second
	levelWarmUp = 5 * time.Second
)

// search tries one load after the other until it knows the highest that holds. Each trial is a stage behind those of
// the plan, with prompts of its own and a server that has drained.
func (m *measurement) search(ctx context.Context, sample int) error {
	s, err := search.New(*m.plan.Search)
	if err != nil {
		return err
	}
	for i := len(m.plan.Stages); ctx.Err() == nil; i++ {
		level, ok := s.Next()
		if !ok {
			break
		}
		r, err := m.stage(ctx, sample, i, trial(m.plan.Search, level))
		if err != nil {
			return err
		}
		s.Report(level, outcome(r))
		if err := durable.WriteJSON(m.file(report.FileSearch), s.Result()); err != nil {
			return err
		}
	}
	result := s.Result()
	m.note("search: %s", result.Conclusion)
	return durable.WriteJSON(m.file(report.FileSearch), result)
}

// trial is the stage that measures a level.
func trial(plan *runplan.Search, l search.Level) runplan.Stage {
	s := runplan.Stage{Arrival: "poisson", Duration: runplan.Duration(levelLength),
		SkipFirst: runplan.Trim{Duration: runplan.Duration(levelWarmUp)}}
	if plan.Level != nil {
		s = *plan.Level
	}
	s.Measure = true
	s.Duration *= runplan.Duration(max(1, l.Stretch))
	s.Requests *= max(1, l.Stretch)
	if plan.Over == runplan.SearchConcurrency {
		s.Shape, s.Concurrency, s.Arrival = runplan.ShapeClosed, int(l.Value), ""
		s.Name = fmt.Sprintf("%s-%d", l.Step, s.Concurrency)
		return s
	}
	s.Shape, s.Rate = runplan.ShapeOpen, l.Value
	s.Name = fmt.Sprintf("%s-%g", l.Step, l.Value)
	return s
}

// outcome is what a stage says about a level. One that ended early, by a stop rule, counts as it stands.
func outcome(r *report.StageResult) search.Outcome {
	o := search.Outcome{}
	if g := r.Goodput; g != nil {
		// A request that was dropped found no place: the level is beyond the server, however good the others are.
		o.Good, o.Of = int64(g.Good), int64(g.Of+r.Counts.ByStatus[report.StatusDropped])
		if names := g.Unjudged(); len(names) > 0 {
			o.Invalid, o.Reason = true, "no answer has a "+strings.Join(names, " or ")
		}
	}
	if reason := invalid(r); reason != "" {
		o.Invalid, o.Reason = true, reason
	}
	return o
}

// invalid returns why a stage must not be believed, "" where it may be.
func invalid(r *report.StageResult) string {
	for _, c := range r.Checks {
		if !c.OK && !c.Note {
			return c.Reason
		}
	}
	return ""
}
