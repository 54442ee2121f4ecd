package record

import "bflow.dev/bflow/tasks/report"

// metric numbers the distributions of a stage.
type metric int

const (
	mTTFT metric = iota
	mTTFTIntended
	mTTFC
	mTTFCIntended
	mTTFB
	mITL
	mITLPerceived
	mITLSmoothed
	mTPOT
	mTPOTStrict
	mTPOTIncl
	mNTPOT
	mE2E
	mE2EIntended
	mE2ELastToken
	mOutputRateUser
	mTotalRateUser
	mSchedLag
	mQueueWait
	mDial
	mClientLag
	mTokensIn
	mTokensOut
	metrics // how many
)

// name is that of package report.
func (m metric) name() string { return report.MetricNames()[m] }

// distributions collect the metrics of a stage.
type distributions struct {
	store   *store
	columns [metrics]*column[float64]
}

func (d *distributions) add(m metric, x float64) {
	c := d.columns[m]
	if c == nil {
		c = &column[float64]{store: d.store}
		d.columns[m] = c
	}
	c.add(x)
}

// sent adds what every request has that was sent, whatever became of it.
func (d *distributions) sent(o *Outcome) {
	d.add(mSchedLag, ms(o.Send-o.Intended-o.QueueWait-o.Dial))
	d.add(mQueueWait, ms(o.QueueWait))
	d.add(mDial, ms(o.Dial))
	if o.LagMax >= 0 {
		d.add(mClientLag, ms(o.LagMax))
	}
}

// ok adds the numbers of a request that ended well.
func (d *distributions) ok(o *Outcome) {
	d.add(mTTFB, ms(o.FirstByte-o.Send))
	d.add(mE2E, ms(o.End-o.Send))
	d.add(mE2EIntended, ms(o.End-o.Intended))
	if o.In >= 0 {
		d.add(mTokensIn, float64(o.In))
	}
	if o.Out > 0 {
		d.output(o)
	}
	if o.First < 0 {
		return
	}
	d.add(mTTFT, ms(o.First-o.Send))
	d.add(mTTFTIntended, ms(o.First-o.Intended))
	d.add(mE2ELastToken, ms(o.Last-o.Send))
	if o.Content >= 0 {
		d.add(mTTFC, ms(o.Content-o.Send))
		d.add(mTTFCIntended, ms(o.Content-o.Intended))
	}
	d.gaps(o)
}

// output adds what needs the number of output tokens.
func (d *distributions) output(o *Outcome) {
	n := float64(o.Out)
	d.add(mTokensOut, n)
	d.add(mNTPOT, ms(o.End-o.Send)/n)
	if seconds := float64(o.End-o.Send) / 1e9; seconds > 0 {
		d.add(mOutputRateUser, n/seconds)
		if o.In >= 0 {
			d.add(mTotalRateUser, (n+float64(o.In))/seconds)
		}
	}
	if o.First < 0 {
		return
	}
	d.add(mTPOTIncl, ms(o.Last-o.Send)/n)
	if o.Out >= 2 {
		d.add(mTPOT, ms(o.Last-o.First)/(n-1))
	}
	if k := o.TokensOf(0); k > 1 && o.Out > k {
		d.add(mTPOTStrict, ms(o.Last-o.First)/(n-float64(k)))
	}
}

func (d *distributions) gaps(o *Outcome) {
	if len(o.Gaps) == 0 {
		return
	}
	several := len(o.Tokens) > 0
	if several && d.columns[mITLPerceived] == nil && d.columns[mITL] != nil {
		// Until now every event held one token, so that the three were the same.
		d.columns[mITLPerceived], d.columns[mITLSmoothed] = d.columns[mITL].clone(), d.columns[mITL].clone()
	}
	for _, g := range o.Gaps {
		d.add(mITL, ms(1000*int64(g)))
	}
	if !several && d.columns[mITLPerceived] == nil {
		return
	}
	for i, g := range o.Gaps {
		gap, k := ms(1000*int64(g)), o.TokensOf(i+1)
		d.add(mITLPerceived, gap)
		d.add(mITLSmoothed, gap/float64(k))
		for range k - 1 {
			d.add(mITLPerceived, 0)
			d.add(mITLSmoothed, gap/float64(k))
		}
	}
}

// each calls f with every distribution that has values, one after the other, and the metrics that have it; d is valid
// during the call.
func (d *distributions) each(f func(names []string, d *report.Distribution) error) error {
	room := report.NewDistribution("")
	for m, c := range d.columns {
		if c == nil {
			continue
		}
		names := []string{metric(m).name()}
		if metric(m) == mITL && d.columns[mITLPerceived] == nil { // they are equal to it
			names = append(names, mITLPerceived.name(), mITLSmoothed.name())
		}
		values := distribution(c, report.Unit(names[0]), room)
		if err := d.store.failed(); err != nil {
			return err
		}
		if err := f(names, values); err != nil {
			return err
		}
		d.columns[m] = nil
	}
	return nil
}
