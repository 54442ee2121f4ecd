package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"bflow.dev/bflow/bench/rig"
	"bflow.dev/bflow/runplan"
)

// Clocks of a case.
const (
	clockKernel = "kernel"
	clockUser   = "user"
	clockTLS    = "tls"
)

// scene is one stage and what goes on beside it.
type scene struct {
	Index   int           `json:"index"`
	Clock   string        `json:"clock"`
	Streams int           `json:"streams,omitempty"` // of a closed loop
	Rate    float64       `json:"rate,omitempty"`    // of an open one, requests per second
	TTFT    time.Duration `json:"ttft"`              // of the engine
	Tokens  int           `json:"tokens"`
	Busy    int           `json:"busy"` // processes beside it that take what they get
	Pinned  bool          `json:"pinned"`
}

// itl is the time between the tokens of an answer.
const itl = 4 * time.Millisecond

// Bounds of a stage: enough requests for a p99, in a time that three hundred of them can take.
const (
	requests     = 1500
	longestStage = 18 * time.Second
)

// draw makes scene number index of a seed, whatever was drawn before it.
func draw(seed uint64, index int) scene {
	r := rand.New(rand.NewPCG(seed, uint64(index)))
	s := scene{
		Index: index, Tokens: 2 + r.IntN(31), TTFT: time.Duration(logUniform(r, 5e6, 200e6)), Pinned: r.IntN(2) == 0,
	}
	s.Clock = []string{clockKernel, clockUser, clockTLS}[index%3]
	if r.IntN(2) == 0 {
		s.Streams = int(math.Round(logUniform(r, 1, 512)))
	} else {
		s.Rate = math.Round(logUniform(r, 20, 2000))
	}
	if r.IntN(3) > 0 {
		s.Busy = 1 + r.IntN(4)
	}
	return s
}

// logUniform draws a number whose logarithm is uniform.
func logUniform(r *rand.Rand, from, to float64) float64 {
	return from * math.Pow(to/from, r.Float64())
}

// answer is how long the engine takes for one.
func (s scene) answer() time.Duration { return s.TTFT + time.Duration(s.Tokens-1)*itl }

// plan is the load of the scene.
func (s scene) plan() runplan.RunPlan {
	rate := s.Rate
	stage := runplan.Stage{Name: "s", Measure: true, Shape: runplan.ShapeOpen, Rate: s.Rate, Arrival: "poisson"}
	if s.Streams > 0 {
		stage.Shape, stage.Concurrency, stage.Arrival = runplan.ShapeClosed, s.Streams, ""
		stage.Ramp = runplan.Duration(s.answer())
		rate = float64(s.Streams) / s.answer().Seconds()
	}
	d := min(longestStage, max(3*time.Second, time.Duration(requests/rate*float64(time.Second)))+s.answer())
	stage.Duration = runplan.Duration(d)
	stage.SkipFirst = runplan.Trim{Duration: stage.Ramp}
	p := rig.Plan(s.Tokens, stage)
	p.Measurements[0].Record = &runplan.Record{Gaps: true}
	if s.Clock == clockTLS {
		p.Measurements[0].API.VerifyTLS = false
	}
	return p
}

func (s scene) sim() runplan.Sim {
	return runplan.Sim{TTFT: runplan.Duration(s.TTFT), ITL: runplan.Duration(itl)}
}

func (s scene) String() string {
	load := fmt.Sprintf("%g/s", s.Rate)
	if s.Streams > 0 {
		load = fmt.Sprintf("%d streams", s.Streams)
	}
	return fmt.Sprintf("#%d %s, %s, ttft %v, %d tokens, %d busy, pinned %v",
		s.Index, s.Clock, load, s.TTFT.Round(time.Millisecond), s.Tokens, s.Busy, s.Pinned)
}
