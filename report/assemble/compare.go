package assemble

import (
	"fmt"
	"maps"
	"math"

	"bflow.dev/bflow/report"
)

const (
	// pathShare of the server's own time may be added on the way, beside one round trip.
	pathShare = 0.05
	// roundTripMS stands for a round trip where no connection was opened during the stage; within a cluster it is less.
	roundTripMS = 2
	// tokenGap between client and server is rounding, not loss.
	tokenGap = 0.01
)

// compareWithServer adds what the engine counted to the stage of a sample, and the checks that follow from it.
func (m *measured) compareWithServer(s *report.Stage) {
	key := stageKey{s.Sample, s.Stage}
	d := m.server[key]
	if d == nil {
		return
	}
	s.Server = d.report()
	if d.restarted {
		s.Checks = append(s.Checks, report.Check{Name: "server_restarts", Value: 1, Reason: "server_changed",
			Text: "the engine restarted during the stage: its counters fell or its start time changed"})
		return
	}
	if n := d.counters["preemptions"]; n > 0 {
		s.Checks = append(s.Checks, report.Check{Name: "preemptions", Value: n, Reason: "server_changed", Note: true,
			Text: fmt.Sprintf("the engine preempted %.0f requests: its KV cache was full", n)})
	}
	client := m.client[key]
	ttft := d.histograms["ttft"]
	if client.first == 0 || math.Abs(ttft.n-float64(client.first)) > tokenGap*float64(client.first) {
		return // the engine counted other requests as well, or a part of ours: the means are not of the same
	}
	s.Checks = append(s.Checks, pathDelay(client, ttft))
	if generated, ok := d.counters["generation_tokens"]; ok && client.whole && client.tokensOut > 0 {
		s.Checks = append(s.Checks, missingTokens(client, generated))
	}
}

// pathDelay compares the mean TTFT of the client with that of the server over the same requests: what lies between is
// network, gateway and the two programs' own delays.
func pathDelay(client clientSums, ttft buckets) report.Check {
	trip := max(roundTripMS, float64(client.dialNS)/1e6)
	server := ttft.sum / ttft.n * 1000
	c := report.Check{
		Name: "path_delay_ms", Value: client.ttftMS/float64(client.first) - server, Limit: trip + pathShare*server,
	}
	c.OK = c.Value <= c.Limit
	if !c.OK {
		c.Reason = "path_delay"
		c.Text = fmt.Sprintf("mean TTFT is %.3g ms here and %.3g ms at the server: the way between adds more than %.3g ms",
			client.ttftMS/float64(client.first), server, c.Limit)
	}
	return c
}

func missingTokens(client clientSums, generated float64) report.Check {
	c := report.Check{Name: "server_token_gap", Value: math.Abs(generated/float64(client.tokensOut) - 1), Limit: tokenGap}
	c.OK = c.Value <= c.Limit
	if !c.OK {
		c.Reason = "token_mismatch"
		c.Text = fmt.Sprintf("the server generated %.0f tokens, the client counted %d", generated, client.tokensOut)
	}
	return c
}

// pooledServer adds up the differences of a stage over the samples that have one.
func (m *measured) pooledServer(samples []report.Stage) *report.ServerStage {
	var all *difference
	for _, s := range samples {
		d := m.server[stageKey{s.Sample, s.Stage}]
		switch {
		case d == nil:
		case all == nil:
			all = &difference{
				counters: maps.Clone(d.counters), gauges: d.gauges, histograms: maps.Clone(d.histograms), err: d.err,
			}
		case d.err != nil:
			all.err = d.err
		default:
			all.add(d)
		}
	}
	if all == nil {
		return nil
	}
	return all.report()
}

// add keeps the gauges of the first sample: a reading cannot be added up.
func (d *difference) add(o *difference) {
	for id, v := range o.counters {
		if d.counters != nil {
			d.counters[id] += v
		}
	}
	for id, h := range o.histograms {
		if d.histograms != nil {
			d.histograms[id] = d.histograms[id].plus(h)
		}
	}
}
