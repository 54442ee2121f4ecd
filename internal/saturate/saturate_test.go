package saturate

import (
	"math"
	"testing"
	"time"
)

func TestDurationsStopAtTheLongest(t *testing.T) {
	for _, row := range []struct {
		name      string
		got, want time.Duration
	}{
		{"seconds", Seconds(1.5), 1500 * time.Millisecond},
		{"more seconds than there are", Seconds(1e30), math.MaxInt64},
		{"a sum", Plus(1, 2), 3},
		{"a sum that is too long", Plus(math.MaxInt64-1, 2), math.MaxInt64},
		{"a product", Times(time.Second, 3), 3 * time.Second},
		{"a product that is too long", Times(time.Hour, 1<<40), math.MaxInt64},
		{"no times", Times(time.Hour, -1), 0},
	} {
		if row.got != row.want {
			t.Errorf("%s: %v, want %v", row.name, row.got, row.want)
		}
	}
}
