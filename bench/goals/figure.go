package main

// bound is the direction of a target.
type bound int

const (
	atLeast bound = iota
	atMost
)

// figure is one line of the table.
type figure struct {
	goal   string
	name   string // unique within the goal
	unit   string
	bound  bound
	target float64
	ratio  float64 // to the floor client, at which the figure counts as met too; 0 = only the target counts
}

func (f figure) key() string { return f.goal + " " + f.name }

// figures are the goals.
func figures() []figure {
	return []figure{
		{"G1", "one-event chats per CPU-second", "/s", atLeast, 100_000, 1.8},
		{"G2", "coalesced events per CPU-second", "/s", atLeast, 2_500_000, 1.1},
		{"G2", "tokens that differ from the truth", "", atMost, 0, 0},
		{"G3", "paced events per CPU-second", "/s", atLeast, 180_000, 1.1},
		{"G4", "streams with p99 stamp error < 1 ms, user", "", atLeast, 600, 0},
		{"G4", "streams with p99 stamp error < 100 µs, kernel", "", atLeast, 1000, 0},
		{"G5", "ttft error p50, kernel", "µs", atMost, 10, 0},
		{"G5", "ttft error p99, kernel", "µs", atMost, 100, 0},
		{"G5", "ttft error p50, user", "µs", atMost, 30, 0},
		{"G5", "ttft error p99, user", "µs", atMost, 600, 0},
		{"G6", "itl error p99 at 20 000 tokens/s", "µs", atMost, 100, 0},
		{"G7", "lateness of first byte p50 at 1 000/s", "µs", atMost, 10, 0},
		{"G7", "lateness of first byte p99", "µs", atMost, 100, 0},
		{"G7", "lateness of first byte p99.9", "µs", atMost, 1000, 0},
		{"G8", "achieved rate off the requested", "%", atMost, 0.1, 0},
		{"G8", "lost requests", "", atMost, 0, 0},
		{"G9", "Poisson: p-value of KS", "", atLeast, 0.01, 0},
		{"G9", "Poisson: largest autocorrelation, lags 1-20", "", atMost, 0.02, 0},
		{"G9", "Poisson: dispersion index, distance from 1", "", atMost, 0.1, 0},
		{"G9", "constant: CV of gaps", "", atMost, 0.01, 0},
		{"G10", "frozen 1 s: ttft_intended p99 off the analytic", "%", atMost, 2, 0},
		{"G10", "the same with a cap of 10 in flight", "%", atMost, 2, 0},
		{"G11", "peak RSS at 1 000 streams", "MB", atMost, 60, 0},
		{"G11", "peak RSS after 1 M requests", "MB", atMost, 100, 0},
		{"G12", "exec to first request byte", "ms", atMost, 30, 0},
		{"G13", "static binary and CA bundle", "MB", atMost, 20, 0},
		{"G14", "burst of 1 000: spread of first bytes", "ms", atMost, 10, 0},
		{"G15", "ttft inflation p99, 200 kB prompts, 100 streams", "ms", atMost, 1, 0},
		{"G16", "last end to exit, 100 000 requests", "s", atMost, 1, 0},
	}
}

// value is what one repeat found for a figure.
type value struct {
	v         float64
	floor     float64 // of the floor client in the same repeat, 0 = it was not run
	void      string  // why the value must not be believed
	absent    string  // why there is none
	disturbed bool    // somebody else used the machine
	limited   bool    // the engine could not prove itself at a higher load: the target cannot be asked for
	notes     []string
}

// found are the values of one repeat by the key of their figure.
type found map[string]value

// void tells that some value must not be believed.
func (f found) void() bool {
	for _, v := range f {
		if v.void != "" {
			return true
		}
	}
	return false
}

// group is a measurement that gives the figures of one or more goals.
type group struct {
	goals []string
	once  bool // more repeats would take long and teach nothing
	run   func(l *lab) (found, error)
}

func groups() []group {
	return []group{
		{goals: []string{"G1", "G16"}, run: oneEvent},
		{goals: []string{"G2"}, run: coalesced},
		{goals: []string{"G3", "G4"}, run: paced},
		{goals: []string{"G5", "G6"}, run: stamps},
		{goals: []string{"G7", "G8", "G9"}, run: pacing},
		{goals: []string{"G10"}, run: frozen},
		{goals: []string{"G11"}, run: thousandStreams},
		{goals: []string{"G11"}, once: true, run: millionRequests},
		{goals: []string{"G12"}, run: startUp},
		{goals: []string{"G13"}, once: true, run: size},
		{goals: []string{"G14"}, run: burst},
		{goals: []string{"G15"}, run: largePrompts},
	}
}
