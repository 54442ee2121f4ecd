package eventually

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// failure is a test that may fail: what it says is kept.
type failure struct {
	testing.TB
	said string
}

func (f *failure) Helper()                           {}
func (f *failure) Fatal(args ...any)                 { f.said = fmt.Sprint(args...); runtime.Goexit() }
func (f *failure) Fatalf(format string, args ...any) { f.Fatal(fmt.Sprintf(format, args...)) }

// fails returns what a test says that fails in body, "" where it does not.
func fails(body func(t testing.TB)) string {
	f := &failure{}
	var over sync.WaitGroup
	over.Go(func() { body(f) })
	over.Wait()
	return f.said
}

func TestAWaitEndsWhenItsConditionHolds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		True(t, "a minute has passed", func() bool { return time.Since(began) >= time.Minute })
		if took := time.Since(began); took > time.Minute+longestWait {
			t.Errorf("it was seen after %s", took)
		}
	})
}

func TestAWaitInVainSaysWhatItWaitedForAndWhatItSaw(t *testing.T) {
	for name, row := range map[string]struct {
		wait func(t testing.TB)
		want []string
	}{
		"a condition": {func(t testing.TB) { True(t, "the load runs", func() bool { return false }) },
			[]string{`"the load runs"`, "not so yet"}},
		"an error": {func(t testing.TB) {
			Nil(t, "the server answers", func() error { return errors.New("connection refused") })
		},
			[]string{`"the server answers"`, "last seen: connection refused"}},
		"a channel": {func(t testing.TB) { Receive(t, "the end", make(chan int)) }, []string{`"the end"`, "nothing came"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				said := fails(row.wait)
				for _, want := range append(row.want, Limit.String()) {
					if !strings.Contains(said, want) {
						t.Errorf("it says %q, without %q", said, want)
					}
				}
				if took := time.Since(began); took != Limit {
					t.Errorf("it gave up after %s", took)
				}
			})
		})
	}
}

func TestAWaitOutsideOfATestEndsWithItsContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		var looks atomic.Int64
		happened := make(chan bool)
		go func() { happened <- Happens(ctx, func() bool { looks.Add(1); return false }) }()
		synctest.Wait()
		cancel()
		if <-happened {
			t.Error("it is said to have happened")
		}
		if looks.Load() == 0 {
			t.Error("nobody looked")
		}
	})
}

func TestWhatComesIsReceived(t *testing.T) {
	from := make(chan string, 1)
	from <- "a"
	if got := Receive(t, "a value", from); got != "a" {
		t.Errorf("got %q", got)
	}
	close(from)
	if got := Receive(t, "the end of the channel", from); got != "" {
		t.Errorf("got %q of a closed channel", got)
	}
}

func TestACleanupGetsAContextThatIsNotOver(t *testing.T) {
	ended := context.Background()
	t.Run("a test", func(t *testing.T) {
		t.Cleanup(func() {
			if ended = Context(t); ended.Err() != nil {
				t.Error(ended.Err())
			}
		})
	})
	if ended.Err() == nil {
		t.Error("it outlives its test")
	}
}

func TestAContextEndsAtTheLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx := Context(t)
		time.Sleep(Limit - time.Nanosecond)
		if ctx.Err() != nil {
			t.Errorf("before the limit: %v", ctx.Err())
		}
		time.Sleep(time.Nanosecond)
		synctest.Wait()
		if context.Cause(ctx) == nil || !strings.Contains(context.Cause(ctx).Error(), "waited for 5m0s") {
			t.Errorf("at the limit: %v", context.Cause(ctx))
		}
	})
}
