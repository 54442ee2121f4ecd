package engine

import (
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
)

// sim is the simulated engine of bflow.
func sim() Engine {
	return Engine{
		Kind: "sim", About: "bflow's simulated engine",
		Port: 8000, HealthPath: "/health", MetricsPath: "/metrics", MetricsOf: "vllm",
		OwnImage: contract.SimEngine, Light: true,
		StartBudget: func(e *runplan.Engine) time.Duration { return time.Minute + e.Sim.Startup.D() + e.Sim.NotReady.D() },
		Program:     simProgram,
	}
}

func simProgram(d *runplan.Deployment, at Listener) (Program, error) {
	cfg := runplan.Sim{}
	if d.Engine.Sim != nil {
		cfg = *d.Engine.Sim
	}
	text, err := json.Marshal(cfg)
	if err != nil {
		return Program{}, fmt.Errorf("encoding the configuration of the simulated engine: %w", err)
	}
	own := []string{"--host=" + at.Host, "--port=" + strconv.Itoa(at.Port), "--model=" + d.Model.Name,
		"--config-json=" + string(text)}
	return Program{Command: []string{"/" + contract.SimEngine}, Args: append(own, d.Engine.Args...)}, nil
}
