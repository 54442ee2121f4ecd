package assemble

import (
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// reading is one reading of an engine's metrics, each summed over its label sets (replicas, engine cores, models).
type reading struct {
	counters   map[string]float64
	gauges     map[string]float64
	histograms map[string]buckets
	started    float64 // process_start_time_seconds, summed; 0 where the engine does not say
	born       float64 // when the process started that answered, the last where several did; 0 where it does not say
	at         float64 // when it was read, as Unix seconds
}

// processStart is when a process started, as Unix seconds, in the metrics of most client libraries.
const processStart = "process_start_time_seconds"

// buckets is a histogram: cumulative counts at upper bounds in seconds, in ascending order, +Inf left out.
type buckets struct {
	bounds []float64
	counts []float64
	n, sum float64
}

func readScrape(path string) (*reading, error) {
	f, err := os.Open(filepath.Clean(path))
	if err != nil {
		return nil, fmt.Errorf("reading the engine's metrics: %w", err)
	}
	defer f.Close()
	r, err := parseScrape(f)
	if err != nil {
		return nil, fmt.Errorf("reading the engine's metrics %q: %w", filepath.Base(path), err)
	}
	return r, nil
}

func parseScrape(text io.Reader) (*reading, error) {
	e, err := parseExposition(text)
	if err != nil {
		return nil, err
	}
	r := &reading{counters: map[string]float64{}, gauges: map[string]float64{}, histograms: map[string]buckets{},
		started: e.sums[processStart], born: e.started}
	if r.born == 0 {
		r.born = e.created
	}
	for _, entry := range counters() {
		if name, ok := e.find(entry); ok {
			r.counters[entry.id] = e.sums[name]
		}
	}
	for _, entry := range gauges() {
		if name, ok := e.find(entry); ok {
			r.gauges[entry.id] = e.sums[name]
			if entry.id == shareKVCache {
				r.gauges[entry.id] /= float64(e.lines[name])
			}
		}
	}
	for _, entry := range histograms() {
		for _, name := range entry.names {
			if e.buckets[name] != nil {
				r.histograms[entry.id] = e.histogram(name)
				break
			}
		}
	}
	return r, nil
}

// plainName is the name without what platforms and client libraries put around it.
func plainName(name string) string {
	return strings.TrimSuffix(strings.TrimPrefix(name, "kserve_"), "_total")
}

// find returns the first name of the entry that is there.
func (e *exposition) find(entry catalogueEntry) (string, bool) {
	for _, name := range entry.names {
		if e.lines[name] > 0 {
			return name, true
		}
	}
	return "", false
}

func (e *exposition) histogram(name string) buckets {
	h := buckets{n: e.sums[name+"_count"], sum: e.sums[name+"_sum"], bounds: slices.Sorted(maps.Keys(e.buckets[name]))}
	for _, bound := range h.bounds {
		h.counts = append(h.counts, e.buckets[name][bound])
	}
	return h
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }
