package assemble

import (
	"encoding/json"
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

func TestParseExposition(t *testing.T) {
	tests := []struct {
		name, text string
		want       string // of the error; "" = the metric m is 3
	}{
		{name: "a bare name", text: "m 3"},
		{name: "a time after the value", text: "m 3 1777888800000"},
		{name: "an exemplar after the value", text: `m 3 # {trace="x"} 0.5`},
		{name: "labels with every kind of quote", text: `m{a="}\"\\",b="x, le="} 3`},
		{name: "blanks and a trailing comma", text: "  m { a=\"1\" , }  3  "},
		{name: "comments, blank lines and CRLF", text: "# HELP m x\r\n\r\nm 3\r\n# EOF"},
		{name: "a value that is no number is left out", text: "m 3\nm NaN\nm +Inf"},
		{name: "two label sets add up", text: "m{a=\"1\"} 1\nm{a=\"2\"} 2"},
		{name: "no value", text: "m", want: `line 1: "m" is no metric`},
		{name: "a page in HTML", text: "\n<html> log in", want: `line 2: value "log" of "<html>" is no number`},
		{name: "an open quote", text: `m{a="1} 3`, want: "a quote is not closed"},
		{name: "labels without a name", text: "{} 3", want: "is no metric"},
		{name: "an open brace", text: "m{a", want: "no quoted value"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e, err := parseExposition(strings.NewReader(tt.text))
			switch {
			case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("error %v, want %q", err, tt.want)
			case tt.want == "" && (err != nil || e.sums["m"] != 3):
				t.Errorf("got %+v, %v", e, err)
			}
		})
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
		{name: "below the first bound there is no answer", q: 0.1, open: true},
		{name: "in the second bucket", q: 0.3, want: 0.15},
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
		{name: "a histogram fell",
			text: strings.ReplaceAll(scrapeText, "count{engine=\"0\"} 5", "count{engine=\"0\"} 1"), want: true},
		{name: "the start time is another",
			text: scrapeText + "# TYPE process_start_time_seconds gauge\nprocess_start_time_seconds 7\n", want: true},
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
	f.Add(strings.ReplaceAll(scrapeText, "_sum{engine=\"0\"} 1", "_sum{engine=\"0\"} NaN"))
	f.Add(strings.ReplaceAll(scrapeText, "} 0.2", "} +Inf"))
	f.Add("a{b=\"c\"} NaN\n")
	f.Add("# TYPE vllm:prompt_tokens_total histogram\nvllm:prompt_tokens_total_count 1\n")
	f.Fuzz(func(t *testing.T, text string) {
		r, err := parseScrape(strings.NewReader(text))
		if err != nil {
			return
		}
		if _, err := json.Marshal(subtract(&reading{}, r).report()); err != nil {
			t.Error(err)
		}
		d := subtract(r, r)
		for id, h := range d.histograms {
			if _, ok := h.summary(); ok && h.n <= 0 {
				t.Errorf("%s: a histogram without values has a summary", id)
			}
		}
	})
}
