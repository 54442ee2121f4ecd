// Command provision is the task of that name: see package tasks/provision.
package main

import (
	"os"

	"bflow.dev/bflow/tasks/provision"
	"bflow.dev/bflow/tasks/step"
)

func main() { os.Exit(step.Main("provision", provision.Run)) }
