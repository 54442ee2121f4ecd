package runqueue

import (
	"runtime"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

func TestWaited(t *testing.T) {
	ms := time.Millisecond
	tests := []struct {
		name          string
		before, after map[string]Turns
		want, longest time.Duration
	}{
		{name: "waking up is no waiting", after: map[string]Turns{"1": {20 * ms, 1000}}, want: 0},
		{name: "what is beyond it counts", after: map[string]Turns{"1": {125 * ms, 1000}}, want: 100 * ms, longest: 100 * ms},
		{name: "only what came since counts", before: map[string]Turns{"1": {100 * ms, 10}},
			after: map[string]Turns{"1": {150 * ms, 10}}, want: 50 * ms, longest: 50 * ms},
		{name: "a thread that wakes cheaply hides no other",
			after: map[string]Turns{"1": {0, 100_000}, "2": {60 * ms, 400}}, want: 50 * ms, longest: 50 * ms},
		{name: "threads that wait together", after: map[string]Turns{"1": {30 * ms, 0}, "2": {60 * ms, 0}},
			want: 90 * ms, longest: 60 * ms},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got, longest := Waited(tt.before, tt.after); got != tt.want || longest != tt.longest {
				t.Errorf("got %v and %v, want %v and %v", got, longest, tt.want, tt.longest)
			}
		})
	}
}

// TestThisThreadIsThere: the folder of threads has that which asks.
func TestThisThreadIsThere(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	me := strconv.Itoa(unix.Gettid())
	one, ok := Thread(me)
	if !ok {
		t.Skip("this kernel counts no turns of threads")
	}
	all := Threads()
	if all[me].Slices < one.Slices || len(all) < 2 {
		t.Errorf("%d threads, this one %+v, before %+v", len(all), all[me], one)
	}
	if _, ok := Thread("0"); ok {
		t.Error("a thread that is not there has turns")
	}
}
