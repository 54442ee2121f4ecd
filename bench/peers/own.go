package main

import (
	"fmt"
	"time"

	"bflow.dev/bflow/bench/rig"
	"bflow.dev/bflow/bench/truth"
	"bflow.dev/bflow/report"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/sim"
)

// own is load-gen.
type own struct{ lab *lab }

func (*own) name() string { return "load-gen" }

func (*own) records(log []sim.Record) []sim.Record { return truth.OfStage(log, 0) }

func (o *own) run(dir, url string, of load) (outcome, error) {
	plan := rig.Plan(of.output, stage(of))
	plan.Measurements[0].Record = &runplan.Record{Gaps: true}
	p, err := rig.StartLoadGen(o.lab.ctx, rig.LoadGenOptions{Binary: o.lab.bins.LoadGen, Dir: dir,
		Core: o.lab.cores.Client, Endpoint: url, Plan: plan})
	if err != nil {
		return outcome{}, err
	}
	w := startWatch(p.Pid)
	r, err := p.Wait()
	close(w.stop)
	<-w.ended
	out := outcome{Usage: r.Usage, cpu: w.curve, memory: max(w.memory, r.PeakTree)}
	if err != nil {
		return out, err
	}
	out.claims, err = ownClaims(r)
	return out, err
}

// stage is the load in load-gen's words.
func stage(of load) runplan.Stage {
	s := runplan.Stage{Name: of.name, Measure: true, Shape: runplan.ShapeClosed, Concurrency: of.streams,
		Duration: runplan.Duration(of.seconds * float64(time.Second))}
	if of.seconds == 0 {
		s.Requests = of.requests
	}
	switch of.shape {
	case closed:
	case constant:
		s.Shape, s.Rate, s.Arrival = runplan.ShapeOpen, of.rate, "constant"
	case poisson:
		s.Shape, s.Rate, s.Arrival = runplan.ShapeOpen, of.rate, "poisson"
	}
	return s
}

func ownClaims(r rig.LoadGenRun) (claims, error) {
	if len(r.Stages) != 1 {
		return claims{}, fmt.Errorf("load-gen left %d stages", len(r.Stages))
	}
	s := r.Stages[0]
	c := claims{summary: true, itlP99: s.Metrics["itl"].Quantiles["p99"]}
	_, rows, err := report.ReadRows(r.Rows)
	if err != nil {
		return c, err
	}
	for _, row := range rows {
		switch row.Status {
		case report.StatusOK:
			c.ok++
			c.rows = append(c.rows, row)
			c.gaps = c.gaps || len(row.Gaps) > 0
		case report.StatusCut, report.StatusCancelled:
			c.cut++
		default:
			c.errors++
		}
	}
	for _, check := range s.Checks {
		if check.Name == "inexact_length_share" && !check.OK {
			c.noticedLengths = true
		}
	}
	return c, nil
}
