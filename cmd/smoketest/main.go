// Command smoketest is the task of that name: see package tasks/smoketest.
package main

import (
	"os"

	"bflow.dev/bflow/tasks/smoketest"
	"bflow.dev/bflow/tasks/step"
)

func main() { os.Exit(step.Main("smoketest", smoketest.Run)) }
