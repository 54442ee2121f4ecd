// Command sim-engine is the simulated engine: an OpenAI-compatible server with programmable timing and faults.
package main

import (
	"os"

	"bflow.dev/bflow/sim"
	"bflow.dev/bflow/tasks/step"
)

func main() {
	os.Exit(step.Main("sim-engine", sim.Command))
}
