package main

import (
	"slices"
	"testing"
	"time"
)

func at(seconds ...float64) []time.Time {
	var out []time.Time
	for _, s := range seconds {
		out = append(out, time.Unix(1000, 0).Add(time.Duration(s*float64(time.Second))))
	}
	return out
}

func TestAnEndIsPairedWithTheStartThatTookItsPlace(t *testing.T) {
	got := handovers(at(0, 0, 1.5, 2.25), at(1, 2, 3, 4), 2)
	if want := []time.Duration{500 * time.Millisecond, 250 * time.Millisecond}; !slices.Equal(got, want) {
		t.Errorf("handovers are %v, want %v", got, want)
	}
}

func TestMoreAtOnceThanThereIsRoomForIsSeen(t *testing.T) {
	if n := atOnce(at(0, 0, 1), at(2, 3, 4)); n != 3 {
		t.Errorf("%d at once, want 3", n)
	}
	if n := atOnce(at(0, 0, 2), at(2, 3, 4)); n != 2 {
		t.Errorf("an end at the moment of a start counts as after it: %d at once, want 2", n)
	}
}

func TestARateIsOverAllTargets(t *testing.T) {
	r := newRecord()
	for i, name := range []string{"a", "b", "c", "d", "e"} {
		target := []string{"x", "y"}[i%2]
		if !r.start(target, name, at(float64(i))[0]) || r.start(target, name, at(9)[0]) {
			t.Fatalf("the start of %s is not told once", name)
		}
	}
	r.opened = at(2)[0]
	if f := r.figures(4); f.rate != 1 || f.wall != 2*time.Second {
		t.Errorf("rate %v over %v, want the two that started after the opening, one a second", f.rate, f.wall)
	}
}
