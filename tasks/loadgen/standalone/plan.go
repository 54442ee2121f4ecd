package standalone

import (
	"context"
	"crypto/rand"
	"encoding/base32"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"bflow.dev/bflow/load/tool"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/tasks/openai"
	"bflow.dev/bflow/tasks/outbound"
	"bflow.dev/bflow/tasks/step"
	"bflow.dev/bflow/tasks/tlsclient"
)

// askTimeout bounds the question for the models.
const askTimeout = 30 * time.Second

// firstModel asks the server which model it serves.
func firstModel(ctx context.Context, req tool.Request, env func(string) string) (string, error) {
	key := string(req.Key)
	if key == "" {
		var err error
		if key, err = step.APIKey(env); err != nil {
			return "", err
		}
	}
	proxy, err := outbound.Proxy(req.Endpoint, &planOf(req).Deployment, req.Measure.API, env)
	if err != nil {
		return "", err
	}
	t, err := tlsclient.Secure(&http.Transport{DisableKeepAlives: true, Proxy: http.ProxyURL(proxy)}, req.Measure.API)
	if err != nil {
		return "", err
	}
	c := openai.Client{Base: req.Endpoint, APIKey: key, Headers: req.Measure.API.Headers,
		HTTP: outbound.Stay(&http.Client{Transport: t, Timeout: askTimeout})}
	models, err := c.Models(ctx, "/v1/models")
	if err == nil && len(models) == 0 {
		err = errors.New("it lists none")
	}
	if err != nil {
		return "", fmt.Errorf("asking %s which model it serves: %w; name a model, or check the address", req.Endpoint, err)
	}
	return models[0], nil
}

// newRun makes the plan and the run directory of a request whose model is known.
func newRun(req tool.Request, o options, env func(string) string) (*run, error) {
	r := &run{Request: req, id: newID(time.Now())}
	r.plan = planOf(req)
	if err := runplan.Identify(r.plan); err != nil {
		return nil, err
	}
	r.dir = o.RunDir
	if r.dir == "" {
		r.dir = env(contract.EnvRunDir)
	}
	if r.dir == "" {
		r.dir = r.id
	}
	if err := r.checkFree(); err != nil {
		return nil, err
	}
	return r, step.KeepPlan(r.dir, r.plan)
}

// checkFree refuses a directory that holds another run. One of the same plan is measured again, and keeps what it had.
func (r *run) checkFree() error {
	if _, err := os.Stat(r.file(contract.FilePlan)); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	old, err := runplan.Read(r.dir)
	switch {
	case err != nil:
		return step.Usagef("looking into the run directory: %w", err)
	case old.Digest != r.plan.Digest:
		return step.Usagef("the run directory %q holds a run of another plan; name another directory", r.dir)
	}
	return nil
}

// planOf is the plan of one measurement on a server that is there already.
func planOf(req tool.Request) *runplan.RunPlan {
	m := req.Measure
	m.Runner = runplan.RunnerNative
	if m.Name == "" {
		m.Name = req.Tool
	}
	m.Samples = max(1, m.Samples)
	name := runplan.PointName(req.Tool, 0, 0)
	p := &runplan.RunPlan{APIVersion: runplan.APIVersion, Kind: runplan.Kind, Name: name, Experiment: name, Index: 1,
		Deployment: runplan.Deployment{Model: runplan.Model{Name: req.Model},
			Endpoint:     &runplan.Endpoint{BaseURL: req.Endpoint},
			EndpointPath: "/v1/models", EndpointScope: "external", Engine: runplan.Engine{MetricsPath: "/metrics"}},
		Measurements: []runplan.Measurement{m}, SLO: req.SLO, Labels: map[string]string{"words_of": req.Tool},
		Target: runplan.Target{Name: "local"}, Queue: runplan.Queue{Isolation: "shared"},
		Execution: runplan.Execution{OnInvalid: "mark", Phases: runplan.Phases{Benchmark: true}}}
	if req.Generation != "" {
		p.Labels["words_generation"] = req.Generation
	}
	return p
}

func (r *run) file(name string) string { return filepath.Join(r.dir, name) }

// newID names a run: bflow-<UTC time>-<random>.
func newID(now time.Time) string {
	var b [4]byte
	_, _ = rand.Read(b[:]) // never fails: crypto/rand ends the program instead
	random := strings.ToLower(base32.HexEncoding.WithPadding(base32.NoPadding).EncodeToString(b[:]))[:5]
	return fmt.Sprintf("bflow-%s-%s", now.UTC().Format("20060102-150405"), random)
}

// folder reports whether path is a folder that is there.
func folder(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.IsDir()
}
