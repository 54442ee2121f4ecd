package pace

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"bflow.dev/bflow/internal/eventually"
	"bflow.dev/bflow/sim/engine"
)

// times notes when tokens came, on the pacer's thread.
type times struct {
	clock Clock
	pacer *Pacer
	seq   engine.Seq
	late  []int64
	done  *sync.WaitGroup
}

func (s *times) Tokens(n int, due int64) bool {
	s.late = append(s.late, s.clock.Now()-s.pacer.Real(due))
	if s.seq.Done == s.seq.Want {
		s.done.Done()
	}
	return true
}

func start(t *testing.T, timing engine.Timing) *Pacer {
	t.Helper()
	p, err := Start(NewClock(), engine.NewExact(timing), time.Duration(timing.TTFT))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

// TestNothingIsEarlyAndNothingIsForgotten submits from several goroutines, with deadlines that often fall together
// with the moment at which the thread goes to sleep.
func TestNothingIsEarlyAndNothingIsForgotten(t *testing.T) {
	p := start(t, engine.Timing{
		TTFT: int64(150 * time.Microsecond), ITL: int64(200 * time.Microsecond),
		ITLStdev: int64(100 * time.Microsecond),
	})
	var submitted, done sync.WaitGroup
	all := make([]*times, 400)
	done.Add(len(all))
	for g := range 4 {
		submitted.Go(func() {
			for i := g; i < len(all); i += 4 {
				s := &times{clock: p.clock, pacer: p, done: &done}
				s.seq = engine.Seq{Prompt: 1, Want: 5, Stride: 1, Draw: uint64(i), Sink: s}
				all[i] = s
				p.Submit(p.clock.Now(), &s.seq)
				for next := p.clock.Now() + rand.Int64N(400_000); p.clock.Now() < next; {
					runtime.Gosched()
				}
			}
		})
	}
	submitted.Wait()
	done.Wait()
	for i, s := range all {
		for _, late := range s.late {
			if late < 0 {
				t.Fatalf("a token of %d came %v early", i, time.Duration(-late))
			}
		}
	}
}

func TestAFreezeDelaysByItsLength(t *testing.T) {
	p := start(t, engine.Timing{TTFT: int64(20 * time.Millisecond)})
	var done sync.WaitGroup
	done.Add(2)
	before, within := &times{clock: p.clock, pacer: p, done: &done}, &times{clock: p.clock, pacer: p, done: &done}
	begin := p.clock.Now()
	for _, s := range []*times{before, within} {
		s.seq = engine.Seq{Prompt: 1, Want: 1, Stride: 1, Sink: s}
	}
	p.Submit(begin, &before.seq)
	p.Freeze(50 * time.Millisecond)
	p.Freeze(50 * time.Millisecond) // prolongs the first
	eventually.True(t, "the freeze", func() bool { return p.Thaw() != 0 })
	p.Submit(p.clock.Now(), &within.seq)
	done.Wait()
	if took := time.Duration(p.clock.Now() - begin); took < 120*time.Millisecond {
		t.Errorf("both came after %v, want 20 ms and the freeze of 100 ms", took)
	}
	if before.late[0] < 0 || within.late[0] < 0 {
		t.Errorf("early by the shifted deadline: %v, %v", before.late, within.late)
	}
}

func TestTheClockIsTheKernelsMonotonicClock(t *testing.T) {
	a, b := NewClock(), NewClock()
	const slack = int64(time.Millisecond)
	first, other, last := a.Now(), b.Now(), a.Now()
	if other < first-slack || other > last+slack {
		t.Errorf("another clock read %d between %d and %d", other, first, last)
	}
	var kernel unix.Timespec
	first = a.Now()
	if err := unix.ClockGettime(unix.CLOCK_MONOTONIC, &kernel); err != nil {
		t.Fatal(err)
	}
	if last = a.Now(); kernel.Nano() < first-slack || kernel.Nano() > last+slack {
		t.Errorf("the kernel's clock read %d between %d and %d", kernel.Nano(), first, last)
	}
	before := time.Now()
	now := a.Now()
	if after, wall := time.Now(), a.Wall(now); wall < before.UnixNano()-slack || wall > after.UnixNano()+slack {
		t.Errorf("the wall clock read %d between %d and %d", wall, before.UnixNano(), after.UnixNano())
	}
	if at := a.At(before); at < last-slack || at > now+slack {
		t.Errorf("a moment between %d and %d is read as %d", last, now, at)
	}
}
