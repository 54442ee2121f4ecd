package lock_test

import (
	"strings"
	"testing"
	"time"

	"bflow.dev/bflow/queue/lock"
)

var noon = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

func wish(name, key string, second int) lock.Request {
	return lock.Request{Run: name, Key: key, Queued: noon.Add(time.Duration(second) * time.Second)}
}

// holding is the memory of hub "me" that has just taken the Lease with a key, while others ask.
func holding(key string, asks ...lock.Ask) *lock.Memory {
	m := lock.NewMemory("me")
	l := lock.Lease{Version: "1", Holder: "me", Key: key, Fence: 7, Renewed: noon, Asks: asks}
	m.NoteRead(noon, l)
	m.NoteWritten(noon, noon, l)
	return m
}

// looking is the memory of hub "me" that has just read the Lease of hub "other".
func looking(l lock.Lease) *lock.Memory {
	m := lock.NewMemory("me")
	m.NoteRead(noon, l)
	return m
}

func other(key string) lock.Lease {
	return lock.Lease{Version: "1", Holder: "other", Key: key, Fence: 7, Renewed: noon}
}

func TestRound(t *testing.T) {
	asks := lock.Ask{Hub: "other", Key: "l", Since: noon.Add(5 * time.Second), Beat: 1}
	for _, row := range []struct {
		name    string
		memory  *lock.Memory
		started []lock.Request
		claims  []lock.Request
		waiting []lock.Request
		want    string // a letter for each that waits: granted, waits, or away
		say     string // in the last reason
		wish    string // the key that should be held next
	}{
		{name: "runs of the key that is held go in parallel", memory: holding("k"),
			started: []lock.Request{wish("a", "k", 0)},
			waiting: []lock.Request{wish("b", "k", 1), wish("c", "k", 2)}, want: "gg"},
		{name: "an older run of another key closes the door to newcomers, who give their quota back", memory: holding("k"),
			started: []lock.Request{wish("a", "k", 0)}, waiting: []lock.Request{wish("b", "l", 1), wish("c", "k", 2)},
			want: "wa",
			say:  `Run b comes first on target "lab", with setup "l"`, wish: "l"},
		{name: "a younger one waits, and those before it join", memory: holding("k"),
			started: []lock.Request{wish("a", "k", 0)},
			waiting: []lock.Request{wish("b", "k", 1), wish("c", "l", 2)}, want: "gw", say: `is set up as "k" for run a`,
			wish: "l"},
		{name: "runs of the next key wait together, a third key gives its quota back", memory: holding("k"),
			started: []lock.Request{wish("a", "k", 0)},
			waiting: []lock.Request{wish("b", "l", 1), wish("c", "l", 2), wish("d", "m", 3)}, want: "wwa", wish: "l"},
		{name: "leave to start holds the key as well", memory: holding("k"), claims: []lock.Request{wish("a", "k", 0)},
			waiting: []lock.Request{wish("b", "l", 1)}, want: "w", wish: "l"},
		{name: "with nobody on the target the first one decides", memory: holding("k"),
			waiting: []lock.Request{wish("b", "l", 1), wish("c", "k", 2)},
			want:    "wa", say: "Run b comes first", wish: "l"},
		{name: "a free Lease must be taken first", memory: looking(lock.Lease{Version: "1", Fence: 3}),
			waiting: []lock.Request{wish("b", "l", 1)},
			want:    "w", say: `Taking the lock of target "lab" for setup "l"`, wish: "l"},
		{name: "another hub has it, with the same key", memory: looking(other("k")),
			waiting: []lock.Request{wish("b", "k", 1)},
			want:    "w", say: `Hub other uses target "lab" with setup "k"`, wish: "k"},
		{name: "another hub has waited longer than a newcomer", memory: holding("k", asks),
			started: []lock.Request{wish("a", "k", 0)},
			waiting: []lock.Request{wish("b", "k", 1), wish("c", "k", 9)}, want: "ga", say: "Hub other waits for target"},
		{name: "another hub has waited longer than the first", memory: holding("k", asks),
			waiting: []lock.Request{wish("b", "k", 9)},
			want:    "w", say: "Hub other has waited longer", wish: "k"},
		{name: "who needs no shared state passes every door", memory: holding("k"),
			started: []lock.Request{wish("a", "k", 0)},
			waiting: []lock.Request{wish("b", "l", 1), wish("c", "", 2)}, want: "wg", wish: "l"},
		{name: "but not where another hub wants to be alone", memory: looking(other(lock.Exclusive("x/y"))),
			waiting: []lock.Request{wish("c", "", 2)}, want: "w", say: "Hub other uses target \"lab\" alone"},
		{name: "a run that wants to be alone waits until a look showed nobody", memory: holding(lock.Exclusive("b")),
			waiting: []lock.Request{wish("b", lock.Exclusive("b"), 1)}, want: "w", say: "wants target \"lab\" for itself",
			wish: lock.Exclusive("b")},
	} {
		t.Run(row.name, func(t *testing.T) {
			r := row.memory.Round(noon.Add(time.Second), "lab", row.started, row.claims)
			got, say := "", ""
			for _, q := range row.waiting {
				a := r.Ask(q)
				letter := "w"
				if a.Granted {
					letter = "g"
				} else if a.Requeue {
					letter = "a"
				}
				got, say = got+letter, a.Reason
			}
			next := ""
			if w := r.Situation().Want; w != nil {
				next = w.Key
			}
			if got != row.want || !strings.Contains(say, row.say) || next != row.wish {
				t.Errorf("answers %q, wish %q, %q", got, next, say)
			}
		})
	}
}

func TestNext(t *testing.T) {
	want := &lock.Want{Key: "k", Since: noon}
	for _, row := range []struct {
		name   string
		memory *lock.Memory
		after  time.Duration
		s      lock.Situation
		want   lock.Step
		fence  int64
	}{
		{name: "a free Lease is taken, by a new fence", memory: looking(lock.Lease{Version: "1", Fence: 3}),
			s: lock.Situation{Want: want}, want: lock.Taken, fence: 4},
		{name: "one that was never there begins at a time, so that fences grow when it is deleted",
			memory: looking(lock.Lease{}),
			s:      lock.Situation{Want: want}, want: lock.Taken, fence: noon.Unix()},
		{name: "but not while pods of other hubs are there", memory: looking(lock.Lease{}),
			s: lock.Situation{Want: want, Alive: true}, want: lock.Rest},
		{name: "nobody takes what nobody wants", memory: looking(lock.Lease{Version: "1"}), want: lock.Rest},
		{name: "a Lease of another hub is asked for", memory: looking(other("k")), s: lock.Situation{Want: want},
			want: lock.Asked, fence: 7},
		{name: "one that was not renewed is taken over", memory: looking(other("k")), after: lock.LeaseDuration,
			s: lock.Situation{Want: want}, want: lock.TakenOff, fence: 8},
		{name: "but not while something of its holder is alive", memory: looking(other("k")), after: lock.LeaseDuration,
			s: lock.Situation{Want: want, Alive: true}, want: lock.Asked, fence: 7},
		{name: "a holder renews", memory: holding("k"), after: lock.RenewInterval, s: lock.Situation{Started: "k"},
			want: lock.Renewed, fence: 7},
		{name: "in time", memory: holding("k"), after: time.Second, s: lock.Situation{Started: "k"}, want: lock.Rest},
		{name: "a holder keeps the key of its runs, whatever comes next", memory: holding("k"), after: lock.RenewInterval,
			s: lock.Situation{Started: "k", Want: &lock.Want{Key: "l", Since: noon}}, want: lock.Renewed, fence: 7},
		{name: "and of what may be left of one that was released by force", memory: holding("k"), after: lock.RenewInterval,
			s: lock.Situation{Dirty: true, Want: &lock.Want{Key: "l", Since: noon}}, want: lock.Renewed, fence: 7},
		{name: "then comes the next key, by a new fence", memory: holding("k"),
			s: lock.Situation{Want: &lock.Want{Key: "l", Since: noon}}, want: lock.Switched, fence: 8},
		{name: "nobody needs it any more", memory: holding("k"), want: lock.Freed, fence: 7},
		{name: "another hub has waited longer", memory: holding("k",
			lock.Ask{Hub: "other", Key: "l", Since: noon.Add(-time.Hour)}),
			s: lock.Situation{Want: want}, want: lock.Freed, fence: 7},
		{name: "but has given up", memory: holding("k", lock.Ask{Hub: "other", Key: "l", Since: noon.Add(-time.Hour)}),
			after: lock.LeaseDuration,
			s:     lock.Situation{Want: want}, want: lock.Renewed, fence: 7},
	} {
		t.Run(row.name, func(t *testing.T) {
			l, step := row.memory.Next(noon.Add(row.after), row.s)
			if step != row.want || step != lock.Rest && l.Fence != row.fence {
				t.Errorf("%q by fence %d: %+v", step, l.Fence, l)
			}
			if step.Frees() {
				if _, ok := row.memory.FenceFor(noon, "k"); ok {
					t.Error("it still grants by the key that it lets go")
				}
			}
		})
	}
}

func TestATakeoverLetsNobodyStartUntilNothingOfTheOldHolderIsAlive(t *testing.T) {
	m := looking(other("k"))
	now := noon.Add(lock.LeaseDuration)
	l, step := m.Next(now, lock.Situation{Want: &lock.Want{Key: "l", Since: noon}})
	if step != lock.TakenOff {
		t.Fatal(step)
	}
	m.NoteWritten(now, now, l)
	s := lock.Situation{Claim: &lock.Want{Key: "l", Since: noon}}
	for i, alive := range []bool{false, true, false, false, false, false, false} {
		now = now.Add(lock.RenewInterval)
		if looking := m.HubsToCheck(now); len(looking) != 1 || looking[0] != "other" {
			t.Fatalf("it looks at %v", looking)
		}
		m.NoteAlive(now, alive)
		if _, ok := m.FenceFor(now, "l"); ok {
			t.Fatalf("it grants at look %d", i)
		}
		if l, step = m.Next(now, s); step == lock.Settled {
			if i != 6 {
				t.Errorf("it settles at look %d", i)
			}
		}
		m.NoteWritten(now, now, l)
	}
	if fence, ok := m.FenceFor(now, "l"); !ok || fence != 8 {
		t.Error("it never grants")
	}
}

func TestAHubThatCannotRenewStopsGrantingBeforeOthersTakeOver(t *testing.T) {
	m := holding("k")
	if _, ok := m.FenceFor(noon.Add(lock.RenewDeadline-1), "k"); !ok {
		t.Error("it has the Lease still")
	}
	if _, ok := m.FenceFor(noon.Add(lock.RenewDeadline), "k"); ok || lock.RenewDeadline >= lock.LeaseDuration {
		t.Error("it must not believe in it any more")
	}
}
