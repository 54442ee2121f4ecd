package sim_test

import (
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/sim"
)

// An engine in a test: it listens on a free port and keeps the truth in memory.
func ExampleListen() {
	engine, err := sim.Listen(sim.Config{Models: []string{"demo"}, Sim: runplan.Sim{
		TTFT: runplan.Duration(20 * time.Millisecond), ITL: runplan.Duration(2 * time.Millisecond),
		Faults: []runplan.Fault{{Kind: runplan.FaultShortOutput}},
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	resp, err := http.Post(engine.URL()+"/v1/completions", "application/json",
		strings.NewReader(`{"model":"demo","prompt":"one two three","max_tokens":8}`))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, resp.Body)
	engine.Close() // a client may have its answer before it is in the truth
	r := engine.Truth()[0]
	fmt.Println(r.Status, r.PromptTokens, r.AskedTokens, r.OutputTokens, r.Faults)
	// Output: complete 3 8 4 [short_output]
}
