package collect

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"bflow.dev/bflow/tasks/contract"
	"bflow.dev/bflow/tasks/report"
	"bflow.dev/bflow/tasks/runplan"
	"bflow.dev/bflow/tasks/step"
)

// metricsSchema names the format of metrics/<name>.json.
const metricsSchema = "bflow.metrics/1"

// metricsFile is metrics/<name>.json: one query, and its values or why there are none.
type metricsFile struct {
	Schema string    `json:"schema"`
	Name   string    `json:"name"`
	Query  string    `json:"query"`
	Start  time.Time `json:"start"`
	End    time.Time `json:"end"`
	Error  string    `json:"error,omitempty"`
	Series []series  `json:"series,omitempty"`
}

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
	server := newPrometheus(m, s.Env)
	release := metricsRelease(plan, o.RunID)
	var away error // no connection: the other queries need not wait for the same
	for _, name := range slices.Sorted(maps.Keys(m.Queries)) {
		f := metricsFile{Schema: metricsSchema, Name: name, Query: strings.ReplaceAll(m.Queries[name], "$release", release), Start: start, End: end}
		err := away
		if away == nil {
			f.Series, err = server.queryRange(ctx, f.Query, start, end)
		}
		if ctx.Err() != nil {
			return fmt.Errorf("collecting metric %q: %w", name, ctx.Err())
		}
		if err != nil {
			f.Error = step.Redact(err.Error(), server.token)
		}
		switch {
		case away == nil && unreachable(err):
			away = err
			fmt.Fprintf(s.Err, "collect: every metric from %q on is absent: %s\n", name, f.Error)
		case away == nil && err != nil:
			fmt.Fprintf(s.Err, "collect: metric %q is absent: %s\n", name, f.Error)
		}
		if err := step.WriteJSON(filepath.Join(o.RunDir, queryFile(name)), f); err != nil {
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
		if found, err := readOptional(filepath.Join(report.MeasurementDir(runDir, i), contract.FileLoadGen), &l); err == nil && found {
			span(&run, l)
		}
	}
	return run.Start, run.End, run.End.After(run.Start)
}

// queryFile is the file of a query, relative to the run directory. A name that cannot be that of a file is spelled
// with underscores and told from its like by a hash.
func queryFile(name string) string {
	safe := func(r rune) rune {
		if r == '_' || r == '-' || r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' {
			return r
		}
		return '_'
	}
	file := strings.Map(safe, name)
	if file != name {
		sum := fnv.New32a()
		sum.Write([]byte(name))
		file = fmt.Sprintf("%s-%08x", file, sum.Sum32())
	}
	return filepath.Join(contract.DirMetrics, file+".json")
}

// readQueries summarises the stored answers to the queries of the plan.
func readQueries(runDir string, plan *runplan.RunPlan) ([]report.Query, error) {
	if plan.Metrics == nil {
		return nil, nil
	}
	var out []report.Query
	for _, name := range slices.Sorted(maps.Keys(plan.Metrics.Queries)) {
		var f metricsFile
		err := step.ReadJSON(filepath.Join(runDir, queryFile(name)), &f)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		q := report.Query{Name: name, Query: f.Query, File: queryFile(name), Error: f.Error, Series: len(f.Series)}
		summarise(&q, f.Series)
		out = append(out, q)
	}
	return out, nil
}

func summarise(q *report.Query, all []series) {
	sum, highest := 0.0, 0.0
	for _, s := range all {
		for _, p := range s.Points {
			if q.Points == 0 || p[1] > highest {
				highest = p[1]
			}
			q.Points++
			sum += p[1]
		}
	}
	if q.Points == 0 {
		if q.Error == "" {
			q.Error = "the query returned no values"
		}
		return
	}
	mean := sum / float64(q.Points)
	q.Mean, q.Max = &mean, &highest
}
