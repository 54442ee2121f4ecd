package lock

import (
	"slices"
	"strings"
	"time"
)

const (
	// LeaseDuration is how long a Lease that nobody renews counts as held, and how long nothing of its old holder may
	// have been seen alive before the new one uses the platform. It is longer than any single request of a task may
	// take.
	LeaseDuration = time.Minute
	// RenewDeadline is how long a hub believes in its hold after it sent the last write: less than others wait.
	RenewDeadline = 40 * time.Second
	// RenewInterval is how often a holder renews, and how often one that waits says that it still does.
	RenewInterval = 15 * time.Second
)

// Everybody stands for all hubs but one's own, where one asks whose pods are alive.
const Everybody = "*"

const exclusive = "exclusive/"

// Exclusive is the setup key of a run that wants its target for itself.
func Exclusive(run string) string { return exclusive + run }

// IsExclusive says whether a key is that of a run which wants its target for itself.
func IsExclusive(key string) bool { return strings.HasPrefix(key, exclusive) }

// Lease is the lock of one target, as its API server has it.
type Lease struct {
	Version string    // of the object; "" where there is none
	Holder  string    // the hub that holds it, "" for nobody
	Key     string    // the setup key that may be in use, "" with no holder
	Fence   int64     // grows with every new holder and every new key
	Renewed time.Time // by the clock of the holder: good for telling one renewal from the next, and nothing else
	Before  []string  // hubs from which it was taken over, and of which something may still be about to act
	Asks    []Ask     // hubs that wait for it
}

// Ask is the wish of a hub that cannot have the Lease yet. It keeps the holder from letting runs in for ever.
type Ask struct {
	Hub string `json:"hub"`
	Key string `json:"key"`
	// when the run that wants it began to queue, by the clock of that hub: it decides who is next, and nothing that must
	// be safe
	Since time.Time `json:"since"`
	Beat  int64     `json:"beat"` // grows while the hub waits: one that stands still is forgotten
}

func (l Lease) askOf(hub string) (Ask, bool) {
	i := slices.IndexFunc(l.Asks, func(a Ask) bool { return a.Hub == hub })
	if i < 0 {
		return Ask{}, false
	}
	return l.Asks[i], true
}

// without is the asks of all but some hubs.
func without(asks []Ask, leave func(Ask) bool) []Ask {
	var out []Ask
	for _, a := range asks {
		if !leave(a) {
			out = append(out, a)
		}
	}
	return out
}

// before orders wishes: the same order at every hub, whatever its clock.
func (a Ask) before(b Ask) bool {
	if !a.Since.Equal(b.Since) {
		return a.Since.Before(b.Since)
	}
	return a.Hub < b.Hub
}
