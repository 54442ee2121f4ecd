package provision

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/tasks/openai"
	"bflow.dev/bflow/tasks/outbound"
	"bflow.dev/bflow/tasks/step"
	"bflow.dev/bflow/tasks/tlsclient"
)

const (
	// pollFast follows a local start closely; pollSlow spares a server that loads a model for minutes.
	pollFast = 20 * time.Millisecond
	pollSlow = 2 * time.Second
	// reachable is how long a server that we did not start may refuse connections: it should be there already.
	reachable = 15 * time.Second
	probeTime = 30 * time.Second
)

// waitReady returns when the right model is served: a 200 alone does not mean that. It ends at once, with exit code 3
// and the reason, when the process died, when the server refuses us, or when it serves another model.
//
// A server that is asked through an API server, and refuses, may want a key that cannot come there: it answers, and the
// smoke test will ask it beside it, with the key.
func waitReady(ctx context.Context, s step.Streams, client *openai.Client, plan *runplan.RunPlan,
	srv started) (Endpoint, error) {
	limit := plan.Timeouts.Ready.D()
	begin := time.Now()
	for wait := pollFast; ; wait = min(wait*3/2, pollSlow) {
		models, err := probe(ctx, client, plan)
		if keyless(client, err) {
			fmt.Fprintf(s.Err, "%s is up; this account may not ask for more: %v\n", srv.url, err)
			models, err = []string{}, nil
		}
		if err == nil {
			return describe(ctx, client, plan, srv, models)
		}
		if err := giveUp(ctx, srv, err, time.Since(begin), limit); err != nil {
			return Endpoint{}, err
		}
		select {
		case <-ctx.Done():
		case <-time.After(wait):
		}
	}
}

// keyless says whether err is a refusal that a key would have changed.
func keyless(client *openai.Client, err error) bool {
	var status *openai.StatusError
	return client.Proxied && errors.As(err, &status) &&
		(status.Code == http.StatusUnauthorized || status.Code == http.StatusForbidden)
}

// giveUp returns why waiting longer makes no sense, or nil.
func giveUp(ctx context.Context, srv started, cause error, waited, limit time.Duration) error {
	if ctx.Err() != nil {
		return fmt.Errorf("waiting for %s: %w", srv.url, ctx.Err())
	}
	if err := srv.alive(); err != nil {
		return step.Exit(contract.ExitUnhealthy, err)
	}
	var refused *refusedError
	final := errors.As(cause, &refused)
	if status := new(openai.StatusError); !srv.deployed && !errors.As(cause, &status) && waited > reachable {
		final = true
	}
	if final {
		return step.Exit(contract.ExitUnhealthy, fmt.Errorf("checking %s: %w", srv.url, cause))
	}
	if limit > 0 && waited > limit {
		return step.Exit(contract.ExitUnhealthy, fmt.Errorf("waiting for %s: not ready after %s: %w", srv.url, limit, cause))
	}
	return nil
}

// refusedError is an answer that time will not change.
type refusedError struct{ err error }

func (e *refusedError) Error() string { return e.err.Error() }
func (e *refusedError) Unwrap() error { return e.err }

func probe(ctx context.Context, client *openai.Client, plan *runplan.RunPlan) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	d := &plan.Deployment
	models, err := client.Served(ctx, plan)
	var status *openai.StatusError
	if errors.As(err, &status) && slices.Contains([]int{http.StatusUnauthorized, http.StatusForbidden,
		http.StatusNotFound}, status.Code) {
		return nil, &refusedError{fmt.Errorf("%w; %s", err, hint(status.Code, cmp.Or(d.EndpointPath, "/v1/models")))}
	}
	redirect, security := new(outbound.RedirectError), new(tlsclient.Error)
	if errors.As(err, &redirect) || errors.As(err, &security) {
		return nil, &refusedError{err}
	}
	if err != nil {
		return nil, err
	}
	if !slices.Contains(models, d.Model.Name) {
		return nil,
			&refusedError{fmt.Errorf("it serves %s, but the plan asks for %q; set model.name or the server's served model name",
				quoted(models), d.Model.Name)}
	}
	if d.Endpoint == nil && d.Engine.HealthPath != "" {
		if _, err := client.Get(ctx, d.Engine.HealthPath); err != nil {
			return nil, err
		}
	}
	return models, nil
}

func hint(code int, path string) string {
	if code == http.StatusNotFound {
		return fmt.Sprintf("check that %q is the readiness path (target.path)", path)
	}
	return "set " + step.EnvAPIKey + " or " + step.EnvAPIKeyFile
}

func quoted(names []string) string {
	if len(names) == 0 {
		return "no model"
	}
	out := make([]string, len(names))
	for i, n := range names {
		out[i] = fmt.Sprintf("%q", n)
	}
	return strings.Join(out, ", ")
}

func describe(ctx context.Context, client *openai.Client, plan *runplan.RunPlan, srv started,
	models []string) (Endpoint, error) {
	replicas := srv.replicas
	if len(replicas) == 0 {
		replicas = []string{srv.url}
	}
	return Endpoint{
		Schema: EndpointSchema, URL: srv.url, Replicas: replicas, Nodes: srv.nodes, Model: plan.Deployment.Model.Name,
		ServedModels: models,
		Engine:       plan.Deployment.Engine.Kind, Version: version(ctx, client, plan.Triton()), Deployed: srv.deployed,
		TruthLog: srv.truthLog,
	}, nil
}

// version is what the server says of itself, or "": most have no path for it.
func version(ctx context.Context, client *openai.Client, triton bool) string {
	ctx, cancel := context.WithTimeout(ctx, probeTime)
	defer cancel()
	paths := []string{"/version"}
	if triton {
		paths = append(paths, "/v2")
	}
	for _, path := range paths {
		var answer struct {
			Version string `json:"version"`
		}
		if body, err := client.Get(ctx, path); err == nil && json.Unmarshal(body, &answer) == nil && answer.Version != "" {
			return answer.Version
		}
	}
	return ""
}
