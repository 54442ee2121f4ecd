package step

import (
	"context"
	"os"
	"strconv"
	"syscall"
	"testing"

	"bflow.dev/bflow/internal/eventually"
	"bflow.dev/bflow/runplan/contract"
)

func TestLifeline(t *testing.T) {
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer read.Close()
	fd, err := syscall.Dup(int(read.Fd())) // the step's own, as if inherited
	if err != nil {
		t.Fatal(err)
	}
	env := map[string]string{contract.EnvLifeline: strconv.Itoa(fd)}
	held, release := WithLifeline(t.Context(), func(k string) string { return env[k] })
	defer release()
	if held.Err() != nil {
		t.Error("it ended while its executor lives")
	}
	write.Close()
	eventually.Receive(t, "the end of a step without its executor", held.Done())
}

func TestWithoutALifelineOnlyTheCallerEndsAStep(t *testing.T) {
	caller, end := context.WithCancel(t.Context())
	free, release := WithLifeline(caller, func(string) string { return "" })
	defer release()
	if free.Err() != nil {
		t.Error("it ended by itself")
	}
	end()
	<-free.Done()
}
