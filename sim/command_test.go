package sim

import (
	"bytes"
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"bflow.dev/bflow/internal/eventually"
	"bflow.dev/bflow/runplan"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/sim/pace"
	"bflow.dev/bflow/tasks/step"
)

// running is sim-engine in memory.
type running struct {
	url      string
	cancel   context.CancelFunc
	code     chan int
	out, err bytes.Buffer
}

// start runs the command and waits for its address file.
func start(t *testing.T, env map[string]string, args ...string) *running {
	t.Helper()
	file := filepath.Join(t.TempDir(), "address")
	ctx, cancel := context.WithCancel(t.Context())
	r := &running{cancel: cancel, code: make(chan int, 1)}
	streams := step.Streams{Out: &r.out, Err: &r.err, Env: func(k string) string { return env[k] }}
	go func() {
		r.code <- step.Run(ctx, "sim-engine", Command, streams,
			append([]string{"--port", "0", "--address-file", file}, args...))
	}()
	var address []byte
	eventually.Nil(t, "the address file", func() (err error) {
		if address, err = os.ReadFile(file); err != nil && len(r.code) > 0 {
			t.Fatalf("it has ended: %s", r.err.String())
		}
		return err
	})
	r.url = "http://" + strings.TrimSpace(string(address))
	return r
}

func TestTheCommandServesUntilItIsStopped(t *testing.T) {
	log := filepath.Join(t.TempDir(), "truth.jsonl")
	config := filepath.Join(t.TempDir(), "sim.json")
	if err := os.WriteFile(config, []byte(`{"ttft":"1ms","itl":"1ms","startup":"50ms"}`), 0o644); err != nil {
		t.Fatal(err)
	}
	clock := pace.NewClock()
	begin := clock.Now()
	r := start(t, map[string]string{"KEY": testKey, "POD_NAME": "pod-7"},
		"--config", config, "--model", "a", "--model", "b", "--truth-log", log, "--api-key-env", "KEY")
	want(t, "it listens after the startup delay", clock.Now()-begin >= int64(50*time.Millisecond), true)
	req, _ := http.NewRequest("POST", r.url+"/v1/completions",
		strings.NewReader(`{"model":"b","prompt":"x","max_tokens":3}`))
	req.Header.Set("Authorization", "Bearer "+testKey)
	req.Header.Set("X-Request-Id", "r-1")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	want(t, "status", resp.StatusCode, 200)
	want(t, "pod", resp.Header.Get("x-inference-pod"), "pod-7")
	r.cancel()
	want(t, "exit code", <-r.code, contract.ExitPass)
	want(t, "address on standard output", strings.TrimSpace(r.out.String()), r.url)
	data, err := os.ReadFile(log)
	if err != nil {
		t.Fatal(err)
	}
	records := readTruth(t, data)
	want(t, "records", len(records), 1)
	want(t, "id", records[0].RequestID, "r-1")
	want(t, "output", records[0].OutputTokens, 3)
	want(t, "key in any output", strings.Contains(r.out.String()+r.err.String()+string(data), testKey), false)
}

func TestACrashEndsTheCommandWithAnError(t *testing.T) {
	r := start(t, nil, "--config-json", `{"faults":[{"kind":"crash","after":"20ms"}]}`)
	want(t, "exit code", <-r.code, contract.ExitFail)
	want(t, "reason", strings.Contains(r.err.String(), "crashed by the fault"), true)
}

func TestBadArgumentsOfTheCommand(t *testing.T) {
	for _, row := range []struct {
		name string
		args []string
		code int
		want string
	}{
		{"an unknown flag", []string{"--nope"}, 2, "nope"},
		{"an argument", []string{"serve"}, 2, `unexpected argument "serve"`},
		{"an unknown key", []string{"--config-json", `{"tftt":"1ms"}`}, 2, `unknown field "tftt"`},
		{"a bad duration", []string{"--config-json", `{"ttft":"1"}`}, 2, `reading duration "1"`},
		{"one rate without the other", []string{"--config-json", `{"decode_tokens_per_s":5}`}, 2, "set both"},
		{"an unknown fault", []string{"--config-json", `{"faults":[{"kind":"x"}]}`}, 2, `unknown kind of fault "x"`},
		{"two configurations", []string{"--config", "x", "--config-json", "{}"}, 2, "exclude each other"},
		{"a missing file", []string{"--config", "/does/not/exist"}, 2, "/does/not/exist"},
		{"a key variable that is not set", []string{"--api-key-env", "NOT_SET"}, 2, `"NOT_SET" is not set`},
		{"a port in use or not allowed", []string{"--port", "0", "--host", "192.0.2.1"}, 1, "listening"},
		{"a truth log that cannot be made", []string{"--port", "0", "--truth-log", "/does/not/exist"}, 1,
			"opening truth log"},
	} {
		t.Run(row.name, func(t *testing.T) {
			var out, errs bytes.Buffer
			streams := step.Streams{Out: &out, Err: &errs, Env: func(string) string { return "" }}
			code := step.Run(t.Context(), "sim-engine", Command, streams, row.args)
			if code != row.code || !strings.Contains(errs.String(), row.want) {
				t.Errorf("exit code %d, message %q; want %d and %q", code, errs.String(), row.code, row.want)
			}
		})
	}
}

// TestACrashBeforeAnybodyListensEndsTheServer: on a busy machine the time of a crash may come before the listener.
func TestACrashBeforeAnybodyListensEndsTheServer(t *testing.T) {
	s, err := New(Config{Sim: runplan.Sim{Faults: []runplan.Fault{{Kind: runplan.FaultCrash}}}})
	if err != nil {
		t.Fatal(err)
	}
	<-s.closing // it has crashed
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- s.Serve(t.Context(), ln) }()
	eventually.Nil(t, "its end", func() error {
		if len(served) == 0 {
			return errors.New("it serves")
		}
		return nil
	})
	if err := <-served; !errors.Is(err, ErrCrashed) {
		t.Errorf("got %v, want %v", err, ErrCrashed)
	}
}
