//go:build e2e

package cluster

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"bflow.dev/bflow/platform/stack"
)

// TestShippedConfigurationsStartAnEndpointPicker: that of the Gateway API Inference Extension starts with each that
// names no plugin of llm-d's own. A plugin that is misspelt stops it, and is rejected by validate, too.
func TestShippedConfigurationsStartAnEndpointPicker(t *testing.T) {
	program := os.Getenv("E2E_EPP")
	if program == "" {
		t.Skip("E2E_EPP names no endpoint picker")
	}
	l := newLab(t)
	tried := 0
	for _, s := range stack.Releases("llm-d") {
		for path, p := range s.Paths {
			if slices.ContainsFunc(strings.Fields(p.Config), isOfLLMD) {
				continue
			}
			tried++
			config := strings.ReplaceAll(p.Config, "llm-d.ai/v1alpha1", "inference.networking.x-k8s.io/v1alpha1")
			if said := l.pickerSays(program, config); said != "" {
				t.Errorf("%s, path %s: the picker does not start: %s", s.Name, path, said)
			}
			wrong := strings.Replace(config, "queue-scorer", "queue-scorers", 1)
			if said := l.pickerSays(program, wrong); !strings.Contains(said, "queue-scorers") {
				t.Errorf("%s, path %s: a plugin that is misspelt does not stop it: %q", s.Name, path, said)
			}
			if found := s.Picker.Check(wrong); len(found) == 0 || !strings.Contains(found[0].Text, "queue-scorers") {
				t.Errorf("%s, path %s: a plugin that is misspelt is not rejected: %v", s.Name, path, found)
			}
		}
	}
	if tried == 0 {
		t.Error("every configuration names a plugin of llm-d's own")
	}
}

// isOfLLMD says whether a word names a plugin that only llm-d's picker has.
func isOfLLMD(word string) bool {
	return slices.Contains([]string{"no-hit-lru-scorer", "precise-prefix-cache-producer", "disagg-profile-handler"}, word)
}

// pickerSays starts an endpoint picker with a configuration, and returns what it says where it ends before it is ready,
// "" where it gets ready.
func (l *lab) pickerSays(program, config string) string {
	l.t.Helper()
	file := filepath.Join(l.t.TempDir(), "picker.yaml")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		l.t.Fatal(err)
	}
	metrics := freePort(l.t)
	ctx, stop := context.WithTimeout(l.t.Context(), 2*time.Minute)
	defer stop()
	var said bytes.Buffer
	picker := exec.CommandContext(ctx, program, "--endpoint-selector=app=nothing", "--endpoint-target-ports=8000",
		"--config-file="+file, "--metrics-endpoint-auth=false", "--tracing=false",
		fmt.Sprintf("--grpc-port=%d", freePort(l.t)), fmt.Sprintf("--grpc-health-port=%d", freePort(l.t)),
		fmt.Sprintf("--metrics-port=%d", metrics))
	picker.Env = append(os.Environ(), "KUBECONFIG="+l.kubeconfig, "NAMESPACE=default", "POD_NAME=picker-5d9c7b6f4-x2x7k")
	picker.Stdout, picker.Stderr = &said, &said
	if err := picker.Start(); err != nil {
		l.t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = picker.Wait() // which is how it ends in either case
		close(ended)
	}()
	defer func() { stop(); <-ended }()
	for url := fmt.Sprintf("http://127.0.0.1:%d/metrics", metrics); ; {
		select {
		case <-ended:
			return cmp.Or(said.String(), "nothing")
		case <-time.After(100 * time.Millisecond):
		}
		answer, err := http.Get(url) //nolint:noctx // of this machine, and bounded by the end of the process
		if err == nil {
			answer.Body.Close()
			return ""
		}
	}
}

// freePort is a port that nobody listens on.
func freePort(t *testing.T) int {
	t.Helper()
	in, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	return in.Addr().(*net.TCPAddr).Port
}
