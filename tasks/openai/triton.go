package openai

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"bflow.dev/bflow/internal/bounded"
	"bflow.dev/bflow/runplan"
)

// Served returns the models that the server of plan lists at its readiness path. Triton has no such list on the port of
// its own protocol, unless it runs its OpenAI frontend: there it is asked whether the model of plan is ready.
func (c *Client) Served(ctx context.Context, plan *runplan.RunPlan) ([]string, error) {
	path := cmp.Or(plan.Deployment.EndpointPath, "/v1/models")
	if plan.Triton() && strings.HasPrefix(path, "/v2") {
		if _, err := c.Get(ctx, path); err != nil {
			return nil, err
		}
		return c.servedByTriton(ctx, plan)
	}
	models, err := c.Models(ctx, path)
	if plan.Triton() && answered(err, http.StatusBadRequest, http.StatusNotFound, http.StatusMethodNotAllowed) {
		return c.servedByTriton(ctx, plan)
	}
	for i, name := range models {
		if name == plan.Deployment.ModelPath() { // a server that has no other name for it than its folder
			models[i] = plan.Deployment.Model.Name
		}
	}
	return models, err
}

// servedByTriton is the model of plan where it is ready. Triton answers 400 for one that it does not know as for one
// that it still loads: its repository tells these apart, where it may be seen.
func (c *Client) servedByTriton(ctx context.Context, plan *runplan.RunPlan) ([]string, error) {
	base, name := tritonModel(plan)
	_, err := c.Get(ctx, base+"/ready")
	if err == nil {
		return []string{plan.Deployment.Model.Name}, nil
	}
	if !answered(err, http.StatusBadRequest, http.StatusNotFound) {
		return nil, err
	}
	root, _, _ := strings.Cut(base, "/v2/models/")
	known, unseen := c.repository(ctx, root+"/v2/repository/index")
	if unseen == nil && !slices.Contains(known, name) {
		return known, nil
	}
	return nil, fmt.Errorf("the model is not ready: %w", err)
}

// tritonModel is where Triton tells of the model of plan, and its name in the repository: where the requests go,
// without the word that generates.
func tritonModel(plan *runplan.RunPlan) (path, name string) {
	path = "/v2/models/{model}"
	for _, m := range plan.Measurements {
		if at := strings.LastIndex(m.API.Path, "/generate"); m.API.Type == runplan.APITriton && at > 0 {
			path = m.API.Path[:at]
			break
		}
	}
	path = strings.ReplaceAll(path, "{model}", url.PathEscape(plan.Deployment.Model.Name))
	_, name, _ = strings.Cut(path, "/v2/models/")
	name, _, _ = strings.Cut(name, "/")
	if plain, err := url.PathUnescape(name); err == nil {
		name = plain
	}
	return path, name
}

// repository returns the names of the models that Triton has or could load.
func (c *Client) repository(ctx context.Context, path string) ([]string, error) {
	resp, err := c.do(ctx, http.MethodPost, path, map[string]any{})
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	body, err := bounded.ReadAll(resp.Body, maxAnswer)
	if err != nil {
		return nil, fmt.Errorf("reading the answer of POST %s: %w", c.shown(path), err)
	}
	var index []struct {
		Name string `json:"name"`
	}
	if err := json.Unmarshal(c.redact(body), &index); err != nil {
		return nil, fmt.Errorf("reading POST %s: not a list of models: %s", c.shown(path), c.excerpt(body))
	}
	names := []string{}
	for _, m := range index {
		if !slices.Contains(names, m.Name) { // each version is an entry
			names = append(names, m.Name)
		}
	}
	return names, nil
}

// answered says whether err is an answer with one of these codes.
func answered(err error, codes ...int) bool {
	var status *StatusError
	return errors.As(err, &status) && slices.Contains(codes, status.Code)
}
