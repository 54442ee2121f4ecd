package quiet

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bflow.dev/bflow/internal/eventually"
	"bflow.dev/bflow/internal/runqueue"
)

// outcome is a test that may fail or be skipped: what it says is kept.
type outcome struct {
	testing.TB
	said            []string
	failed, skipped bool
}

func (o *outcome) Helper()                           {}
func (o *outcome) Log(args ...any)                   { o.said = append(o.said, fmt.Sprint(args...)) }
func (o *outcome) Logf(format string, args ...any)   { o.Log(fmt.Sprintf(format, args...)) }
func (o *outcome) FailNow()                          { o.failed = true; runtime.Goexit() }
func (o *outcome) SkipNow()                          { o.skipped = true; runtime.Goexit() }
func (o *outcome) Skipf(format string, args ...any)  { o.Logf(format, args...); o.SkipNow() }
func (o *outcome) Fatal(args ...any)                 { o.Log(args...); o.FailNow() }
func (o *outcome) Fatalf(format string, args ...any) { o.Logf(format, args...); o.FailNow() }

func (o *outcome) says(word string) bool {
	return slices.ContainsFunc(o.said, func(line string) bool { return strings.Contains(line, word) })
}

// judge runs body on a host that is busy in the attempts that are said, each of which takes a second, and idle before.
func judge(t *testing.T, waits []time.Duration, body func(t testing.TB)) (*outcome, int) {
	t.Helper()
	o := &outcome{TB: t}
	ran := 0
	now := reading{at: time.Unix(0, 0)}
	h := host{
		lock: func() (func(), error) { return func() {}, nil },
		read: func() reading { return now },
		spin: func() { now = later(now, 0) },
	}
	runInGoroutine(func() {
		h.run(o, 0.05, func(t testing.TB) {
			now = later(now, waits[min(ran, len(waits)-1)])
			ran++
			body(t)
		})
	})
	return o, ran
}

// later is what is read a second later, when a thread has waited so much longer.
func later(r reading, wait time.Duration) reading {
	waited := r.threads["1"].Waiting + wait
	return reading{r.at.Add(time.Second), map[string]runqueue.Turns{"1": {Waiting: waited}, "2": {}}}
}

func TestNoAttemptIsBegunOnAnOverloadedHost(t *testing.T) {
	const ms = time.Millisecond
	for _, row := range []struct {
		name    string
		waits   []time.Duration // of each look, of a second; the body may wait 50 ms
		ran     int
		skipped bool
	}{
		{"it is begun where the host is somewhat too busy", []time.Duration{500 * ms}, 1, false},
		{"and where it was, and is no longer", []time.Duration{900 * ms, 501 * ms, 0}, 1, false},
		{"not where it stays so", []time.Duration{501 * ms}, 0, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			o := &outcome{TB: t}
			now, ran, looked := reading{at: time.Unix(0, 0)}, 0, 0
			h := host{
				lock: func() (func(), error) { return func() {}, nil },
				read: func() reading { return now },
				spin: func() { now = later(now, row.waits[min(looked, len(row.waits)-1)]); looked++ },
			}
			runInGoroutine(func() { h.run(o, 0.05, func(testing.TB) { ran++ }) })
			told := o.says("host too busy to begin: 10 looks, the last: a thread waited 501ms of 1s")
			if ran != row.ran || o.skipped != row.skipped || told != row.skipped || o.failed {
				t.Errorf("it ran %d times after %d looks, skipped %v: %q", ran, looked, o.skipped, o.said)
			}
		})
	}
}

func TestWhatABodyReportsCountsOnAQuietHostOnly(t *testing.T) {
	const ms = time.Millisecond
	pass, fail, fatal := func(testing.TB) {}, func(t testing.TB) { t.Error("wrong") }, func(t testing.TB) {
		t.Fatal("wrong")
	}
	for _, row := range []struct {
		name            string
		waits           []time.Duration // of each attempt, of a second; 50 ms are allowed
		body            func(testing.TB)
		ran             int
		failed, skipped bool
	}{
		{"a body that passes on a quiet host", []time.Duration{50 * ms}, pass, 1, false, false},
		{"a body that fails on a quiet host", []time.Duration{50 * ms}, fail, 1, true, false},
		{"a body that ends at once on a quiet host", []time.Duration{0}, fatal, 1, true, false},
		{"a body that fails on a busy host and on a quiet one", []time.Duration{51 * ms, 0}, fail, 2, true, false},
		{"a body that fails when the host is quiet at last", []time.Duration{400 * ms, 60 * ms, 0}, fail, 3, true, false},
		{"a body that passes when the host is quiet at last", []time.Duration{400 * ms, 60 * ms, 0}, pass, 3, false, false},
		{"a body that fails on a host that stays busy", []time.Duration{400 * ms, 60 * ms, 51 * ms, 0}, fail, 3, false, true},
		{"a body that passes on a host that stays busy", []time.Duration{400 * ms, 60 * ms, 51 * ms, 0},
			pass, 3, false, true},
		{"a body that skips itself on a quiet host", []time.Duration{0},
			func(t testing.TB) { t.Skip("for another reason") }, 1, false, true},
	} {
		t.Run(row.name, func(t *testing.T) {
			o, ran := judge(t, row.waits, row.body)
			if ran != row.ran || o.failed != row.failed || o.skipped != row.skipped {
				t.Errorf("it ran %d times, failed %v, skipped %v: %q", ran, o.failed, o.skipped, o.said)
			}
			if tooBusy := row.skipped && row.ran == attempts; tooBusy != o.says("host too busy: 3 attempts of 3") {
				t.Errorf("it says %q", o.said)
			}
			if o.failed != o.says("wrong") {
				t.Errorf("what a busy host made of it is told: %q", o.said)
			}
		})
	}
}

func TestTheFiguresAreInTheWords(t *testing.T) {
	o, _ := judge(t, []time.Duration{300 * time.Millisecond}, func(testing.TB) {})
	if want := "a thread waited 300ms of 1s for a processor, 50ms are allowed (5 %)"; !o.says(want) {
		t.Errorf("it says %q, without %q", o.said, want)
	}
}

func TestAHostWithoutFiguresIsNotJudged(t *testing.T) {
	if said := busy(reading{at: time.Unix(0, 0)}, reading{at: time.Unix(1, 0)}, 0); said != "" {
		t.Errorf("it says %q", said)
	}
}

func TestAnAttemptIsATestOfItsOwn(t *testing.T) {
	var dirs, order []string
	var during, after bool
	judge(t, []time.Duration{time.Second, time.Second, 0}, func(t testing.TB) {
		dir, ctx := t.TempDir(), t.Context()
		if err := os.WriteFile(filepath.Join(dir, "file"), nil, 0o600); err != nil {
			t.Fatal(err)
		}
		dirs = append(dirs, dir)
		during = ctx.Err() == nil
		t.Cleanup(func() { order = append(order, "first"); after = ctx.Err() == nil })
		t.Cleanup(func() { order = append(order, "second"); t.Fatal("in a cleanup") })
	})
	if len(slices.Compact(dirs)) != attempts || strings.Join(order, " ") != "second first second first second first" {
		t.Errorf("folders %q, cleanups %q", dirs, order)
	}
	if !during || after {
		t.Errorf("the context of an attempt: during it %v, in its cleanups %v", during, after)
	}
}

func TestAFailureInACleanupCounts(t *testing.T) {
	o, _ := judge(t, []time.Duration{0}, func(t testing.TB) { t.Cleanup(func() { t.Error("wrong") }) })
	if !o.failed || !o.says("wrong") {
		t.Errorf("failed %v: %q", o.failed, o.said)
	}
}

// TestThreadsThatShareACoreAreSeen keeps two threads on one core busy: each waits for the other half of the time.
func TestThreadsThatShareACoreAreSeen(t *testing.T) {
	if _, ok := runqueue.Thread(fmt.Sprint(os.Getpid())); !ok {
		t.Skip("this kernel counts no turns of threads")
	}
	read := thisHost().read
	before := read()
	var enough atomic.Bool
	var over sync.WaitGroup
	for range 2 {
		over.Go(func() { spin(t, &enough) })
	}
	said := ""
	eventually.True(t, "a thread has waited for a fifth of the time", func() bool {
		said = busy(before, read(), 0.2)
		return said != ""
	})
	enough.Store(true)
	over.Wait()
	if !strings.Contains(said, "a thread waited") {
		t.Errorf("it says %q", said)
	}
}

// spin uses the first core of this process up until enough.
func spin(t *testing.T, enough *atomic.Bool) {
	// for good: the thread ends with its goroutine, and nobody else gets one that is bound to a core
	runtime.LockOSThread()
	var may, one unix.CPUSet
	if err := unix.SchedGetaffinity(0, &may); err != nil {
		t.Error(err)
		return
	}
	for cpu := range len(may) * 64 {
		if may.IsSet(cpu) {
			one.Set(cpu)
			break
		}
	}
	if err := unix.SchedSetaffinity(0, &one); err != nil {
		t.Error(err)
		return
	}
	for !enough.Load() {
	}
}

func TestOneTestOfTheMachineRunsAtATime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	var inside, most atomic.Int64
	var over sync.WaitGroup
	for range 8 {
		over.Go(func() {
			unlock, err := takeLock(path)
			if err != nil {
				t.Error(err)
				return
			}
			defer unlock()
			if now := inside.Add(1); now > most.Load() {
				most.Store(now)
			}
			runtime.Gosched()
			inside.Add(-1)
		})
	}
	over.Wait()
	if most.Load() != 1 {
		t.Errorf("%d at a time", most.Load())
	}
	if info, err := os.Stat(path); err != nil || info.Mode().Perm()&0o444 != 0o444 {
		t.Errorf("another user cannot lock it: %v, %v", info.Mode(), err)
	}
}

func TestABodyNeedsTheLock(t *testing.T) {
	held := fmt.Errorf("waited 5m0s; last seen: %w", unix.EWOULDBLOCK)
	_, noFolder := takeLock(filepath.Join(t.TempDir(), "no", "such", "folder"))
	for _, row := range []struct {
		name            string
		err             error
		failed, skipped bool
		says            string
	}{
		{"that somebody else holds for too long", held, false, true, "host too busy: others run alone: waited 5m0s"},
		{"that nobody can open", noFolder, true, false, "opening the lock of tests that run alone"},
	} {
		t.Run(row.name, func(t *testing.T) {
			o := &outcome{TB: t}
			h := host{lock: func() (func(), error) { return nil, row.err }}
			runInGoroutine(func() { h.run(o, 1, func(testing.TB) { t.Error("body runs without the lock") }) })
			if o.failed != row.failed || o.skipped != row.skipped || !o.says(row.says) {
				t.Errorf("failed %v, skipped %v: %q", o.failed, o.skipped, o.said)
			}
		})
	}
}
