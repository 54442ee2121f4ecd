package reporttest

import (
	"fmt"
	"path/filepath"
	"strings"

	"bflow.dev/bflow/report"
)

// engine counts as an inference server does and prints its metrics under vLLM's names.
type engine struct {
	started          float64
	in, out, n       float64
	queue, ttft, e2e histogram
}

type histogram struct {
	counts []float64
	n, sum float64
}

func bounds() []float64 {
	return []float64{0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 10}
}

func (h *histogram) add(v float64) {
	if h.counts == nil {
		h.counts = make([]float64, len(bounds()))
	}
	for i, b := range bounds() {
		if v <= b {
			h.counts[i]++
		}
	}
	h.n++
	h.sum += v
}

func (e *engine) count(prefill, ttft, e2e float64, in, out int) {
	e.n++
	e.in += float64(in)
	e.out += float64(out)
	e.queue.add(max(0, ttft-prefill))
	e.ttft.add(ttft)
	e.e2e.add(e2e)
}

func (e *engine) text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "# TYPE process_start_time_seconds gauge\nprocess_start_time_seconds %v\n", 1.7e9+e.started)
	counter := func(name string, v float64) {
		fmt.Fprintf(&b, "# HELP %s text\n# TYPE %s counter\n%s{engine=\"0\",model_name=\"m\"} %v\n", name, name, name, v)
	}
	counter("vllm:prompt_tokens_total", e.in)
	counter("vllm:generation_tokens_total", e.out)
	counter("vllm:request_success_total", e.n)
	counter("vllm:num_preemptions_total", 0)
	counter("vllm:prefix_cache_queries_total", e.in)
	counter("vllm:prefix_cache_hits_total", e.in/4)
	fmt.Fprintf(&b, "# TYPE vllm:num_requests_running gauge\nvllm:num_requests_running{engine=\"0\"} 0\n")
	fmt.Fprintf(&b, "# TYPE vllm:kv_cache_usage_perc gauge\nvllm:kv_cache_usage_perc{engine=\"0\"} 0.25\n")
	e.queue.print(&b, "vllm:request_queue_time_seconds")
	e.ttft.print(&b, "vllm:time_to_first_token_seconds")
	e.e2e.print(&b, "vllm:e2e_request_latency_seconds")
	return b.String()
}

func (h *histogram) print(b *strings.Builder, name string) {
	fmt.Fprintf(b, "# TYPE %s histogram\n", name)
	for i, bound := range bounds() {
		count := 0.0
		if h.counts != nil {
			count = h.counts[i]
		}
		fmt.Fprintf(b, "%s_bucket{engine=\"0\",le=\"%v\"} %v\n", name, bound, count)
	}
	fmt.Fprintf(b, "%s_bucket{engine=\"0\",le=\"+Inf\"} %v\n%s_sum{engine=\"0\"} %v\n%s_count{engine=\"0\"} %v\n", name,
		h.n, name, h.sum, name, h.n)
}

func (l *load) scrape(sample, stage int, when string) {
	file := filepath.Join("scrapes", fmt.Sprintf("%d-%d-%s.txt", sample, stage, when))
	writeFile(l.t, l.dir, file, []byte(l.engine.text()))
	l.scrapes = append(l.scrapes, report.Scrape{
		Sample: sample, Stage: stage, When: when, UnixNS: Start().UnixNano() + l.at, File: file,
	})
}
