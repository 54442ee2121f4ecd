package record

import "bflow.dev/bflow/tasks/report"

// distributions collect the metrics of a stage.
type distributions map[string]*report.Distribution

func (d distributions) add(metric string, x float64) {
	dist := d[metric]
	if dist == nil {
		dist = report.NewDistribution(report.Unit(metric))
		d[metric] = dist
	}
	dist.Add(x)
}

// sent adds what every request has that was sent, whatever became of it.
func (d distributions) sent(o *Outcome) {
	d.add("sched_lag", ms(o.Send-o.Intended-o.QueueWait-o.Dial))
	d.add("queue_wait", ms(o.QueueWait))
	d.add("dial", ms(o.Dial))
	if o.LagMax >= 0 {
		d.add("client_lag", ms(o.LagMax))
	}
}

// ok adds the numbers of a request that ended well.
func (d distributions) ok(o *Outcome) {
	d.add("ttfb", ms(o.FirstByte-o.Send))
	d.add("e2e", ms(o.End-o.Send))
	d.add("e2e_intended", ms(o.End-o.Intended))
	if o.In >= 0 {
		d.add("tokens_in", float64(o.In))
	}
	if o.Out > 0 {
		d.output(o)
	}
	if o.First < 0 {
		return
	}
	d.add("ttft", ms(o.First-o.Send))
	d.add("ttft_intended", ms(o.First-o.Intended))
	d.add("e2e_last_token", ms(o.Last-o.Send))
	if o.Content >= 0 {
		d.add("ttfc", ms(o.Content-o.Send))
		d.add("ttfc_intended", ms(o.Content-o.Intended))
	}
	d.gaps(o)
}

// output adds what needs the number of output tokens.
func (d distributions) output(o *Outcome) {
	n := float64(o.Out)
	d.add("tokens_out", n)
	d.add("ntpot", ms(o.End-o.Send)/n)
	if seconds := float64(o.End-o.Send) / 1e9; seconds > 0 {
		d.add("output_rate_user", n/seconds)
		if o.In >= 0 {
			d.add("total_rate_user", (n+float64(o.In))/seconds)
		}
	}
	if o.First < 0 {
		return
	}
	d.add("tpot_incl", ms(o.Last-o.Send)/n)
	if o.Out >= 2 {
		d.add("tpot", ms(o.Last-o.First)/(n-1))
	}
	if k := o.TokensOf(0); k > 1 && o.Out > k {
		d.add("tpot_strict", ms(o.Last-o.First)/(n-float64(k)))
	}
}

func (d distributions) gaps(o *Outcome) {
	several := len(o.Tokens) > 0
	if several && d["itl_perceived"] == nil && d["itl"] != nil {
		// Until now every event held one token, so that the three were the same.
		d["itl_perceived"], d["itl_smoothed"] = d["itl"].Clone(), d["itl"].Clone()
	}
	perToken := several || d["itl_perceived"] != nil
	for i, g := range o.Gaps {
		gap := ms(1000 * int64(g))
		d.add("itl", gap)
		if !perToken {
			continue
		}
		k := o.TokensOf(i + 1)
		d.add("itl_perceived", gap)
		for j := range k {
			if j > 0 {
				d.add("itl_perceived", 0)
			}
			d.add("itl_smoothed", gap/float64(k))
		}
	}
}

// finish completes the metrics that were left out while they were equal to another.
func (d distributions) finish() {
	if d["itl"] != nil && d["itl_perceived"] == nil {
		d["itl_perceived"], d["itl_smoothed"] = d["itl"], d["itl"]
	}
}
