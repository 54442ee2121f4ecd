// Command load-gen is the task of that name: see package tasks/loadgen.
package main

import (
	"os"

	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/tasks/loadgen"
	"bflow.dev/bflow/tasks/step"
)

func main() { os.Exit(step.Main(contract.LoadGen, loadgen.Command(os.Environ))) }
