package record

import (
	"slices"

	"bflow.dev/bflow/report"
)

// timely are the stamps of a request as they would be had the client been in time, as far as is known.
type timely struct {
	first, last, end int64
	gaps             []int32 // nil = those of the outcome
}

// lateness knows what late reads have done to the requests of a stage.
type lateness struct {
	gaps []int32
}

// of returns the stamps of a request without the lateness of the client.
//
// A read that was late and brought k token events together has the stamp of the last. The server is taken to have sent
// them as far apart as it usually sent those of this answer, but none before the client had last found the connection
// empty. By how much stamps of the reader are later than the kernel's is known of each token event.
func (l *lateness) of(o *Outcome) timely {
	t := timely{first: o.First - o.LateFirst, last: o.Last - o.LateEnd, end: o.End - o.LateEnd}
	if o.First < 0 {
		t.first, t.last = o.First, o.Last
		return t
	}
	var usual int64
	if o.Bunched > 0 {
		usual = l.usual(o)
	}
	t.first -= min(o.Behind*usual, o.Within)
	if t.first = max(t.first, o.Send); o.Events() == 1 {
		t.last = t.first
	}
	switch {
	case len(o.Late) > 0:
		t.gaps = l.inTime(o)
	case o.Bunched > 0:
		t.gaps = l.apart(o, usual)
	}
	return t
}

// noMatter is a lateness in ns that changes no number by more than is allowed of small ones.
const noMatter = 50e3

// sentLate is by how much the client was late to send a request, in ns.
func sentLate(o *Outcome) int64 {
	if lag := o.Send - o.Intended - o.QueueWait - o.Dial; lag > noMatter {
		return lag
	}
	return 0
}

// usual is the time between token events of an answer in ns: the lower median of those that differ from zero, else an
// even share of the time since the send.
func (l *lateness) usual(o *Outcome) int64 {
	l.gaps = l.gaps[:0]
	for _, g := range o.Gaps {
		if g > 0 {
			l.gaps = append(l.gaps, g)
		}
	}
	if len(l.gaps) == 0 {
		return (o.First - o.Send) / (o.Behind + 1)
	}
	slices.Sort(l.gaps)
	return 1000 * int64(l.gaps[(len(l.gaps)-1)/2])
}

// apart returns the gaps of an answer with those events apart that came together: usual ns, where there is room.
func (l *lateness) apart(o *Outcome, usual int64) []int32 {
	l.gaps = l.gaps[:0]
	for i := 0; i < len(o.Gaps); {
		gap, with := int64(o.Gaps[i]), int64(0) // before events that have one stamp, and how many have it beside the first
		room := min(gap, o.Within/1000)
		if i++; gap == 0 { // the first of all is among them: there is no gap before it
			with, room = 1, min(o.Behind, 1)*o.Within/1000
		}
		for ; i < len(o.Gaps) && o.Gaps[i] == 0; i++ {
			with++
		}
		step := min(usual/1000, room/max(1, with))
		if gap > 0 {
			l.gaps = append(l.gaps, int32(gap-with*step))
		}
		for range with {
			l.gaps = append(l.gaps, int32(step))
		}
	}
	return l.gaps
}

// inTime returns the gaps between the kernel's stamps of events that have those of the reader.
func (l *lateness) inTime(o *Outcome) []int32 {
	l.gaps = l.gaps[:0]
	for i, g := range o.Gaps {
		l.gaps = append(l.gaps, max(0, g-(o.lateBy(i+1)-o.lateBy(i))))
	}
	return l.gaps
}

// lateBy returns the µs by which token event i was late.
func (o *Outcome) lateBy(i int) int32 {
	if i < len(o.Late) {
		return o.Late[i]
	}
	return 0
}

// addBoth adds x to a metric, and to what the metric is without lateness another value. Until one differs they are one.
func (d *distributions) addBoth(m metric, x, timely float64) {
	if x != timely && d.timely[m] == nil {
		d.timely[m] = &column[float64]{store: d.store}
		if c := d.columns[m]; c != nil {
			d.timely[m] = c.clone()
		}
	}
	d.add(m, x)
	if c := d.timely[m]; c != nil {
		c.add(timely)
	}
}

// shifts are the numbers of a metric that lateness has changed; d is what the metric is without it.
func shifts(name string, m report.Metric, d *report.Distribution) []report.Shift {
	if d == nil {
		return nil
	}
	timely, ok := d.Metric()
	if !ok {
		return nil
	}
	return report.Shifts(name, m, timely)
}
