package rig

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/sim"
)

// ModelName is the model that the engine serves.
const ModelName = "sim"

// EngineOptions describe a simulated engine.
type EngineOptions struct {
	Binary  string
	Dir     string // gets truth.jsonl and engine.log
	Core    int
	Sim     runplan.Sim
	NoTruth bool     // write no truth log
	Args    []string // beside those that the rig gives
}

// Engine is a simulated engine that runs.
type Engine struct {
	URL   string
	Truth string // path of the truth log, complete after Stop; "" without one
	*Process
	log *os.File
}

// StartEngine starts an engine and returns when it listens.
func StartEngine(ctx context.Context, o EngineOptions) (*Engine, error) {
	config, err := json.Marshal(o.Sim)
	if err != nil {
		return nil, fmt.Errorf("writing the configuration of the engine: %w", err)
	}
	e := &Engine{}
	args := append([]string{"--port", "0", "--model", ModelName, "--config-json", string(config)}, o.Args...)
	if !o.NoTruth {
		e.Truth = filepath.Join(o.Dir, "truth.jsonl")
		args = append(args, "--truth-log", e.Truth)
	}
	if e.log, err = os.Create(filepath.Join(o.Dir, "engine.log")); err != nil {
		return nil, fmt.Errorf("starting the engine: %w", err)
	}
	address, stdout, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("starting the engine: %w", err)
	}
	defer address.Close()
	e.Process, err = Start(ctx, Command{Path: o.Binary, Args: args, Core: o.Core, Stdout: stdout, Stderr: e.log})
	stdout.Close()
	if err != nil {
		return nil, err
	}
	line, err := bufio.NewReader(address).ReadString('\n')
	if err != nil {
		usage, _ := e.Wait()
		return nil, fmt.Errorf("the engine ended with code %d before it listened: see %s", usage.ExitCode, e.log.Name())
	}
	e.URL = strings.TrimSpace(line)
	return e, nil
}

// Stop ends the engine, which completes its truth log.
func (e *Engine) Stop() (Usage, error) {
	e.Interrupt()
	defer e.log.Close()
	return e.Wait()
}

// Stats asks the engine how well it kept its own deadlines.
func (e *Engine) Stats(ctx context.Context) (sim.Stats, error) {
	var s sim.Stats
	body, err := e.ask(ctx, http.MethodGet, "/sim/stats", "")
	if err == nil {
		err = json.Unmarshal(body, &s)
	}
	return s, err
}

// Inject puts a fault in force, its times counted from now.
func (e *Engine) Inject(ctx context.Context, f runplan.Fault) error {
	body, err := json.Marshal(f)
	if err != nil {
		return fmt.Errorf("writing a fault: %w", err)
	}
	_, err = e.ask(ctx, http.MethodPost, "/sim/faults", string(body))
	return err
}

func (e *Engine) ask(ctx context.Context, method, path, body string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, e.URL+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Close = true
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return nil, fmt.Errorf("asking the engine: %w", err)
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	if err == nil && resp.StatusCode != http.StatusOK {
		err = fmt.Errorf("asking the engine for %s %s: status %d: %s", method, path, resp.StatusCode, answer)
	}
	return answer, err
}
