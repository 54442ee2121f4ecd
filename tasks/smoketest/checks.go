package smoketest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/tasks/openai"
	"bflow.dev/bflow/tasks/outbound"
	"bflow.dev/bflow/tasks/step"
)

const (
	checkTime = 30 * time.Second // budget of one check, unless the plan's request timeout is longer
	prompt    = "Count slowly from one upwards, in words."
	askTokens = 8
)

// finding is the outcome of a check before it is stamped.
type finding struct{ verdict, evidence string }

func passed(format string, args ...any) finding  { return finding{Pass, fmt.Sprintf(format, args...)} }
func warned(format string, args ...any) finding  { return finding{Warn, fmt.Sprintf(format, args...)} }
func failed(format string, args ...any) finding  { return finding{Fail, fmt.Sprintf(format, args...)} }
func skipped(format string, args ...any) finding { return finding{Skip, fmt.Sprintf(format, args...)} }

// examiner asks one server.
type examiner struct {
	client *openai.Client
	plan   *runplan.RunPlan
	api    runplan.API
}

// server is the first that is asked, as it is asked: neither its address nor what else is in here may be shown.
type server struct {
	address, key string
	secrets      []string
	env          func(string) string // names a proxy
}

func examine(ctx context.Context, o Options, first server, plan *runplan.RunPlan) (Result, error) {
	r := Result{Schema: Schema, Endpoint: o.Endpoint, Model: plan.Deployment.Model.Name, Time: time.Now().UTC(),
		Passed: true}
	for i, url := range urls(o) {
		asked, replica := first, ""
		if i > 0 {
			asked.address, replica = url, url
		}
		e, err := newExaminer(asked, plan)
		if err != nil {
			return Result{}, err
		}
		for _, c := range e.all(ctx, e.checks(i == 0), replica) {
			c.Evidence = step.Redact(c.Evidence, first.secrets...)
			r.Checks = append(r.Checks, c)
		}
		e.client.Close()
	}
	for _, c := range r.Checks {
		r.Passed = r.Passed && c.Verdict != Fail
	}
	return r, nil
}

// all asks every question, but no more of a server that left one of them without an answer: each would take as long.
func (e examiner) all(ctx context.Context, list []check, replica string) []Check {
	var out []Check
	for i, c := range list {
		done := e.run(ctx, c.name, replica, c.ask)
		out = append(out, done)
		if done.Millis < e.budget().Milliseconds() {
			continue
		}
		for _, rest := range list[i+1:] {
			out = append(out, Check{Name: rest.name, Replica: replica, Verdict: Skip,
				Evidence: "skipped, because the check before had no answer"})
		}
		break
	}
	return out
}

// budget is the time that a check may take.
func (e examiner) budget() time.Duration { return max(checkTime, e.api.Timeout.D()) }

func newExaminer(s server, plan *runplan.RunPlan) (examiner, error) {
	api := runplan.API{Type: runplan.APICompletions, Path: "/v1/completions", VerifyTLS: true}
	if len(plan.Measurements) > 0 {
		api = plan.Measurements[0].API
	}
	proxy, err := outbound.Proxy(s.address, &plan.Deployment, api, s.env)
	if err != nil {
		return examiner{}, err
	}
	client, err := openai.New(s.address, api, s.key, proxy)
	if err != nil {
		return examiner{}, err
	}
	client.Secrets = s.secrets
	return examiner{client: client, plan: plan, api: api}, nil
}

// urls is the endpoint and then each replica that provision listed beside it.
func urls(o Options) []string {
	var end struct {
		Replicas []string `json:"replicas"`
	}
	out := []string{o.Endpoint}
	if data, err := os.ReadFile(filepath.Join(o.RunDir, contract.FileEndpoint)); err == nil &&
		json.Unmarshal(data, &end) == nil {
		for _, u := range end.Replicas {
			if u != o.Endpoint {
				out = append(out, u)
			}
		}
	}
	return out
}

type check struct {
	name string
	ask  func(context.Context) finding
}

// checks are all that can be asked; of a further replica only what tells whether it is like the first.
func (e examiner) checks(full bool) []check {
	list := []check{{"health", e.health}, {"served model", e.servedModel}}
	if !e.plan.Execution.VerifyCompletions {
		return list
	}
	list = append(list, check{"measured API", e.measuredAPI})
	if full {
		list = append(list, check{"other API", e.otherAPI}, check{"streaming with usage", e.streaming},
			check{"requested length", e.length}, check{"auth header", e.auth})
	}
	return list
}

func (e examiner) run(ctx context.Context, name, replica string, ask func(context.Context) finding) Check {
	ctx, cancel := context.WithTimeout(ctx, e.budget())
	defer cancel()
	begin := time.Now()
	f := ask(ctx)
	if f.verdict == Fail && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		f = failed("no answer within %s", e.budget())
	}
	return Check{Name: name, Replica: replica, Verdict: f.verdict, Evidence: f.evidence,
		Millis: time.Since(begin).Milliseconds()}
}

func (e examiner) health(ctx context.Context) finding {
	path := e.plan.Deployment.Engine.HealthPath
	if path == "" {
		return skipped("the plan names no health path")
	}
	_, err := e.client.Get(ctx, path)
	var status *openai.StatusError
	missing := errors.As(err, &status) && (status.Code == http.StatusNotFound || e.plan.Triton() &&
		status.Code == http.StatusBadRequest)
	if e.plan.Deployment.Endpoint != nil && missing {
		return warned("%v; optional for an existing endpoint", err)
	}
	if err != nil {
		return failed("%v", err)
	}
	return passed("GET %s answers", path)
}

func (e examiner) servedModel(ctx context.Context) finding {
	want := e.plan.Deployment.Model.Name
	models, err := e.client.Served(ctx, e.plan)
	if err != nil {
		return failed("%v", err)
	}
	if !slices.Contains(models, want) {
		return failed("it serves %q, but the plan asks for %q; set model.name or the server's served model name",
			strings.Join(models, ", "), want)
	}
	return passed("it serves %q", want)
}

func (e examiner) ask(path string, stream bool) openai.Ask {
	return openai.Ask{Path: path, Model: e.plan.Deployment.Model.Name, Prompt: prompt, Tokens: askTokens,
		Exact: e.api.ExactOutput, Stream: stream, Body: e.api.Body}
}

func (e examiner) measuredAPI(ctx context.Context) finding {
	if !generates(e.api.Type) {
		return skipped("API %q has no generation to check", e.api.Type)
	}
	answer, err := e.client.Generate(ctx, e.ask(e.api.Path, false))
	var status *openai.StatusError
	switch {
	case errors.As(err, &status) && status.Code == http.StatusNotFound && e.plan.Triton():
		return failed("%v; for Triton without its OpenAI frontend, set load.api.type: triton", err)
	case err != nil:
		return failed("%v", err)
	case answer.Text == "":
		return failed("POST %s answered 200 without a token", e.api.Path)
	}
	return passed("POST %s generates text", e.api.Path)
}

// otherAPI asks the API that is not measured: good to know, no reason to stop.
func (e examiner) otherAPI(ctx context.Context) finding {
	path := "/v1/chat/completions"
	if e.api.Type == runplan.APIChat {
		path = "/v1/completions"
	}
	if _, err := e.client.Generate(ctx, e.ask(path, false)); err != nil {
		return warned("%v; it is not measured", err)
	}
	return passed("POST %s generates text", path)
}

func (e examiner) streaming(ctx context.Context) finding {
	if !e.api.Stream || !generates(e.api.Type) {
		return skipped("the plan does not stream")
	}
	answer, err := e.client.Generate(ctx, e.ask(e.api.Path, true))
	switch {
	case err != nil:
		return failed("%v", err)
	case answer.Events == 0:
		return failed("POST %s streamed no token", e.api.Path)
	case !answer.Done:
		return failed("the stream of POST %s ended without [DONE]", e.api.Path)
	case !answer.Usage:
		return warned("the stream carries no usage: tokens will be counted as events")
	}
	return passed("%d events, usage counts %d tokens", answer.Events, answer.OutputTokens)
}

func (e examiner) length(ctx context.Context) finding {
	if !e.api.ExactOutput || !generates(e.api.Type) {
		return skipped("the plan does not ask for exact lengths")
	}
	answer, err := e.client.Generate(ctx, e.ask(e.api.Path, false))
	switch {
	case err != nil:
		return failed("%v", err)
	case !answer.Usage:
		return warned("the server reports no usage, so the length cannot be checked")
	case answer.OutputTokens != askTokens:
		return failed(
			"requested exactly %d tokens, got %d (finish_reason %q); if the server supports neither ignore_eos nor "+
				"min_tokens, set load.api.exact_output: false",
			askTokens, answer.OutputTokens, answer.FinishReason)
	}
	return passed("requested %d tokens, got %d", askTokens, answer.OutputTokens)
}

// auth asks without the key: a server that answers all the same does not protect what we think it protects.
func (e examiner) auth(ctx context.Context) finding {
	if e.client.APIKey == "" {
		return skipped("no API key is set (%s)", step.EnvAPIKey)
	}
	bare := *e.client
	bare.APIKey = ""
	_, err := bare.Generate(ctx, e.ask(e.api.Path, false))
	var status *openai.StatusError
	switch {
	case err == nil:
		return warned("it also answers without the key")
	case errors.As(err, &status) && (status.Code == http.StatusUnauthorized || status.Code == http.StatusForbidden):
		return passed("without the key it answers %d", status.Code)
	}
	return warned("without the key it gave no answer: %v", err)
}

// generates reports whether an API answers with text that these checks know how to read.
func generates(kind string) bool { return kind == runplan.APIChat || kind == runplan.APICompletions }
