package main

import (
	"time"

	"bflow.dev/bflow/runplan"
)

// Shapes of a load.
type shape int

const (
	closed   shape = iota // so many streams, each sends again when it was answered
	constant              // evenly spaced
	poisson
)

// load is what every client puts on an engine of its own.
type load struct {
	name    string
	shape   shape
	streams int     // closed
	rate    float64 // constant and poisson, requests per second
	seconds float64 // 0 = requests bound it
	// requests bounds a closed loop without seconds, and stands for them with tools that can only be bounded so; it is
	// then what the slowest needs to be busy for about that long.
	requests int
	output   int // tokens of an answer
	sim      runplan.Sim
	failing  bool // a tool may end with an exit code other than 0
}

func ms(n float64) runplan.Duration { return runplan.Duration(n * float64(time.Millisecond)) }

// loads are all of them. Prompts are of about 1 kB; an engine sends every event in a segment of its own.
func loads() []load {
	steady := runplan.Sim{TTFT: ms(20), ITL: ms(5)}
	all := []load{
		{name: "one-event", shape: closed, streams: 32, seconds: 6, requests: 2000, output: 1},
		{name: "streams", shape: closed, streams: 64, seconds: 8, requests: 2400, output: 16,
			sim: runplan.Sim{TTFT: ms(30), ITL: ms(10), ITLStdev: ms(2)}},
		{name: "constant", shape: constant, rate: 100, seconds: 8, output: 8, sim: steady},
		{name: "poisson", shape: poisson, rate: 40, seconds: 15, output: 8, sim: steady},
	}
	for _, kind := range []string{runplan.FaultHTTP500, runplan.FaultErrorEvent, runplan.FaultTruncated,
		runplan.FaultShortOutput} {
		cfg := steady
		cfg.Faults = []runplan.Fault{{Kind: kind, Share: 1}}
		all = append(all, load{name: kind, shape: closed, streams: 4, requests: 24, output: 10, sim: cfg, failing: true})
	}
	return all
}
