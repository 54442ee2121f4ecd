package engine

// Sink receives the tokens of one request.
type Sink interface {
	// Tokens tells that n more tokens are due at the time due. False means that no more are wanted.
	Tokens(n int, due int64) bool
}

// Seq is one request in a model: a prompt that is read and an output that is written token by token.
type Seq struct {
	Prompt int      // tokens, ≥ 1
	Blocks []uint64 // hashes of the full blocks of the prompt, each covering all before it; for the prefix cache
	Want   int      // output tokens, ≥ 1
	Stride int      // tokens delivered together, ≥ 1; the last delivery may be smaller
	Draw   uint64   // seed of this request's jitter
	Sink   Sink

	Done    int   // output tokens so far
	Cached  int   // prompt tokens found in the prefix cache
	Started int64 // when it left the queue; 0 = still waiting

	due      int64 // exact: of the last token of the next delivery
	batch    int   // exact: tokens of the next delivery
	index    int   // exact: place in the heap
	noise    noise
	held     holding // batch: its part of the KV cache
	state    state
	admitted int64 // batch: order of admission
}

// Model decides when tokens are due. It is not safe for concurrent use.
type Model interface {
	Add(at int64, s *Seq)    // s arrived at the time at
	Remove(at int64, s *Seq) // its client is gone; unknown or finished sequences are no error
	Next() (int64, bool)     // when something is due next; false = nothing in the model
	Advance(now int64)       // delivers everything due at or before now
	Load() Load
	ResetCache() // forgets every cached prefix that is not in use
}

// Load is the state of a model: gauges, and counters since the start.
type Load struct {
	Running, Waiting int
	KVUsed           float64 // share of the KV cache that is in use, 0 to 1
	PrefixQueries    int64   // prompt tokens looked up
	PrefixHits       int64   // of these, found
	Preemptions      int64
	PrefillTokens    int64 // tokens read, cached ones excluded and recomputed ones included
	KVBlocks         int   // size of the KV cache in blocks of BlockSize tokens; 0 = not modelled
}

// state is where in the batch model a sequence is.
type state uint8

const (
	outside state = iota
	entering
	waiting
	prefilling
	decoding
)
