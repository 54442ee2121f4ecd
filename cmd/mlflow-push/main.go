// Command mlflow-push is the task of that name: see package tasks/mlflow.
package main

import (
	"os"

	"bflow.dev/bflow/tasks/mlflow"
	"bflow.dev/bflow/tasks/step"
)

func main() { os.Exit(step.Main("mlflow-push", mlflow.Run)) }
