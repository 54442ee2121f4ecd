package record

import "bflow.dev/bflow/report"

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
	timely  [metrics]*column[float64] // without the lateness of the client; nil = it changes nothing
	late    lateness
}

func (d *distributions) add(m metric, x float64) {
	c := d.columns[m]
	if c == nil {
		c = &column[float64]{store: d.store}
		d.columns[m] = c
	}
	c.add(x)
}

// addSent adds what every request has that was sent, whatever became of it.
func (d *distributions) addSent(o *Outcome) {
	d.add(mSchedLag, ms(o.Send-o.Intended-o.QueueWait-o.Dial))
	d.add(mQueueWait, ms(o.QueueWait))
	d.add(mDial, ms(o.Dial))
	if o.LagMax >= 0 {
		d.add(mClientLag, ms(o.LagMax))
	}
}

// addOK adds the numbers of a request that ended well.
func (d *distributions) addOK(o *Outcome) {
	t := d.late.of(o)
	lag := sentLate(o)
	d.add(mTTFB, ms(o.FirstByte-o.Send))
	d.addBoth(mE2E, ms(o.End-o.Send), ms(t.end-o.Send))
	d.addBoth(mE2EIntended, ms(o.End-o.Intended), ms(o.End-o.Intended-lag))
	if o.In >= 0 {
		d.add(mTokensIn, float64(o.In))
	}
	if o.Out > 0 {
		d.addOutput(o, t)
	}
	if o.First < 0 {
		return
	}
	d.addBoth(mTTFT, ms(o.First-o.Send), ms(t.first-o.Send))
	d.addBoth(mTTFTIntended, ms(o.First-o.Intended), ms(o.First-o.Intended-lag))
	d.addBoth(mE2ELastToken, ms(o.Last-o.Send), ms(t.last-o.Send))
	if o.Content >= 0 {
		content := o.Content - o.LateFirst
		if o.Content == o.First {
			content = t.first
		}
		d.addBoth(mTTFC, ms(o.Content-o.Send), ms(content-o.Send))
		d.addBoth(mTTFCIntended, ms(o.Content-o.Intended), ms(o.Content-o.Intended-lag))
	}
	d.addGaps(o, t)
}

// addOutput adds what needs the number of output tokens.
func (d *distributions) addOutput(o *Outcome, t timely) {
	n := float64(o.Out)
	d.add(mTokensOut, n)
	d.addBoth(mNTPOT, ms(o.End-o.Send)/n, ms(t.end-o.Send)/n)
	if seconds := float64(o.End-o.Send) / 1e9; seconds > 0 {
		d.add(mOutputRateUser, n/seconds)
		if o.In >= 0 {
			d.add(mTotalRateUser, (n+float64(o.In))/seconds)
		}
	}
	if o.First < 0 {
		return
	}
	d.addBoth(mTPOTIncl, ms(o.Last-o.Send)/n, ms(t.last-o.Send)/n)
	if o.Out >= 2 {
		d.addBoth(mTPOT, ms(o.Last-o.First)/(n-1), ms(t.last-t.first)/(n-1))
	}
	if k := o.TokensOf(0); k > 1 && o.Out > k {
		d.addBoth(mTPOTStrict, ms(o.Last-o.First)/(n-float64(k)), ms(t.last-t.first)/(n-float64(k)))
	}
}

func (d *distributions) addGaps(o *Outcome, t timely) {
	if len(o.Gaps) == 0 {
		return
	}
	if t.gaps == nil {
		t.gaps = o.Gaps
	}
	several := len(o.Tokens) > 0
	if several && d.columns[mITLPerceived] == nil && d.columns[mITL] != nil {
		// Until now every event held one token, so that the three were the same.
		d.columns[mITLPerceived], d.columns[mITLSmoothed] = d.columns[mITL].clone(), d.columns[mITL].clone()
	}
	for i, g := range o.Gaps {
		d.addBoth(mITL, ms(1000*int64(g)), ms(1000*int64(t.gaps[i])))
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

// each calls f with every distribution that has values, one after the other, and the metrics that have it; timely is
// nil where the client was in time. Both are valid during the call.
func (d *distributions) each(f func(names []string, d, timely *report.Distribution) error) error {
	room, other := report.NewDistribution(""), report.NewDistribution("")
	for m, c := range d.columns {
		if c == nil {
			continue
		}
		names := []string{metric(m).name()}
		if metric(m) == mITL && d.columns[mITLPerceived] == nil { // they are equal to it
			names = append(names, mITLPerceived.name(), mITLSmoothed.name())
		}
		values, timely := distribution(c, report.Unit(names[0]), room), (*report.Distribution)(nil)
		if t := d.timely[m]; t != nil {
			timely = distribution(t, report.Unit(names[0]), other)
		}
		if err := d.store.firstError(); err != nil {
			return err
		}
		if err := f(names, values, timely); err != nil {
			return err
		}
		d.columns[m], d.timely[m] = nil, nil
	}
	return nil
}
