package standalone

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"bflow.dev/bflow/report"
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
