package collect

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"bflow.dev/bflow/internal/durable"
	"bflow.dev/bflow/report"
	"bflow.dev/bflow/report/assemble"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/tasks/step"
)

// queryPrometheus asks every query of the plan over the load window. A query that fails marks its metric absent.
func queryPrometheus(ctx context.Context, s step.Streams, o Options, plan *runplan.RunPlan) error {
	m := plan.Metrics
	if m == nil || m.PrometheusURL == "" || len(m.Queries) == 0 || !plan.Execution.Phases.Collect {
		return nil
	}
	start, end, ok := loadWindow(o.RunDir, plan)
	if !ok {
		return nil
	}
	secrets := o.Secrets()
	asked := *m
	var err error
	if asked.PrometheusURL, err = runplan.FillAddress(m.PrometheusURL, secrets.Find); err != nil {
		return err
	}
	server := newPrometheus(&asked, folders{metrics: o.MetricsDir, pod: serviceAccount}, s.Env)
	release := metricsRelease(plan, o.RunID)
	var away error // no connection: the other queries need not wait for the same
	for _, name := range slices.Sorted(maps.Keys(m.Queries)) {
		f := assemble.Answer{
			Schema: assemble.QueriesSchema, Name: name,
			Query: strings.ReplaceAll(m.Queries[name], "$release", release), Start: start, End: end,
		}
		err := away
		if away == nil {
			f.Series, err = server.queryRange(ctx, f.Query, start, end)
		}
		if ctx.Err() != nil {
			return fmt.Errorf("collecting metric %q: %w", name, ctx.Err())
		}
		if err != nil {
			f.Error = step.Redact(step.Redact(err.Error(), server.token), secrets.Values()...)
		}
		switch {
		case away == nil && unreachable(err):
			away = err
			fmt.Fprintf(s.Err, "collect: every metric from %q on is absent: %s\n", name, f.Error)
		case away == nil && err != nil:
			fmt.Fprintf(s.Err, "collect: metric %q is absent: %s\n", name, f.Error)
		}
		if err := durable.WriteJSON(filepath.Join(o.RunDir, assemble.QueryFile(name)), f); err != nil {
			return err
		}
	}
	return nil
}

// unreachable says whether err means that there is no way to the server at all.
func unreachable(err error) bool {
	var op *net.OpError
	return errors.As(err, &op) && op.Op == "dial"
}

// metricsRelease is the name under which the metrics of the server are labelled.
func metricsRelease(plan *runplan.RunPlan, runID string) string {
	if e := plan.Deployment.Endpoint; e != nil && e.MetricsRelease != "" {
		return e.MetricsRelease
	}
	return runplan.Release(plan, runID)
}

// loadWindow spans all measurements; false where none has run.
func loadWindow(runDir string, plan *runplan.RunPlan) (start, end time.Time, ok bool) {
	var run report.RunInfo
	for i := range plan.Measurements {
		var l report.LoadGen
		if err := step.ReadJSON(filepath.Join(report.MeasurementDir(runDir, i), contract.FileLoadGen), &l); err == nil {
			assemble.Span(&run, l)
		}
	}
	return run.Start, run.End, run.End.After(run.Start)
}
