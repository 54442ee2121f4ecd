//go:build linux && amd64

package main

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"
)

// TestMain is also the process whose clock is shifted: a line for each that it reads, its wall clock and its monotonic
// one.
func TestMain(m *testing.M) {
	if os.Getenv("SKEW_CLOCK") == "" {
		os.Exit(m.Run())
	}
	began := time.Now()
	for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
		now := time.Now()
		fmt.Println(now.UnixNano(), now.Sub(began).Nanoseconds()) // of which the second is monotonic
	}
}

func TestTheWallClockOfAProcessIsShifted(t *testing.T) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "SKEW_CLOCK=yes")
	ask, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	answers, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ask.Close()
		if err := cmd.Wait(); err != nil {
			t.Error(err)
		}
	})
	lines := bufio.NewScanner(answers)
	read := func() (wall time.Time, monotonic time.Duration) {
		t.Helper()
		if _, err := fmt.Fprintln(ask); err != nil {
			t.Fatal(err)
		}
		var nanos int64
		if !lines.Scan() {
			t.Fatal("the process says nothing")
		}
		if _, err := fmt.Sscan(lines.Text(), &nanos, &monotonic); err != nil {
			t.Fatal(err)
		}
		return time.Unix(0, nanos), monotonic
	}
	_, last := read()
	for _, seconds := range []int64{3600, -7200, 0} {
		if err := shift(cmd.Process.Pid, seconds); err != nil {
			t.Fatal(err)
		}
		by := time.Duration(seconds) * time.Second
		before := time.Now().Add(by)
		wall, monotonic := read()
		after := time.Now().Add(by)
		if wall.Before(before) || wall.After(after) {
			t.Errorf("shifted by %s it says %s, which is not between %s and %s", by, wall, before, after)
		}
		if monotonic < last || monotonic > last+time.Hour/2 {
			t.Errorf("shifted by %s its monotonic clock goes from %s to %s", by, last, monotonic)
		}
		last = monotonic
	}
	if err := shift(cmd.Process.Pid, 0); err != nil {
		t.Error(err)
	}
}

func TestAProcessThatIsNotThereHasNoClock(t *testing.T) {
	if err := run([]string{"4194305", "5"}); err == nil {
		t.Error("it was shifted")
	}
}
