package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"bflow.dev/bflow/bench/rig"
	"bflow.dev/bflow/bench/truth"
	"bflow.dev/bflow/report"
	"bflow.dev/bflow/runplan"
)

// levels are the numbers of streams that are tried, upwards until the engine fails its proof or the client's core is
// full.
func (l *lab) levels() []int {
	if l.quick {
		return []int{100, 300, 600, 1000}
	}
	return []int{100, 200, 300, 400, 500, 600, 700, 800, 900, 1000, 1250, 1500}
}

// fullCore is the share of its core at which the client cannot take more.
const fullCore = 0.95

// Limits of G4.
const (
	userLimit   = 1000 // µs
	kernelLimit = 100  // µs
)

// pacedPlan is every stream once, evenly spread over a gap.
func pacedPlan(streams, tokens int) runplan.RunPlan {
	stage := closed(streams, streams)
	stage.Ramp = runplan.Duration(tokenGap)
	return rig.Plan(tokens, stage)
}

// level is what a number of streams gave.
type level struct {
	streams      int
	proved       bool // the engine was on time
	full         bool // the client's core
	disturbed    bool
	user, kernel float64 // p99 of the stamp error in µs; -1 = not known
}

// paced measures G3 and G4: it looks for the highest load that the engine proves, judges stamps on the way, and takes
// the processor time there.
func paced(l *lab) (found, error) {
	var tried []level
	for _, streams := range l.levels() {
		v, err := l.level(streams)
		if err == nil && !v.proved { // once more: it may have been somebody else's doing
			v, err = l.level(streams)
		}
		if err != nil {
			return nil, err
		}
		tried = append(tried, v)
		if !v.proved || v.full {
			break
		}
	}
	out := stampLevels(tried, l.levels())
	for i := len(tried) - 1; i >= 0; i-- {
		if !tried[i].proved {
			continue
		}
		v, err := l.pacedCPU(tried[i].streams)
		if err != nil {
			return nil, err
		}
		out["G3 paced events per CPU-second"] = v
		if v.void == "" {
			return out, nil
		}
	}
	if len(tried) > 0 && !tried[0].proved {
		out["G3 paced events per CPU-second"] = value{
			absent: fmt.Sprintf("the engine proves itself not even at %d streams", tried[0].streams),
		}
	}
	return out, nil
}

// level runs so many streams for a few seconds with every gap recorded.
func (l *lab) level(streams int) (level, error) {
	v := level{streams: streams, user: -1, kernel: -1}
	plan := pacedPlan(streams, 400)
	plan.Measurements[0].Record = &runplan.Record{Gaps: true}
	err := l.try(trial{sim: streaming(), plan: plan}, func(r result) error {
		v.proved, v.disturbed = r.late() == "", r.disturbed
		v.full = r.CPU().Seconds() > fullCore*r.Wall().Seconds()
		clock, pairs, _, err := r.pairs()
		if err != nil {
			return err
		}
		errs, err := truth.StampErrors(pairs, r.Load.AnchorMonoNS)
		if err != nil {
			l.say("no stamps to compare: %v", err)
			return nil
		}
		v.noteStamps(clock, truth.Quantiles(errs, 99)[0], r.Stages)
		l.say("%d streams: engine late p99 %v, client CPU %.0f %%, stamp error p99 %.1f µs (%s)",
			streams, time.Duration(r.stats.Lateness.P99),
			100*r.CPU().Seconds()/r.Wall().Seconds(), truth.Quantiles(errs, 99)[0], clock)
		return nil
	})
	return v, err
}

// noteStamps notes the p99 of the errors by the clock that made them. Of the kernel's stamps the client's lag makes the
// user's, by an upper bound.
func (v *level) noteStamps(clock string, p99 float64, stages []report.StageResult) {
	if clock != "kernel" {
		v.user = p99
		return
	}
	v.kernel = p99
	if lag, ok := stages[0].Metrics["client_lag"]; ok {
		v.user = p99 + 1e3*lag.Quantiles["p99"]
	}
}

// stampLevels makes the figures of G4: the highest number of streams up to which every level was within the limit.
func stampLevels(tried []level, all []int) found {
	out := found{}
	for _, kind := range []struct {
		key   string
		limit float64
		of    func(level) float64
	}{
		{"G4 streams with p99 stamp error < 1 ms, user", userLimit, func(v level) float64 { return v.user }},
		{"G4 streams with p99 stamp error < 100 µs, kernel", kernelLimit, func(v level) float64 { return v.kernel }},
	} {
		if v, ok := highest(tried, kind.limit, kind.of); ok {
			v.limited = v.limited && int(v.v) < all[len(all)-1]
			out[kind.key] = v
		}
	}
	return out
}

// highest returns the highest number of streams within the limit; limited tells that no proved level broke it. It
// returns false when no level has such a stamp.
func highest(tried []level, limit float64, of func(level) float64) (value, bool) {
	v := value{limited: true}
	known := false
	for _, t := range tried {
		if of(t) < 0 {
			continue
		}
		known = true
		if !t.proved {
			v.notes = append(v.notes, fmt.Sprintf("the engine does not prove itself at %d streams", t.streams))
			break
		}
		v.disturbed = v.disturbed || t.disturbed
		if of(t) >= limit {
			v.limited = false
			break
		}
		v.v = float64(t.streams)
	}
	if known && v.v == 0 && v.limited {
		v.void = strings.Join(v.notes, "; ")
	}
	return v, known
}

// pacedCPU takes the processor time per event at so many streams, and the floor's.
func (l *lab) pacedCPU(streams int) (v value, err error) {
	tokens := l.n(1000)
	floor, err := l.floor(streaming(), "--streams", strconv.Itoa(streams), "--requests", strconv.Itoa(streams),
		"--tokens", strconv.Itoa(tokens), "--ramp", tokenGap.String())
	if err != nil {
		return v, err
	}
	err = l.try(trial{sim: streaming(), plan: pacedPlan(streams, tokens)}, func(r result) error {
		log, err := truth.ReadLog(r.truth)
		if err != nil {
			return err
		}
		events := countLog(loads(log))
		v = r.value(float64(events) / r.CPU().Seconds())
		v.floor = float64(floor.Events) / floor.CPU.Seconds()
		v.notes = append(v.notes, fmt.Sprintf("at %d streams, %.0f events/s", streams, float64(events)/r.Wall().Seconds()))
		l.say("%d streams: client user %v, system %v; floor %.0f/s", streams, r.User, r.System, v.floor)
		return nil
	})
	return v, err
}
