package loadgen

import (
	"slices"
	"sync"
	"testing"
	"time"
)

func TestAlarmsRingInOrderAndNeverEarly(t *testing.T) {
	anchor := time.Now()
	a, err := startAlarms(anchor)
	if err != nil {
		t.Fatal(err)
	}
	defer a.close()
	var (
		mu    sync.Mutex
		late  []time.Duration
		woken sync.WaitGroup
	)
	for i := range 50 {
		// The later ones are set first, so that each next is the earliest so far.
		at := int64(time.Since(anchor)) + int64(60-i)*int64(time.Millisecond)
		ring := a.at(at)
		woken.Go(func() {
			<-ring
			mu.Lock()
			defer mu.Unlock()
			late = append(late, time.Since(anchor)-time.Duration(at))
		})
	}
	woken.Wait()
	slices.Sort(late)
	if late[0] < 0 {
		t.Errorf("an alarm rang %v early", -late[0])
	}
	t.Logf("lateness: median %v, worst %v", late[len(late)/2], late[len(late)-1])
}

func TestAPastAlarmRingsAtOnce(t *testing.T) {
	a, err := startAlarms(time.Now())
	if err != nil {
		t.Fatal(err)
	}
	<-a.at(-1)
	a.close()
}
