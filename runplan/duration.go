package runplan

import (
	"encoding/json"
	"fmt"
	"time"
)

// Duration is a time.Duration that JSON holds as text ("1m30s"), so that a plan can be read by a person and has
// one spelling.
type Duration time.Duration

// D returns d as a time.Duration.
func (d Duration) D() time.Duration { return time.Duration(d) }

// Seconds returns d in seconds.
func (d Duration) Seconds() float64 { return time.Duration(d).Seconds() }

func (d Duration) String() string { return time.Duration(d).String() }

// MarshalJSON writes the one spelling of time.Duration.String.
func (d Duration) MarshalJSON() ([]byte, error) {
	return json.Marshal(time.Duration(d).String())
}

// UnmarshalJSON reads what time.ParseDuration reads.
func (d *Duration) UnmarshalJSON(b []byte) error {
	var s string
	if err := json.Unmarshal(b, &s); err != nil {
		return fmt.Errorf("reading duration %s: want text such as \"1m30s\"", b)
	}
	v, err := time.ParseDuration(s)
	if err != nil {
		return fmt.Errorf("reading duration %q: want text such as \"1m30s\"", s)
	}
	*d = Duration(v)
	return nil
}

// Outage is the longest loss of the way to a remote target that a task there survives: more than the ten minutes after
// which the queue itself gives a target up.
const Outage = 15 * time.Minute
