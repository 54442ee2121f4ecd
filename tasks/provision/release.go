package provision

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/url"
	"path/filepath"
	"strconv"
	"time"

	"bflow.dev/bflow/internal/durable"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/tasks/step"
)

// release frees what the run holds as soon as the load is over. It succeeds even where it could not: the report is
// still to be made, and finish tears down again. A plan that cannot be read, nil, keeps nothing from being freed.
func release(ctx context.Context, s step.Streams, o Options, plan *runplan.RunPlan) error {
	where, err := placeOf(s, o, plan)
	if err != nil {
		return step.Exit(contract.ExitUsage, err)
	}
	if plan == nil {
		fmt.Fprintln(s.Err, "provision: the last metrics are not scraped: only the plan says where they are")
	} else if err := scrape(ctx, o, plan, where); err != nil {
		fmt.Fprintf(s.Err, "provision: %v\n", err)
	}
	if err := where.keep(ctx); err != nil {
		fmt.Fprintf(s.Err, "provision: %v\n", err)
	}
	ctx, cancel := context.WithTimeout(ctx, releaseTime)
	defer cancel()
	return finishTeardown(ctx, s, o, where.teardown, "released")
}

// releaseTime bounds the teardown of release: finish tears down again.
const releaseTime = 10 * time.Minute

// missed records that the engine is gone before it was to go, where its supervisor could not: they went together.
func missed(runDir string) error {
	var procs []Process
	if err := step.ReadJSON(filepath.Join(runDir, contract.FileProcesses), &procs); err != nil || len(procs) == 0 {
		return nil // nothing was started, or teardown will say what is wrong
	}
	if ended(runDir) != nil || len(living(procs)) == len(procs) {
		return nil
	}
	return durable.WriteJSON(filepath.Join(runDir, contract.FileEngineExit), exitRecord{Text: "the end of its supervisor"})
}

// down is the teardown in finally: bounded, repeatable, and never the reason why a run fails. A server that is still
// there belongs to a run that was cut short, and its logs may say why.
func down(ctx context.Context, s step.Streams, o Options, plan *runplan.RunPlan) error {
	ctx, cancel := context.WithTimeout(ctx, o.Deadline)
	defer cancel()
	where, err := placeOf(s, o, plan)
	if err != nil {
		fmt.Fprintf(s.Err, "provision: %v\n", err)
		return nil
	}
	return finishTeardown(ctx, s, o, where.rescue, "torn_down")
}

func finishTeardown(ctx context.Context, s step.Streams, o Options, teardown func(context.Context) error,
	event string) error {
	e := step.Event{Source: contract.Provision, Event: event}
	if err := teardown(ctx); err != nil {
		e.Event, e.Message = "teardown_failed", err.Error()
		fmt.Fprintf(s.Err, "provision: %v\n", err)
	}
	if err := step.AppendEvent(o.RunDir, e); err != nil {
		fmt.Fprintf(s.Err, "provision: %v\n", err)
	}
	return nil
}

func scrape(ctx context.Context, o Options, plan *runplan.RunPlan, where place) error {
	var end Endpoint
	if err := step.ReadJSON(filepath.Join(o.RunDir, contract.FileEndpoint), &end); errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	client, err := where.client(atMetrics(plan, end.URL))
	if err != nil || client == nil {
		return err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	body, err := client.Get(ctx, plan.Deployment.Engine.MetricsPath)
	if err != nil {
		return fmt.Errorf("scraping the last metrics: %w", err)
	}
	return durable.WriteFile(filepath.Join(o.RunDir, contract.FileLastScrape), body)
}

// atMetrics returns plan and url with the port of the engine's metrics, where they have one of their own.
func atMetrics(plan *runplan.RunPlan, address string) (*runplan.RunPlan, string) {
	engine := plan.Deployment.Engine
	u, err := url.Parse(address)
	if engine.MetricsPort == 0 || engine.MetricsPort == engine.Port || err != nil {
		return plan, address
	}
	u.Host = net.JoinHostPort(u.Hostname(), strconv.Itoa(engine.MetricsPort))
	there := *plan
	there.Deployment.Engine.Port = engine.MetricsPort
	return &there, u.String()
}
