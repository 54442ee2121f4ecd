package engine

import (
	"time"

	"bflow.dev/bflow/runplan"
)

// command is any server, by the command line that a file gives.
func command() Engine {
	return Engine{
		Kind: "command", About: "any server, by its command line",
		HealthPath: "/health", MetricsPath: "/metrics", NeedsCommand: true,
		StartBudget: func(*runplan.Engine) time.Duration { return 10 * time.Minute },
		Program:     written,
	}
}
