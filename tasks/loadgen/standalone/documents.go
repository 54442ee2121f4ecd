package standalone

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/report/tools"
)

type object = map[string]any

// decode reads JSON and keeps numbers as they are spelled.
func decode(data []byte, v any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	return dec.Decode(v)
}

func encode(v any, indent string) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	err := enc.Encode(v)
	return b.Bytes(), err
}

// vllm keeps the metrics and percentiles of a result that were asked for and adds values of the person's own.
func (o *output) vllm(r object, s *tools.Stage) {
	o.chooseVLLM(r, s)
	maps.Copy(r, o.Extras)
	if o.first == nil {
		o.first = r
	}
}

// vllmMetrics are our names of the metrics that --percentile-metrics may name.
func vllmMetrics() map[string]string {
	return map[string]string{"ttft": "ttft", "tpot": "tpot", "itl": "itl", "e2el": "e2e_last_token"}
}

// chooseVLLM leaves of the latencies of a result those that were asked for.
func (o *output) chooseVLLM(r object, s *tools.Stage) {
	for name, ours := range vllmMetrics() {
		kept := o.Metrics == nil || slices.Contains(o.Metrics, name)
		for key := range r {
			word, of, ok := strings.Cut(strings.TrimSuffix(key, "_ms"), "_")
			percentile := strings.HasPrefix(word, "p")
			if ok && of == name && strings.HasSuffix(key, "_ms") && (!kept || percentile && o.Percentiles != nil) {
				delete(r, key)
			}
		}
		if kept && o.Percentiles != nil {
			o.addPercentiles(r, name, s, ours)
		}
	}
	for _, name := range o.Metrics {
		if _, ok := vllmMetrics()[name]; !ok {
			o.note("there is no metric %q: want ttft, tpot, itl or e2el", name)
		}
	}
}

func (o *output) addPercentiles(r object, name string, s *tools.Stage, metric string) {
	d, err := s.Distribution(metric)
	if err != nil {
		o.note("no percentiles of %s: %v", name, err)
	}
	for _, p := range o.Percentiles {
		if d == nil {
			continue
		}
		if v, ok := d.Percentile(p); ok {
			r["p"+strconv.FormatFloat(p, 'g', -1, 64)+"_"+name+"_ms"] = v
		}
	}
}

// vllmName is the name that the tool gives the file of a result.
func vllmName(r object) string {
	if r == nil {
		return "vllm-bench.json"
	}
	rate := fmt.Sprint(r["request_rate"])
	if v, err := strconv.ParseFloat(rate, 64); err == nil && !strings.ContainsAny(rate, ".en") {
		rate = strconv.FormatFloat(v, 'f', 1, 64)
	}
	name := fmt.Sprintf("%v-%sqps", r["backend"], rate)
	if c := r["max_concurrency"]; c != nil {
		name += fmt.Sprintf("-concurrency%v", c)
	}
	model := fmt.Sprint(r["model_id"])
	return fmt.Sprintf("%s-%s-%v.json", name, model[strings.LastIndex(model, "/")+1:], r["date"])
}

// inferencePerf keeps the percentiles that were asked for.
func (o *output) inferencePerf(name string, data []byte) ([]byte, error) {
	var doc object
	if err := decode(data, &doc); err != nil {
		return nil, fmt.Errorf("reading %s: %w", name, err)
	}
	keep := map[string]bool{}
	for _, p := range o.Percentiles {
		keep[percentileName(p)] = true
	}
	choosePercentiles(doc, keep)
	for _, p := range o.Percentiles {
		if text := fmt.Sprintf("percentile %g is not one that load-gen writes in this format", p); !writtenPercentile(p) && !slices.Contains(o.notes, text) {
			o.note("%s", text)
		}
	}
	return encode(doc, "  ")
}

// percentileName is that of inference-perf.
func percentileName(p float64) string {
	if p == 50 {
		return "median"
	}
	return "p" + strconv.FormatFloat(p, 'g', -1, 64)
}

func writtenPercentile(p float64) bool {
	for _, q := range report.Quantiles {
		if q.P == p {
			return true
		}
	}
	return false
}

// choosePercentiles takes the other percentiles out of every summary in v.
func choosePercentiles(v any, keep map[string]bool) {
	switch v := v.(type) {
	case object:
		_, summary := v["mean"]
		for key, inner := range v {
			_, err := strconv.ParseFloat(strings.TrimPrefix(key, "p"), 64)
			isOne := key == "median" || strings.HasPrefix(key, "p") && err == nil
			if summary && isOne && !keep[key] {
				delete(v, key)
				continue
			}
			choosePercentiles(inner, keep)
		}
	case []any:
		for _, inner := range v {
			choosePercentiles(inner, keep)
		}
	}
}
