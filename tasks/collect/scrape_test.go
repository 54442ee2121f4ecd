package collect

import (
	"math"
	"strings"
	"testing"
)

const scrapeText = `# HELP vllm:generation_tokens_total text
# TYPE vllm:generation_tokens_total counter
vllm:generation_tokens_total{engine="0"} 100
vllm:generation_tokens_total{engine="1"} 20
# TYPE kserve_vllm:num_preemptions_total counter
kserve_vllm:num_preemptions_total 3
# TYPE vllm:kv_cache_usage_perc gauge
vllm:kv_cache_usage_perc{engine="0"} 0.2
vllm:kv_cache_usage_perc{engine="1"} 0.4
# TYPE vllm:time_to_first_token_seconds histogram
vllm:time_to_first_token_seconds_bucket{engine="0",le="0.1"} 2
vllm:time_to_first_token_seconds_bucket{engine="0",le="0.2"} 4
vllm:time_to_first_token_seconds_bucket{engine="0",le="+Inf"} 5
vllm:time_to_first_token_seconds_sum{engine="0"} 1
vllm:time_to_first_token_seconds_count{engine="0"} 5
`

func parsed(t *testing.T, text string) *reading {
	t.Helper()
	r, err := parseScrape(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestParseScrapeAddsUpReplicasAndKnowsEveryPrefix(t *testing.T) {
	r := parsed(t, scrapeText)
	if r.counters["generation_tokens"] != 120 || r.counters["preemptions"] != 3 {
		t.Errorf("counters %v", r.counters)
	}
	if got := r.gauges[shareKVCache]; math.Abs(got-0.3) > 1e-12 {
		t.Errorf("a share of two replicas is their mean: %v", got)
	}
	if h := r.histograms["ttft"]; h.n != 5 || h.sum != 1 || len(h.bounds) != 2 {
		t.Errorf("ttft %+v", h)
	}
}

func TestQuantileOfBuckets(t *testing.T) {
	b := buckets{bounds: []float64{0.1, 0.2, 0.4}, counts: []float64{2, 4, 8}, n: 10}
	tests := []struct {
		name string
		q    float64
		want float64
		open bool
	}{
		{name: "within the first bucket from zero", q: 0.1, want: 0.05},
		{name: "at the border of two buckets", q: 0.2, want: 0.1},
		{name: "in the middle of a bucket", q: 0.6, want: 0.3},
		{name: "above the last bound there is no answer", q: 0.9, open: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, ok := b.quantile(tt.q)
			if ok == tt.open || ok && math.Abs(got-tt.want) > 1e-12 {
				t.Errorf("got %v, %t", got, ok)
			}
		})
	}
}

func TestSubtractSeesARestart(t *testing.T) {
	before := parsed(t, scrapeText)
	tests := []struct {
		name string
		text string
		want bool
	}{
		{name: "nothing happened", text: scrapeText},
		{name: "counters rose", text: strings.ReplaceAll(scrapeText, "} 100", "} 500")},
		{name: "a counter fell", text: strings.ReplaceAll(scrapeText, "} 100", "} 5"), want: true},
		{name: "a histogram fell", text: strings.ReplaceAll(scrapeText, "count{engine=\"0\"} 5", "count{engine=\"0\"} 1"), want: true},
		{name: "the start time is another", text: scrapeText + "# TYPE process_start_time_seconds gauge\nprocess_start_time_seconds 7\n", want: true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if d := subtract(before, parsed(t, tt.text)); d.restarted != tt.want || (d.err != nil) != tt.want {
				t.Errorf("restarted %t, %v", d.restarted, d.err)
			}
		})
	}
}

func TestAHistogramThatBeginsDuringTheStageIsWhole(t *testing.T) {
	d := subtract(&reading{}, parsed(t, scrapeText))
	if h := d.histograms["ttft"]; d.restarted || h.n != 5 || h.counts[1] != 4 {
		t.Errorf("%+v, restarted %t", h, d.restarted)
	}
}

func FuzzParseScrape(f *testing.F) {
	f.Add(scrapeText)
	f.Add("a{b=\"c\"} NaN\n")
	f.Add("# TYPE vllm:prompt_tokens_total histogram\nvllm:prompt_tokens_total_count 1\n")
	f.Fuzz(func(t *testing.T, text string) {
		r, err := parseScrape(strings.NewReader(text))
		if err != nil {
			return
		}
		d := subtract(r, r)
		for id, h := range d.histograms {
			if _, ok := h.summary(); ok && h.n <= 0 {
				t.Errorf("%s: a histogram without values has a summary", id)
			}
		}
	})
}
