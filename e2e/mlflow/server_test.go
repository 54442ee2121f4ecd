//go:build e2e

package mlflow

import (
	"context"
	"errors"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"

	"bflow.dev/bflow/internal/eventually"
)

// server is a real MLflow server with its own SQLite file and artifact folder; it can be killed and started again.
type server struct {
	t    *testing.T
	dir  string
	port int
	cmd  *exec.Cmd
}

// startServer starts MLflow and waits until it answers an API call. MLFLOW_PYTHON names a python that has mlflow.
func startServer(t *testing.T) *server {
	t.Helper()
	if os.Getenv("MLFLOW_PYTHON") == "" {
		if os.Getenv("CI") != "" {
			t.Fatal("MLFLOW_PYTHON is not set: CI must run this")
		}
		t.Skip("MLFLOW_PYTHON is not set: no real MLflow server to push to")
	}
	s := &server{t: t, dir: t.TempDir(), port: freePort(t)}
	s.start()
	t.Cleanup(s.kill)
	if t.Failed() {
		t.FailNow()
	}
	return s
}

func (s *server) url() string { return "http://127.0.0.1:" + strconv.Itoa(s.port) }

func (s *server) start() {
	s.t.Helper()
	log, err := os.OpenFile(filepath.Join(s.dir, "server.log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		s.t.Fatal(err)
	}
	defer log.Close()
	s.cmd = exec.Command(os.Getenv("MLFLOW_PYTHON"), "-m", "mlflow", "server", "--host", "127.0.0.1", "--port",
		strconv.Itoa(s.port), "--workers", "1",
		"--backend-store-uri", "sqlite:///"+filepath.Join(s.dir, "mlflow.db"), "--artifacts-destination",
		filepath.Join(s.dir, "artifacts"))
	s.cmd.Env = append(os.Environ(), "MLFLOW_SERVER_ENABLE_JOB_EXECUTION=false", "MLFLOW_DISABLE_TELEMETRY=true")
	s.cmd.Dir, s.cmd.Stdout, s.cmd.Stderr = s.dir, log, log
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // gunicorn outlives a TERM to its parent: the group ends
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.await()
}

// await waits until the server answers. It may be called while a test goes on, which it does not fail.
func (s *server) await() {
	s.t.Helper()
	err := eventually.Look(context.Background(), "MLflow to be ready", func() error {
		resp, err := http.Get(s.url() + "/api/2.0/mlflow/experiments/get?experiment_id=0")
		if err == nil {
			resp.Body.Close()
			if resp.StatusCode != http.StatusOK {
				err = errors.New(resp.Status)
			}
		}
		return err
	})
	if err != nil {
		log, _ := os.ReadFile(filepath.Join(s.dir, "server.log"))
		s.t.Errorf("%v:\n%s", err, log)
	}
}

// kill ends the whole process group at once, as a power cut would.
func (s *server) kill() {
	if s.cmd == nil || s.cmd.Process == nil {
		return
	}
	syscall.Kill(-s.cmd.Process.Pid, syscall.SIGKILL)
	s.cmd.Wait()
	s.cmd = nil
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}
