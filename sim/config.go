package sim

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/sim/engine"
)

// DefaultModelLen is the context length, in tokens, where the configuration has none.
const DefaultModelLen = 131072

// Config is a simulated engine.
type Config struct {
	runplan.Sim
	Models    []string // served names; answers carry the first. Empty means one model named "sim"
	APIKey    string   // required as bearer token under /v1 when set
	TruthLog  string   // file that gets one JSON line per request; empty = none
	KeepTruth bool     // keep the records in memory for Truth
	Pod       string   // sent as header x-inference-pod when set

	Socket string      // path of a Unix socket that Listen listens on; empty = a free port
	TLS    *tls.Config // nil = plain; with "h2" among NextProtos also HTTP/2

	NoStamps   bool // events do not carry their send time
	EventBytes int  // chat and completion events of one token are made this long, where they are shorter; 0 = as they are
}

// ReadConfig reads JSON in the words of an experiment's engine.sim. Unknown keys are errors.
func ReadConfig(data []byte) (runplan.Sim, error) {
	var s runplan.Sim
	dec := json.NewDecoder(strings.NewReader(string(data)))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&s); err != nil {
		return s, fmt.Errorf("reading configuration of the engine: %w", err)
	}
	if dec.More() {
		return s, errors.New("reading configuration of the engine: data after the JSON object")
	}
	return s, nil
}

// Validate returns everything that is wrong with c.
func (c Config) Validate() error {
	var errs []error
	bad := func(wrong bool, format string, args ...any) {
		if wrong {
			errs = append(errs, fmt.Errorf(format, args...))
		}
	}
	bad(c.TTFT < 0 || c.TTFTStdev < 0 || c.ITL < 0 || c.ITLStdev < 0, "ttft and itl: want 0 or more")
	bad(c.MaxNumSeqs < 0, "max_num_seqs %d: want 0 (no limit) or more", c.MaxNumSeqs)
	bad(c.MaxModelLen < 0, "max_model_len %d: want 0 (%d) or more", c.MaxModelLen, DefaultModelLen)
	bad(c.KVTokens < 0, "kv_tokens %d: want 0 (not modelled) or more", c.KVTokens)
	bad(c.KVTokens > 0 && c.KVTokens < engine.BlockSize, "kv_tokens %d: want at least one block of %d",
		c.KVTokens, engine.BlockSize)
	bad(c.FailureRate < 0 || c.FailureRate > 1, "failure_rate %v: want 0 to 1", c.FailureRate)
	bad(c.PrefillTokensPerS < 0 || c.DecodeTokensPerS < 0, "prefill_tokens_per_s and decode_tokens_per_s: want 0 or more")
	bad((c.PrefillTokensPerS > 0) != (c.DecodeTokensPerS > 0),
		"prefill_tokens_per_s and decode_tokens_per_s: set both (a batch is modelled) or none (timing is exact)")
	bad(c.EventBytes < 0 || c.EventBytes > 60_000, "event bytes %d: want 0 to 60000", c.EventBytes)
	bad(c.Startup < 0 || c.NotReady < 0, "startup and not_ready: want 0 or more")
	for _, f := range c.Faults {
		errs = append(errs, f.Validate())
	}
	return errors.Join(errs...)
}

// filled returns c with its defaults.
func (c Config) filled() Config {
	if len(c.Models) == 0 {
		c.Models = []string{"sim"}
	}
	if c.MaxModelLen == 0 {
		c.MaxModelLen = DefaultModelLen
	}
	if c.batched() && c.KVTokens > 0 { // a sequence that outgrows the whole cache could never end
		c.MaxModelLen = min(c.MaxModelLen, c.KVTokens/engine.BlockSize*engine.BlockSize)
	}
	if c.FailureRate > 0 {
		c.Faults = append([]runplan.Fault{{Kind: runplan.FaultHTTP500, Share: c.FailureRate}}, c.Faults...)
	}
	return c
}

func (c Config) batched() bool { return c.DecodeTokensPerS > 0 }

// model returns the timing model that c asks for.
func (c Config) model() engine.Model {
	t := engine.Timing{
		TTFT: int64(c.TTFT), TTFTStdev: int64(c.TTFTStdev), ITL: int64(c.ITL), ITLStdev: int64(c.ITLStdev),
		MaxSeqs: c.MaxNumSeqs, PrefixCache: c.PrefixCache, KVTokens: c.KVTokens,
	}
	if c.batched() {
		return engine.NewBatch(engine.Rates{Timing: t, Prefill: c.PrefillTokensPerS, Decode: c.DecodeTokensPerS},
			uint64(c.Seed))
	}
	return engine.NewExact(t)
}

// readFile reads a configuration file.
func readFile(path string) (runplan.Sim, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return runplan.Sim{}, fmt.Errorf("reading configuration of the engine: %w", err)
	}
	return ReadConfig(data)
}
