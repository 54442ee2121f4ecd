package loadgen

import (
	"testing"
	"time"
)

func TestWaited(t *testing.T) {
	ms := time.Millisecond
	tests := []struct {
		name          string
		before, after map[string]turns
		want          time.Duration
	}{
		{name: "waking up is no waiting", after: map[string]turns{"1": {20 * ms, 1000}}, want: 0},
		{name: "what is beyond it counts", after: map[string]turns{"1": {125 * ms, 1000}}, want: 100 * ms},
		{name: "only what came since counts", before: map[string]turns{"1": {100 * ms, 10}}, after: map[string]turns{"1": {150 * ms, 10}}, want: 50 * ms},
		{name: "a thread that wakes cheaply hides no other", after: map[string]turns{"1": {0, 100_000}, "2": {60 * ms, 400}}, want: 50 * ms},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := waited(tt.before, tt.after); got != tt.want {
				t.Errorf("got %v, want %v", got, tt.want)
			}
		})
	}
}
