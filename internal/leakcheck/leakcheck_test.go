package leakcheck

import (
	"strings"
	"testing"
	"time"
)

// tests are those of a package that has a single one.
type tests func() int

func (t tests) Run() int { return t() }

func run(limit time.Duration, t tests) (code int, said string) {
	var err strings.Builder
	code = Tests{t, limit, &err}.Run()
	return code, err.String()
}

func TestAGoroutineThatNobodyEndsIsALeak(t *testing.T) {
	end := make(chan struct{})
	defer close(end)
	code, said := run(0, func() int {
		go forgotten(end)
		return 0
	})
	if code != 1 || !strings.Contains(said, "leakcheck.forgotten") {
		t.Errorf("code %d, said %q", code, said)
	}
}

func forgotten(end <-chan struct{}) { <-end }

// TestAGoroutineThatIsAboutToEndIsNoLeak: it ends only after the check has begun, which it sees by nothing, so it takes
// longer than one round of the check.
func TestAGoroutineThatIsAboutToEndIsNoLeak(t *testing.T) {
	end := make(chan struct{})
	code, said := run(settleTimeout, func() int {
		go forgotten(end)
		time.AfterFunc(2*time.Second, func() { close(end) }) //nolint:forbidigo // the goroutine that ends late
		return 0
	})
	if code != 0 || said != "" {
		t.Errorf("code %d, said %q", code, said)
	}
}

func TestTestsThatFailedAreNotCheckedToo(t *testing.T) {
	end := make(chan struct{})
	defer close(end)
	code, said := run(0, func() int {
		go forgotten(end)
		return 3
	})
	if code != 3 || said != "" {
		t.Errorf("code %d, said %q", code, said)
	}
}

func TestNothingIsLeft(t *testing.T) {
	if code, said := run(settleTimeout, func() int { return 0 }); code != 0 || said != "" {
		t.Errorf("code %d, said %q", code, said)
	}
}
