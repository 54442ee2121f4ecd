package app

import (
	"context"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

// TestMain lets scripts call bflow, and lets bflow find itself when it starts steps.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"bflow": func() {
		ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
		defer stop()
		os.Exit(Main(ctx, Streams{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}, os.Args))
	}})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			env.Setenv("XDG_DATA_HOME", filepath.Join(env.WorkDir, "data"))
			return nil
		},
	})
}
