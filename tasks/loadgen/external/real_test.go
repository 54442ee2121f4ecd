package external

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bflow.dev/bflow/load/tool/registry"
	"bflow.dev/bflow/report"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/sim"
)

// TestRealTools runs the tools themselves against the simulated engine.
func TestRealTools(t *testing.T) {
	venvs := os.Getenv("BFLOW_PEERS")
	if venvs == "" {
		t.Skip("BFLOW_PEERS does not name a folder of virtual environments with guidellm, inference-perf and aiperf")
	}
	venvs, err := filepath.Abs(venvs)
	if err != nil {
		t.Fatal(err)
	}
	for tool, env := range map[string]string{"guidellm": "HF_HUB_OFFLINE=1", "inference-perf": "HF_HUB_OFFLINE=1",
		"aiperf": "NO_COLOR=1"} {
		t.Run(tool, func(t *testing.T) { runReal(t, tool, filepath.Join(venvs, tool), env) })
	}
}

// block puts 40 requests of 64 tokens that are answered by 16.
func realBlock(tool, tokenizer string) map[string]any {
	switch tool {
	case "guidellm":
		return map[string]any{"profile": map[string]any{"kind": "concurrent", "streams": 4},
			"constraint": map[string]any{"kind": "max_requests", "count": 40},
			"data":       map[string]any{"kind": "synthetic_text", "prompt_tokens": 64, "output_tokens": 16},
			"tokenizer":  tokenizer,
			"seed":       42}
	case "inference-perf":
		fixed := func(n int) map[string]any { return map[string]any{"type": "fixed", "mean": n, "min": n, "max": n} }
		return map[string]any{"api": map[string]any{"type": "completion", "streaming": true},
			"tokenizer": map[string]any{"pretrained_model_name_or_path": tokenizer},
			"load": map[string]any{"type": "concurrent", "num_workers": 1, "interval": 0,
				"stages": []any{map[string]any{"concurrency_level": 4, "num_requests": 40}}},
			"data": map[string]any{"type": "random", "input_distribution": fixed(64), "output_distribution": fixed(16)}}
	}
	return map[string]any{"endpoint_type": "chat", "concurrency": 4, "request_count": 40, "isl": 64, "isl_stddev": 0,
		"osl": 16, "osl_stddev": 0,
		"extra_inputs": "ignore_eos:true", "tokenizer": tokenizer, "use_server_token_count": true, "no_gpu_telemetry": true,
		"no_server_metrics": true}
}

func runReal(t *testing.T, tool, venv, env string) {
	own, err := runnable(registry.All(), tool)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(venv, "bin", own.External().Program().Name)); err != nil {
		t.Skipf("%s is not installed in %q", tool, venv)
	}
	tokenizer := filepath.Join(t.TempDir(), "tokenizer")
	if out, err := exec.Command(filepath.Join(venv, "bin", "python"), "../../../bench/peers/tokenizer.py",
		tokenizer).CombinedOutput(); err != nil {
		t.Fatalf("making a tokenizer: %v\n%s", err, out)
	}
	key := "sk-very-secret"
	engine, err := sim.Listen(sim.Config{Models: []string{"tiny"}, APIKey: key, KeepTruth: true,
		Sim: runplan.Sim{TTFT: runplan.Duration(20 * time.Millisecond), ITL: runplan.Duration(5 * time.Millisecond)}})
	if err != nil {
		t.Fatal(err)
	}
	defer engine.Close()
	task := makeTask(t.TempDir(), "")
	task.Reader, task.Endpoint, task.Environ = nil, engine.URL(), append(os.Environ(), env)
	task.Env = func(name string) string { return map[string]string{"BFLOW_API_KEY": key}[name] }
	m := &task.Plan.Measurements[0]
	m.Tool, m.Venv, m.External = tool, venv, realBlock(tool, tokenizer)
	m.Stages = []runplan.Stage{{Name: "c4", Measure: true, Shape: runplan.ShapeClosed, Concurrency: 4, Requests: 40}}
	m.Data.Output = &runplan.Length{Shape: "fixed", Mean: 16}
	began := time.Now()
	if err := Run(t.Context(), task); err != nil {
		t.Fatal(err)
	}
	checkReal(t, task, engine, key, began)
}

func checkReal(t *testing.T, task Task, engine *sim.Server, key string, began time.Time) {
	t.Helper()
	dir := report.MeasurementDir(task.RunDir, 0)
	log, _ := os.ReadFile(filepath.Join(dir, LogFile))
	if sum := summary(t, task.RunDir); !sum.Complete || sum.Error != "" {
		t.Fatalf("summary %+v\n%s", sum, log)
	}
	header, rows, err := report.ReadRows(filepath.Join(dir, contract.FileRequests))
	if err != nil || header.ToolVersion == "" || len(rows) < 40 {
		t.Errorf("%d rows, header %+v, %v", len(rows), header, err)
	}
	stages, err := report.ReadStages(filepath.Join(dir, contract.FileStages))
	if err != nil || len(stages) != 1 {
		t.Fatalf("%d stages, %v", len(stages), err)
	}
	s := stages[0]
	if got := s.Counts.ByStatus[report.StatusOK]; got < 40 || got > len(engine.Truth()) {
		t.Errorf("%d requests are ok, the engine answered %d", got, len(engine.Truth()))
	}
	if start := time.Unix(0, s.StartNS); start.Before(began) || start.After(time.Now()) {
		t.Errorf("the stage started at %s, the test at %s", start, began)
	}
	ttft := s.Metrics["ttft"]
	if tool := task.Plan.Measurements[0].Tool; tool == "inference-perf" {
		ttft = s.Metrics["ttfc"]
	}
	// In ms: in another unit it would be a thousand times as much, or as little. A busy host makes it some times as much.
	if ttft.Mean < 20 || ttft.Mean > 10_000 || s.Tokens.Out != int64(16*s.Counts.ByStatus[report.StatusOK]) {
		t.Errorf("stage %+v", s)
	}
	err = filepath.WalkDir(task.RunDir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if strings.Contains(string(data), key) {
			t.Errorf("%s holds the API key", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
