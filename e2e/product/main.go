package product

import (
	"context"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"

	"bflow.dev/bflow/cmd/bflow/app"
	"bflow.dev/bflow/runplan/contract"
	"bflow.dev/bflow/sim"
	"bflow.dev/bflow/tasks/collect"
	"bflow.dev/bflow/tasks/loadgen"
	"bflow.dev/bflow/tasks/mlflow"
	"bflow.dev/bflow/tasks/provision"
	"bflow.dev/bflow/tasks/smoketest"
	"bflow.dev/bflow/tasks/step"
)

const (
	bflow     = "bflow"
	simEngine = "sim-engine"
)

// Main is the TestMain of a package whose tests use New: a test binary under the name of one of our binaries is that
// binary. So nothing has to be built beside the test, and the race detector sees every process.
func Main(m *testing.M) {
	name := filepath.Base(os.Args[0])
	if name == bflow {
		os.Exit(command())
	}
	if task, ok := siblings()[name]; ok {
		os.Exit(step.Main(name, task))
	}
	os.Exit(m.Run())
}

func command() int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return app.Main(ctx, app.Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}, os.Args)
}

// siblings are the binaries that lie beside bflow.
func siblings() map[string]step.Func {
	return map[string]step.Func{
		contract.Provision: provision.Run, contract.Smoketest: smoketest.Run, contract.LoadGen: loadgen.Run,
		contract.Collect: collect.Run, contract.MLflowPush: mlflow.Run, simEngine: sim.Command,
	}
}
