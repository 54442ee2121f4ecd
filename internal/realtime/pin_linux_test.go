package realtime

import (
	"os"
	"strconv"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
)

// niceness is that of every thread of this process, by its number.
func niceness(t *testing.T) map[int]int {
	t.Helper()
	threads, err := os.ReadDir("/proc/self/task")
	if err != nil {
		t.Fatal(err)
	}
	all := map[int]int{}
	for _, thread := range threads {
		id, err := strconv.Atoi(thread.Name())
		if err != nil {
			t.Fatal(err)
		}
		if attr, err := unix.SchedGetAttr(id, 0); err == nil { // else it has ended
			all[id] = int(attr.Nice)
		}
	}
	return all
}

// TestManyPinsMakeNobodyNicerThanOneDoes: a process that pins again and again does not end behind everybody else.
func TestManyPinsMakeNobodyNicerThanOneDoes(t *testing.T) {
	before, err := unix.SchedGetAttr(os.Getpid(), 0)
	if err != nil || before.Policy != unix.SCHED_NORMAL {
		t.Skipf("threads of this process have no niceness: %v", err)
	}
	most := min(int(before.Nice)+behind, 19)
	for range 5 {
		var over sync.WaitGroup
		for range 3 { // on threads of their own, side by side
			over.Go(func() {
				defer Pin()()
				for id, nice := range niceness(t) {
					if nice > most {
						t.Errorf("thread %d has a niceness of %d, want at most %d", id, nice, most)
					}
				}
			})
		}
		over.Wait()
	}
}

func TestAPinnedThreadStandsBehindNobodyWhereThatIsAllowed(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only the privileged may make a thread less nice, as one is that has stood behind another")
	}
	before, err := unix.SchedGetAttr(os.Getpid(), 0)
	if err != nil || before.Policy != unix.SCHED_NORMAL {
		t.Skipf("threads of this process have no niceness: %v", err)
	}
	for range 3 {
		var over sync.WaitGroup
		over.Go(func() {
			defer Pin()()
			all := niceness(t)
			for id, nice := range all {
				if nice < all[unix.Gettid()] {
					t.Errorf("thread %d has a niceness of %d, the pinned one of %d", id, nice, all[unix.Gettid()])
				}
			}
		})
		over.Wait()
	}
}
