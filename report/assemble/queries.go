package assemble

import (
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/tasks/step"
)

// QueriesSchema names the format of metrics/<name>.json.
const QueriesSchema = "bflow.metrics/1"

// Answer is metrics/<name>.json: one query, and its values or why there are none.
type Answer struct {
	Schema string    `json:"schema"`
	Name   string    `json:"name"`
	Query  string    `json:"query"`
	Start  time.Time `json:"start"`
	End    time.Time `json:"end"`
	Error  string    `json:"error,omitempty"`
	Series []Series  `json:"series,omitempty"`
}

// Series is one line of a range query: its labels and its points (unix seconds, value).
type Series struct {
	Labels map[string]string `json:"labels"`
	Points [][2]float64      `json:"points"`
}

// QueryFile is the file of a query, relative to the run directory. A name that cannot be that of a file is spelled
// with underscores and told from its like by a hash.
func QueryFile(name string) string {
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

// ReadQueries summarises the stored answers to the queries of the plan.
func ReadQueries(runDir string, plan *runplan.RunPlan) ([]report.Query, error) {
	if plan.Metrics == nil {
		return nil, nil
	}
	var out []report.Query
	for _, name := range slices.Sorted(maps.Keys(plan.Metrics.Queries)) {
		var f Answer
		err := step.ReadJSON(filepath.Join(runDir, QueryFile(name)), &f)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		q := report.Query{Name: name, Query: f.Query, File: QueryFile(name), Error: f.Error, Series: len(f.Series)}
		summarise(&q, f.Series)
		out = append(out, q)
	}
	return out, nil
}

func summarise(q *report.Query, all []Series) {
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
