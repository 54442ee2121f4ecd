package loadgen

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"bflow.dev/bflow/internal/eventually"
	"bflow.dev/bflow/report"
	"bflow.dev/bflow/report/imports"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/sim"
	"bflow.dev/bflow/tasks/step"
)

// spoken is one way to speak to load-gen: URL stands for the address of the engine, HOST for it without http://.
type spoken struct {
	name    string
	env     []string
	args    string
	files   map[string]string
	wants   []string // files that the tool would have written
	ok      int      // requests in it that ended well
	rows    int      // of each status it shows so many, 0 = all
	said    string   // somewhere on the standard error
	holds   string   // somewhere in the first of the files
	without string   // nowhere in it
}

func fiveTools() []spoken {
	return []spoken{
		{name: "GuideLLM 0.3 by its variables", wants: []string{"out/benchmarks.json"}, ok: 20, rows: 5,
			env: []string{"GUIDELLM_TARGET=URL/v1", "GUIDELLM_RATE_TYPE=constant", "GUIDELLM_RATE=20", "GUIDELLM_MAX_SECONDS=1",
				"GUIDELLM_OUTPUT_SAMPLING=5",
				"GUIDELLM_DATA=prompt_tokens=32,output_tokens=8", "GUIDELLM_OUTPUT_PATH=out",
				`GUIDELLM_OUTPUT_EXTRAS={"team":"search"}`}, holds: `"team": "search"`},
		{name: "GuideLLM 0.8 by its flags", wants: []string{"g/results.json", "g/results.yaml"}, ok: 12,
			args: "guidellm run --backend kind=openai_http,target=URL --profile kind=concurrent,streams=3 --constraint " +
				"kind=max_requests,count=12" +
				" --data kind=synthetic_text,prompt_tokens=32,output_tokens=8 --output kind=json,path=g/results.json --output " +
				"kind=yaml,path=g/results.yaml"},
		{name: "inference-perf by its file", args: "inference-perf -c perf.yaml",
			wants: []string{"res/x-summary_lifecycle_metrics.json", "res/x-stage_0_lifecycle_metrics.json"},
			ok:    20,
			files: map[string]string{
				"perf.yaml": "load: {type: constant, stages: [{rate: 20, duration: 1}]}\napi: {type: completion, streaming: " +
					"true}\n" +
					"server: {type: vllm, model_name: sim, base_url: 'URL', ignore_eos: true}\ndata:\n  type: random\n  " +
					"input_distribution: {min: 32, max: 32, mean: 32, std_dev: 0}\n" +
					"  output_distribution: {min: 8, max: 8, mean: 8, std_dev: 0}\nreport: {request_lifecycle: {summary: true, " +
					"per_stage: true, percentiles: [50, 97, 99]}}\n" +
					"storage: {local_storage: {path: res, report_file_prefix: x-}}\n"}, holds: `"p99"`, without: `"p90"`},
		{name: "vllm bench serve by its flags", wants: []string{"v/r.json"}, ok: 20, holds: `"p97_ttft_ms"`,
			without: "p90_ttft_ms",
			args: "vllm bench serve --base-url URL --model sim --dataset-name random --random-input-len 32 " +
				"--random-output-len 8 --num-prompts 20 --request-rate 40" +
				" --save-result --result-dir v --result-filename r.json --percentile-metrics ttft --metric-percentiles 50,97"},
		{name: "aiperf profile by its flags", wants: []string{"art/mine_aiperf.json", "art/mine_aiperf.csv",
			"art/mine.jsonl"}, ok: 15,
			args: "aiperf profile --model sim --url HOST --endpoint-type chat --streaming --concurrency 3 --request-count " +
				"15 --isl 32 --osl 8" +
				" --output-artifact-dir art --profile-export-prefix mine"},
		{name: "words that nobody knows, with --lenient",
			args: "--lenient guidellm benchmark --target URL --profile constant --rate 20 --max-seconds 1 --frobnicate 3" +
				" --data prompt_tokens=32,output_tokens=8 --output-dir len --outputs json", wants: []string{"len/benchmarks.json"},
			ok: 20, said: "warning: --frobnicate: unknown option"},
	}
}

// here makes an empty working directory with the files of s, and returns its words with the address put in.
func (s spoken) here(t *testing.T, url string) (env, args []string) {
	t.Helper()
	t.Chdir(t.TempDir())
	fill := strings.NewReplacer("URL", url, "HOST", strings.TrimPrefix(url, "http://"))
	for name, text := range s.files {
		if err := os.WriteFile(name, []byte(fill.Replace(text)), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, pair := range s.env {
		env = append(env, strings.Replace(pair, "=URL", "="+url, 1))
	}
	return env, strings.Fields(fill.Replace(s.args))
}

func TestTheWordsOfOtherToolsMakeARun(t *testing.T) {
	engine, err := sim.Listen(sim.Config{Sim: runplan.Sim{TTFT: seconds(0.01), ITL: seconds(0.001)}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { engine.Close() })
	for _, s := range fiveTools() {
		t.Run(s.name, func(t *testing.T) {
			env, args := s.here(t, engine.URL())
			before := len(engine.Truth())
			code, out, errs := command(t, env, args...)
			if code != 0 {
				t.Fatalf("exit %d\n%s%s", code, out, errs)
			}
			if !strings.Contains(errs, s.said) {
				t.Errorf("said\n%s", errs)
			}
			s.checkFiles(t, out, func() []sim.Record { return engine.Truth()[before:] })
			runs, _ := filepath.Glob("bflow-*/" + contract.FileReport)
			if len(runs) != 1 || !strings.Contains(out, "run: "+filepath.Dir(runs[0])) || !strings.Contains(out, "req/s") {
				t.Errorf("runs %q, said\n%s", runs, out)
			}
		})
	}
}

// endedAfter counts the requests of which the engine was rid at the Unix time at or later.
func endedAfter(truth []sim.Record, at int64) int {
	n := 0
	for _, rec := range truth {
		if rec.ArrivalUnix+rec.End-rec.Arrival >= at {
			n++
		}
	}
	return n
}

// checkFiles reads the results as bflow import would.
func (s spoken) checkFiles(t *testing.T, said string, truth func() []sim.Record) {
	t.Helper()
	for _, name := range s.wants {
		if !strings.Contains(said, ": "+name+"\n") {
			t.Errorf("nothing is said of %q:\n%s", name, said)
		}
		if _, err := os.Stat(name); err != nil {
			t.Error(err)
		}
	}
	text, err := os.ReadFile(s.wants[0])
	if err != nil {
		t.Fatal(err)
	}
	if s.holds != "" && !bytes.Contains(text, []byte(s.holds)) || s.without != "" &&
		bytes.Contains(text, []byte(s.without)) {
		t.Errorf("%s does not hold %q, or holds %q:\n%.3000s", s.wants[0], s.holds, s.without, text)
	}
	docs, err := imports.Open(t.Context(), []string{filepath.Dir(s.wants[0])}, t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	in, err := imports.Read(t.Context(), docs, imports.Auto)
	if err != nil {
		t.Fatal(err)
	}
	if len(in.Stages) != 1 {
		t.Fatalf("%d stages", len(in.Stages))
	}
	counts := in.Stages[0].Counts
	ok, cut := counts.ByStatus[report.StatusOK], counts.ByStatus[report.StatusCut]
	if ok+cut != s.ok {
		t.Errorf("counts %+v, want %d requests", counts, s.ok)
	}
	// GuideLLM cuts what is in flight when its time is up: on a busy host that may be an answer or two.
	eventually.Nil(t, "the engine says of each request that was cut that it was still at it", func() error {
		if late := endedAfter(truth(), in.Stages[0].WindowEnd); cut > late {
			return fmt.Errorf("%d ended after the window, counts %+v", late, counts)
		}
		return nil
	})
	listed := 0
	if rows := in.Stages[0].Rows; rows != nil {
		for _, err := range rows(t.Context()) {
			if err != nil {
				t.Fatal(err)
			}
			listed++
		}
	}
	if want := min(s.rows, ok) + min(s.rows, cut); s.rows > 0 && listed != want {
		t.Errorf("%d rows, want %d", listed, want)
	}
}

func TestWordsThatCannotBeFollowedAreUsageErrors(t *testing.T) {
	engine, err := sim.Listen(sim.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { engine.Close() })
	const load = " --profile constant --rate 20 --max-seconds 1 --data prompt_tokens=32,output_tokens=8 --outputs json"
	for _, s := range []struct {
		name, args string
		code       int
		want       []string
	}{
		{"words with slips, all of them named", "guidellm benchmark --target URL --max-secnds 3 --frobnicate 3" + load,
			contract.ExitUsage,
			[]string{`--max-secnds: unknown option (did you mean "--max-seconds"?)`, "--frobnicate: unknown option",
				"2 of them cannot be followed"}},
		{"no tool of that name", "guidelm benchmark" + load, contract.ExitUsage, []string{`unexpected "guidelm"`}},
		{"nobody at the address, and no model", "guidellm benchmark --target http://127.0.0.1:1" + load,
			contract.ExitUnhealthy,
			[]string{"asking http://127.0.0.1:1 which model it serves", "name a model, or check the address"}},
		{"nobody at the address", "guidellm benchmark --target http://127.0.0.1:1 --model x" + load, contract.ExitFail,
			[]string{"connection refused"}},
		{"a run directory of another run", "--run-dir taken guidellm benchmark --target URL" + load, contract.ExitUsage,
			[]string{"holds a run of another plan"}},
	} {
		t.Run(s.name, func(t *testing.T) {
			env, args := spoken{args: s.args}.here(t, engine.URL())
			other := newBench(".", closedLoop(1, 1))
			other.runDir = "taken"
			writePlan(t, other)
			code, out, errs := command(t, env, args...)
			for _, want := range s.want {
				if code != s.code || !strings.Contains(errs, want) {
					t.Errorf("exit %d, want %d and %q\n%s%s", code, s.code, want, out, errs)
				}
			}
		})
	}
}

// writePlan puts the plan of b where that of a run lies.
func writePlan(t *testing.T, b *bench) {
	t.Helper()
	if err := runplan.Identify(&b.plan); err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(b.plan)
	if err == nil {
		err = os.MkdirAll(b.runDir, 0o755)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(b.runDir, contract.FilePlan), data, 0o644)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestTheKeyOfTheWordsIsInNoFile(t *testing.T) {
	const key = "sk-very-secret"
	engine, err := sim.Listen(sim.Config{APIKey: key})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { engine.Close() })
	s := spoken{
		args: "aiperf profile --url HOST --model sim --endpoint-type chat --streaming --concurrency 1 --request-count 3 " +
			"--isl 32 --osl 4 --api-key " + key}
	env, args := s.here(t, engine.URL())
	code, out, errs := command(t, env, args...)
	if code != 0 || strings.Contains(out+errs, key) {
		t.Fatalf("exit %d\n%s%s", code, out, errs)
	}
	err = filepath.WalkDir(".", func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte(key)) {
			t.Errorf("%s holds the key", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestTheSameWordsAgainKeepWhatWasMeasured(t *testing.T) {
	engine, err := sim.Listen(sim.Config{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { engine.Close() })
	s := spoken{
		args: "vllm bench serve --base-url URL --dataset-name random --random-input-len 32 --random-output-len 4 " +
			"--num-prompts 3 --max-concurrency 1" +
			" --save-result --append-result --result-filename r.json --disable-tqdm"}
	env, args := s.here(t, engine.URL())
	env = append(env, contract.EnvRunDir+"=here")
	for range 2 {
		code, out, errs := command(t, env, args...)
		if code != 0 || strings.Contains(errs, "stage 1/1") {
			t.Fatalf("exit %d, and no progress was asked for\n%s%s", code, out, errs)
		}
	}
	text, err := os.ReadFile("r.json")
	if err != nil || bytes.Count(text, []byte("\n")) != 2 || bytes.Count(text, []byte(`"completed":3,`)) != 2 {
		t.Errorf("%v, want two lines:\n%s", err, text)
	}
	if _, err := os.Stat("here/measurements/0/attempt-1/" + contract.FileRequests); err != nil {
		t.Error(err)
	}
}

func TestAnInterruptedRunIsWrittenAsFarAsItCame(t *testing.T) {
	engine, err := sim.Listen(sim.Config{Sim: runplan.Sim{TTFT: seconds(0.01), ITL: seconds(0.001)}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { engine.Close() })
	s := spoken{
		args: "guidellm benchmark --target URL --profile constant --rate 50 --max-seconds 3600 --data " +
			"prompt_tokens=32,output_tokens=4 --outputs json"}
	env, args := s.here(t, engine.URL())
	ctx, cancel := context.WithCancel(eventually.Context(t))
	defer cancel()
	go func() {
		eventually.Happens(ctx, func() bool { return len(engine.Truth()) >= 40 })
		cancel()
	}()
	streams := step.Streams{Out: io.Discard, Err: io.Discard, Env: func(string) string { return "" }}
	if code := step.Run(ctx, contract.LoadGen, Command(func() []string { return env }), streams,
		args); code != contract.ExitInterrupted {
		t.Errorf("exit %d", code)
	}
	if _, err := os.Stat("benchmarks.json"); err != nil {
		t.Error(err)
	}
}
