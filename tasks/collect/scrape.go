package collect

import (
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// reading is one reading of an engine's metrics, each summed over its label sets (replicas, engine cores, models).
type reading struct {
	counters   map[string]float64
	gauges     map[string]float64
	histograms map[string]buckets
	started    float64 // process_start_time_seconds, summed; 0 where the engine does not say
}

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
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(text)
	if err != nil {
		return nil, err
	}
	plain := make(map[string]*dto.MetricFamily, len(families))
	for name, family := range families {
		plain[plainName(name)] = family
	}
	r := &reading{counters: map[string]float64{}, gauges: map[string]float64{}, histograms: map[string]buckets{}}
	for _, e := range counters() {
		if f := find(plain, e); f != nil {
			r.counters[e.id] = total(f)
		}
	}
	for _, e := range gauges() {
		if f := find(plain, e); f != nil {
			r.gauges[e.id] = gaugeValue(e.id, f)
		}
	}
	for _, e := range histograms() {
		if f := find(plain, e); f != nil && f.GetType() == dto.MetricType_HISTOGRAM {
			r.histograms[e.id] = addUp(f)
		}
	}
	if f := plain["process_start_time_seconds"]; f != nil {
		r.started = total(f)
	}
	return r, nil
}

// plainName is the name without what platforms and client libraries put around it.
func plainName(name string) string {
	return strings.TrimSuffix(strings.TrimPrefix(name, "kserve_"), "_total")
}

func find(families map[string]*dto.MetricFamily, e catalogueEntry) *dto.MetricFamily {
	for _, name := range e.names {
		if f := families[name]; f != nil {
			return f
		}
	}
	return nil
}

func total(f *dto.MetricFamily) float64 {
	sum := 0.0
	for _, m := range f.GetMetric() {
		// Of the three at most one is there; a getter of an absent one returns 0.
		v := m.GetCounter().GetValue() + m.GetGauge().GetValue() + m.GetUntyped().GetValue()
		if !math.IsNaN(v) {
			sum += v
		}
	}
	return sum
}

func gaugeValue(id string, f *dto.MetricFamily) float64 {
	if n := len(f.GetMetric()); id == shareKVCache && n > 0 {
		return total(f) / float64(n)
	}
	return total(f)
}

func addUp(f *dto.MetricFamily) buckets {
	var out buckets
	at := map[float64]float64{}
	for _, m := range f.GetMetric() {
		h := m.GetHistogram()
		out.n += float64(h.GetSampleCount())
		out.sum += h.GetSampleSum()
		for _, b := range h.GetBucket() {
			if bound := b.GetUpperBound(); !math.IsInf(bound, 1) {
				at[bound] += float64(b.GetCumulativeCount())
			}
		}
	}
	for bound := range at {
		out.bounds = append(out.bounds, bound)
	}
	slices.Sort(out.bounds)
	for _, bound := range out.bounds {
		out.counts = append(out.counts, at[bound])
	}
	return out
}
