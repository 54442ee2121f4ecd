package retention

import (
	"fmt"
	"math"
	"time"
)

// Period is how long something is kept after the end of its run: a duration of Go, or "forever".
type Period time.Duration

// Forever is longer than anything lasts.
const Forever Period = math.MaxInt64

const forever = "forever"

// MarshalText writes what UnmarshalText reads.
func (p Period) MarshalText() ([]byte, error) {
	if p == Forever {
		return []byte(forever), nil
	}
	return []byte(time.Duration(p).String()), nil
}

// UnmarshalText reads a period.
func (p *Period) UnmarshalText(text []byte) error {
	if string(text) == forever {
		*p = Forever
		return nil
	}
	d, err := time.ParseDuration(string(text))
	if err != nil || d < 0 {
		return fmt.Errorf("reading %q: want a duration such as 36h or 90m, or %q", text, forever)
	}
	*p = Period(d)
	return nil
}

// after is the time at which a period that began at start is over; the zero time for one that never is.
func (p Period) after(start time.Time) time.Time {
	if p == Forever {
		return time.Time{}
	}
	return start.Add(time.Duration(p))
}
