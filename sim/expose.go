package sim

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"sync/atomic"
)

// histogram counts values of an integer unit in buckets; scale turns a value into what is exported.
type histogram struct {
	bounds []int64
	scale  float64
	counts []atomic.Int64 // one more than bounds
	sum    atomic.Int64
}

// newSeconds returns a histogram of nanoseconds, exported in seconds.
func newSeconds(bounds ...float64) *histogram {
	h := &histogram{scale: 1e-9, counts: make([]atomic.Int64, len(bounds)+1)}
	for _, b := range bounds {
		h.bounds = append(h.bounds, int64(math.Round(b*1e9)))
	}
	return h
}

// newCounts returns a histogram of tokens with the bounds 1, 2, 5, 10, ... below limit.
func newCounts(limit int) *histogram {
	h := &histogram{scale: 1}
	for decade := int64(1); ; decade *= 10 {
		for _, m := range []int64{1, 2, 5} {
			if m*decade > int64(limit) {
				h.counts = make([]atomic.Int64, len(h.bounds)+1)
				return h
			}
			h.bounds = append(h.bounds, m*decade)
		}
	}
}

func (h *histogram) observe(v int64) {
	i := 0
	for i < len(h.bounds) && v > h.bounds[i] {
		i++
	}
	h.counts[i].Add(1)
	h.sum.Add(v)
}

// page is a text exposition in the making.
type page struct {
	strings.Builder
	labels string // of every series
}

func newPage(model string) *page {
	return &page{labels: `engine="0",model_name=` + strconv.Quote(model)}
}

func (p *page) writeFamily(name, kind, help string) {
	fmt.Fprintf(p, "# HELP %s %s\n# TYPE %s %s\n", name, help, name, kind)
}

func (p *page) writeValue(name, kind, help string, v float64) {
	p.writeFamily(name, kind, help)
	p.writeSample(name, "", v)
}

// writeSample writes one series; labels begin with a comma.
func (p *page) writeSample(name, labels string, v float64) {
	fmt.Fprintf(p, "%s{%s%s} %s\n", name, p.labels, labels, number(v))
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

func (p *page) writeHistogram(name, help string, h *histogram) {
	p.writeFamily(name, "histogram", help)
	total := int64(0)
	for i := range h.counts {
		total += h.counts[i].Load()
		le := "+Inf"
		if i < len(h.bounds) {
			// dividing by the inverse gives 0.3, where multiplying gives 0.30000000000000004
			le = number(float64(h.bounds[i]) / math.Round(1/h.scale))
		}
		p.writeSample(name+"_bucket", `,le="`+le+`"`, float64(total))
	}
	p.writeSample(name+"_sum", "", float64(h.sum.Load())*h.scale)
	p.writeSample(name+"_count", "", float64(total))
}
