// Command collect is the task of that name: see package tasks/collect.
package main

import (
	"os"

	"bflow.dev/bflow/tasks/collect"
	"bflow.dev/bflow/tasks/step"
)

func main() { os.Exit(step.Main("collect", collect.Run)) }
