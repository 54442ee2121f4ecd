package view

import (
	"context"
	"testing"
	"time"

	"bflow.dev/bflow/internal/apitest"
	"bflow.dev/bflow/internal/eventually"
	"bflow.dev/bflow/queue/devices"
)

func TestAClusterThatIsAwayAtTheStart(t *testing.T) {
	s := apitest.New(t, "bench")
	s.Down(true)
	told := make(chan struct{}, 1000)
	target, err := New(s.Config(), "far", func() { told <- struct{}{} })
	if err != nil {
		t.Fatal(err)
	}
	ctx, end := context.WithCancel(t.Context())
	over := make(chan error)
	go func() { over <- target.Start(ctx) }()
	eventually.True(t, "that it is away", func() bool { r := target.Reach(); return !r.Since.IsZero() && !r.Up })
	if target.Ready() {
		t.Error("what nobody has seen is complete")
	}
	if _, err := target.Inventory(ctx, nil); err == nil {
		t.Error("what nobody has seen was counted")
	}
	s.Put("/api/v1/nodes/a", fullNode(nil))
	s.Down(false)
	target.AskNow() // it would be asked in a few seconds
	eventually.True(t, "that all of it is seen", target.Ready)
	inv, err := target.Inventory(ctx, func(string, map[string]string) devices.Holder { return devices.Holder{} })
	if err != nil {
		t.Fatal(err)
	}
	if inv.Total()["nvidia.com/gpu"] != 8 || target.Version() != "v1.34.4" || len(told) == 0 {
		t.Errorf("got %v of version %q, told %d times", inv.Total(), target.Version(), len(told))
	}
	end()
	if err := <-over; err != nil {
		t.Error(err)
	}
}

// TestAfterALongOutageEverythingIsReadAnew: until then nothing is believed.
func TestAfterALongOutageEverythingIsReadAnew(t *testing.T) {
	s := apitest.New(t, "bench")
	target, err := New(s.Config(), "far", func() {})
	if err != nil {
		t.Fatal(err)
	}
	go target.Start(t.Context())
	eventually.True(t, "that all of it is seen", target.Ready)
	before := target.sight()
	target.probe.note("refused")
	target.probe.mu.Lock()
	target.probe.reach.Since = time.Now().Add(-time.Hour)
	target.probe.mu.Unlock()
	target.probe.note("")
	eventually.True(t, "another look", func() bool { return target.sight() != before && target.Ready() })
}
