package same

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"bflow.dev/bflow/e2e/product"
	"bflow.dev/bflow/pipelines"
	"bflow.dev/bflow/pipelines/local"
	"bflow.dev/bflow/report"
)

func TestMain(m *testing.M) { product.Main(m) }

// experiment has stages of both loops; the closed one ends by a number of requests, so that all of it is fixed.
const experiment = `
apiVersion: bflow.dev/v1alpha1
kind: DeploymentProfile
metadata: {name: here}
spec: {platform: kubernetes, mode: plain, engine: {kind: sim}}
---
apiVersion: bflow.dev/v1alpha1
kind: Experiment
metadata: {name: same}
spec:
  model: {name: acme/tiny}
  deployment_profile: here
  engine: {kind: sim, sim: {ttft: 5ms, itl: 1ms}}
  execution: {on_invalid: mark}
  load:
    data:
      input: {mean: 96, stdev: 10, min: 80, max: 120}
      output: {mean: 8, stdev: 2, min: 4, max: 12}
      prefixes: [{weight: 2, count: 3, tokens: 32}, {weight: 1, count: 1, tokens: 16}]
      seed: 7
    stages:
      - {name: open, rate: 60, arrival: poisson, duration: 1s}
      - {name: closed, concurrency: 3, requests: 40}
`

func TestWhatCompilePrintsIsWhatRuns(t *testing.T) {
	p := product.New(t)
	p.Write("same.yaml", experiment)
	if got := p.Run("run", "--local", "--plain", "same.yaml"); got.Code != 0 {
		t.Fatalf("run: exit code %d:\n%s", got.Code, got.Err)
	}
	ran := p.Only()
	printed := p.Run("compile", "--no-queue", "same.yaml")
	if printed.Code != 0 {
		t.Fatalf("compile: exit code %d:\n%s", printed.Code, printed.Err)
	}
	executed := execute(t, p, printed.Out)

	const objects = "local/objects.yaml"
	if diff := cmp.Diff(read(t, executed.Path(objects)), read(t, ran.Path(objects))); diff != "" {
		t.Errorf("objects (-printed +run):\n%s", diff)
	}
	if got := fixed(ran); len(got) < 80 {
		t.Errorf("only %d requests are compared", len(got))
	}
	if diff := cmp.Diff(fixed(executed), fixed(ran)); diff != "" {
		t.Errorf("requests (-printed +run):\n%s", diff)
	}
}

// execute carries printed objects out as a run of their own.
func execute(t *testing.T, p *product.Product, text string) product.Run {
	t.Helper()
	objects, err := pipelines.Parse(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	status, err := local.Run(t.Context(),
		local.Options{Objects: objects, RunDir: filepath.Join(root, "printed"), RunID: "printed",
			BinDir: filepath.Dir(p.Path), Self: p.Path, Env: os.Environ()})
	if err != nil || status.State != local.Succeeded {
		t.Fatalf("executing what was printed: %s: %s: %v", status.State, status.Message, err)
	}
	return product.Every(t, root)[0]
}

// request is everything about a request that the plan and its seed decide.
type request struct {
	ID                          string // without the run's own part
	Phase                       string
	Offset                      int64 // of the intended send in its stage, open loop only
	Session, Turn               int
	Input, Output               int
	PrefixBucket, PrefixIndex   int
	PromptHash, Status, Finish  string
	TokensOut, TokensIn, Sample int
}

func fixed(r product.Run) map[string]request {
	h, rows := r.Rows()
	all, first := map[string]request{}, map[int]int64{}
	for _, row := range rows { // in order of their intended sends
		if _, ok := first[row.Stage]; !ok {
			first[row.Stage] = row.TIntended
		}
		id := strings.TrimPrefix(row.ID, h.Run)
		all[id] = describe(id, row, row.TIntended-first[row.Stage])
	}
	return all
}

func describe(id string, row report.Row, offset int64) request {
	if row.Stage != 0 {
		offset = 0 // closed: a request is sent when another has ended
	}
	return request{ID: id, Phase: row.Phase, Offset: offset, Session: row.Session, Turn: row.Turn, Sample: row.Sample,
		Input: number(row.TokensInAsked), Output: number(row.TokensOutAsked), PrefixBucket: number(row.PrefixBucket),
		PrefixIndex: number(row.PrefixIndex),
		PromptHash:  row.PromptHash, Status: row.Status, Finish: row.FinishReason, TokensOut: number(row.TokensOut),
		TokensIn: number(row.TokensIn)}
}

func number(n *int) int {
	if n == nil {
		return -1
	}
	return *n
}

func read(t *testing.T, path string) string {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
