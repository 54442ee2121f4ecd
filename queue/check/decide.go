package check

import (
	"fmt"
	"time"

	"bflow.dev/bflow/queue/devices"
	"bflow.dev/bflow/queue/devices/view"
	"bflow.dev/bflow/queue/lock"

	kueue "sigs.k8s.io/kueue/apis/kueue/v1beta2"
)

// Defaults: how long a run holds its quota in vain, and how long it then stays away.
const (
	QuotaHoldLimit     = 2 * time.Minute // for what may pass: an API server that is away, pods of others, lost nodes
	RequeueDelay       = time.Minute     // after that, and while it lasts
	NoNodeRequeueDelay = 5 * time.Minute // where no node is large enough, a new one would have to come
)

// Sight is what is known of a target at one moment.
type Sight struct {
	Target    string
	Reach     view.Reach
	Dirty     string             // runs that were released by force and may have left something, "" for a clean target
	Inventory *devices.Inventory // nil while it is not known
	Assumed   []devices.Shape    // pods of runs that were let start and that no node has yet
	Door      Door               // who may use the platform; nil where nobody asks
}

// Door says whether a run for which there is room may use the shared platform of the target now. Runs are asked for in
// their order.
type Door interface {
	Ask(lock.Request) lock.Answer
}

// Waiting is a run that holds quota of the target and waits for the check.
type Waiting struct {
	Run      string
	Shapes   []devices.Shape
	Lock     lock.Request
	Invalid  error     // why its demand cannot be read
	Reserved time.Time // since when it holds quota
}

// Decision is what the check says of one run.
type Decision struct {
	State   kueue.CheckState
	Message string
	Requeue time.Duration // with Retry: how long the run stays away
	Until   time.Time     // with Pending: when to decide again though nothing has changed; zero = never

	locked bool // it waits for the platform, and there is room for it
	soon   bool // with Pending: it is decided again in a moment
}

// Decide answers for all runs that wait, in their order. Who comes later does not pass one that waits for devices
// which it could have too: small runs would keep a large one waiting for ever. One that waits for nodes of another
// product is passed.
func Decide(now time.Time, s Sight, waiting []Waiting) []Decision {
	out := make([]Decision, len(waiting))
	assumed := s.Assumed
	var waits []Waiting // for devices
	for i, w := range waiting {
		d := decide(now, s, w, assumed, behind(s.Inventory, w, waits))
		if d.State == kueue.CheckStateReady && s.Door != nil {
			d = atTheDoor(d, s.Door.Ask(w.Lock))
		}
		switch {
		case d.State == kueue.CheckStateReady, d.locked:
			assumed = append(assumed, w.Shapes...)
		case d.State == kueue.CheckStatePending:
			waits = append(waits, w)
		}
		out[i] = d
	}
	return out
}

// behind is the first of those who wait that w must not pass, "" where there is none.
func behind(inv *devices.Inventory, w Waiting, waits []Waiting) string {
	for _, other := range waits {
		if inv == nil || inv.Compete(w.Shapes, other.Shapes) {
			return other.Run
		}
	}
	return ""
}

func decide(now time.Time, s Sight, w Waiting, assumed []devices.Shape, door string) Decision {
	switch {
	case w.Invalid != nil:
		return Decision{State: kueue.CheckStateRejected, Message: w.Invalid.Error()}
	case !s.Reach.Since.IsZero() && !s.Reach.Up:
		return unreachable(now, s)
	case s.Inventory == nil:
		return pending(fmt.Sprintf("The nodes of target %q are being read", s.Target))
	case s.Dirty != "":
		return pending(
			fmt.Sprintf(
				"Target %q may still hold devices of runs that were released by force: %s; nothing starts there until they "+
					"are gone", s.Target, s.Dirty))
	case len(w.Shapes) == 0:
		return ready("The run needs no devices")
	}
	return roomFor(now, s, w, assumed, door)
}

func unreachable(now time.Time, s Sight) Decision {
	text := fmt.Sprintf("The API server of target %q has not answered since %s: %s", s.Target,
		s.Reach.Since.UTC().Format(time.TimeOnly+" UTC"), s.Reach.Why)
	if until := s.Reach.Since.Add(QuotaHoldLimit); now.Before(until) {
		return Decision{State: kueue.CheckStatePending, Message: text, Until: until}
	}
	return Decision{State: kueue.CheckStateRetry, Message: text, Requeue: RequeueDelay}
}

func roomFor(now time.Time, s Sight, w Waiting, assumed []devices.Shape, door string) Decision {
	room := s.Inventory.Room(w.Shapes, assumed)
	text := fmt.Sprintf("Target %q has %s", s.Target, room.Why)
	switch until := w.Reserved.Add(QuotaHoldLimit); {
	case room.Never:
		return Decision{State: kueue.CheckStateRetry, Message: text + "; not even if all of them were free",
			Requeue: NoNodeRequeueDelay}
	case door != "":
		return pending(fmt.Sprintf("Waits behind run %s", door))
	case room.Enough:
		return ready(fmt.Sprintf("Target %q has the devices free", s.Target))
	case room.Outsider && !now.Before(until):
		return Decision{State: kueue.CheckStateRetry, Message: text, Requeue: RequeueDelay}
	case room.Outsider:
		return Decision{State: kueue.CheckStatePending, Message: text, Until: until}
	default: // runs of ours hold them, and every run ends
		return pending(text)
	}
}

// atTheDoor is what becomes of a run that could start but for the platform. One that keeps its quota keeps its devices
// free as well, and holds up nobody who needs others.
func atTheDoor(d Decision, a lock.Answer) Decision {
	switch {
	case a.Granted:
		return d
	case a.Requeue:
		return Decision{State: kueue.CheckStateRetry, Message: a.Reason, Requeue: RequeueDelay}
	default:
		return Decision{State: kueue.CheckStatePending, Message: a.Reason, locked: true, soon: a.Soon}
	}
}

func pending(text string) Decision {
	return Decision{State: kueue.CheckStatePending, Message: text}
}

func ready(text string) Decision {
	return Decision{State: kueue.CheckStateReady, Message: text}
}
