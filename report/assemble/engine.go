package assemble

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"path/filepath"
	"time"

	"bflow.dev/bflow/report"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/tasks/step"
	"bflow.dev/bflow/verdict"
)

// endpointFile is what a report reads of deployment/endpoint.json.
type endpointFile struct {
	Model        string    `json:"model"`
	ServedModels []string  `json:"served_models"`
	Engine       string    `json:"engine"`
	Target       string    `json:"target"`
	Version      string    `json:"version"`
	Deployed     bool      `json:"deployed"`
	Started      time.Time `json:"started"`
	Ready        time.Time `json:"ready"`
}

// smoketestFile is what a report reads of smoketest.json.
type smoketestFile struct {
	Passed bool `json:"passed"`
	Checks []struct {
		Name     string `json:"name"`
		Verdict  string `json:"verdict"`
		Evidence string `json:"evidence"`
	} `json:"checks"`
}

// readOptional reads a JSON file that an unfinished run need not have; false where it is missing.
func readOptional(path string, v any) (bool, error) {
	err := step.ReadJSON(path, v)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil, err
}

// engine describes the server under test by what it said, else by the plan.
func engine(runDir string, p *runplan.RunPlan) (*report.Engine, error) {
	d := p.Deployment
	e := &report.Engine{
		Kind: d.Engine.Kind, Model: d.Model.Name, Deployed: d.Endpoint == nil, Replicas: max(1, d.Replicas),
	}
	var end endpointFile
	found, err := readOptional(filepath.Join(runDir, contract.FileEndpoint), &end)
	if err != nil || !found {
		return e, err
	}
	e.Target = end.Target
	e.Version, e.Model = end.Version, end.Model
	e.ServedModels, e.Deployed = end.ServedModels, end.Deployed
	if end.Engine != "" {
		e.Kind = end.Engine
	}
	if end.Deployed && end.Ready.After(end.Started) {
		e.StartupS = end.Ready.Sub(end.Started).Seconds()
	}
	return e, nil
}

// unhealthy reports the failed checks of the smoke test, and an engine that ended before it was told to.
func unhealthy(runDir string) ([]verdict.Finding, error) {
	var smoke smoketestFile
	found, err := readOptional(filepath.Join(runDir, contract.FileSmoketest), &smoke)
	if err != nil {
		return nil, err
	}
	var out []verdict.Finding
	add := func(format string, args ...any) {
		out = append(out, verdict.Finding{
			Code: contract.ExitUnhealthy, Exit: contract.ExitUnhealthy, Reason: fmt.Sprintf(format, args...),
		})
	}
	for _, c := range smoke.Checks {
		if found && !smoke.Passed && c.Verdict == "fail" {
			add("smoke test: %s: %s", c.Name, c.Evidence)
		}
	}
	var exit struct{ Text string }
	found, err = readOptional(filepath.Join(runDir, contract.FileEngineExit), &exit)
	if found && err == nil {
		add("the engine ended with %s before the run was over; see %s", exit.Text, contract.FileEngineLog)
	}
	return out, err
}

// WithoutUser removes credentials from a URL; what is no URL is left out whole.
func WithoutUser(raw string) string {
	u, err := url.Parse(raw)
	if err != nil {
		return ""
	}
	u.User = nil
	return u.String()
}
