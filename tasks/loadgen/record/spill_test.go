package record

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"bflow.dev/bflow/tasks/report"
)

func makeOutcome(id string, intended int64) *Outcome {
	o := new(Outcome)
	o.Reset()
	o.ID, o.Intended, o.Status = id, intended, report.StatusOK
	return o
}

func TestOutcomesRoundTripInOrderOfTheirIntendedSend(t *testing.T) {
	s, err := CreateSpill(filepath.Join(t.TempDir(), "spill"))
	if err != nil {
		t.Fatal(err)
	}
	late, early := makeOutcome("late", 200), makeOutcome("early", 100)
	late.Error, late.TokensAssumed = strings.Repeat("x", 5000), true // longer than one read
	early.Send = 101
	for i := range 9 {
		early.Token(int64(110+i*i), int64(i%3+1))
	}
	s.Add(late)
	s.Add(early)
	var got []Outcome
	err = s.Each(func(i int, o *Outcome) error {
		c := *o
		c.Gaps, c.Tokens = append([]int64(nil), o.Gaps...), append([]int64(nil), o.Tokens...)
		got = append(got, c)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Outcome{*early, *late}, got, cmp.Transformer("empty", func(l []int64) []int64 { return append([]int64{}, l...) })); diff != "" {
		t.Errorf("outcomes (-want +got):\n%s", diff)
	}
	if err := s.Remove(); err != nil {
		t.Error(err)
	}
}

func TestAFullDiskIsAnErrorOfTheSpill(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("it needs /dev/full")
	}
	s, err := CreateSpill("/dev/full")
	if err != nil {
		t.Fatal(err)
	}
	s.Add(makeOutcome("lost", 1))
	s.Sync()
	if err := s.Err(); err == nil || !strings.Contains(err.Error(), "no space left on device") {
		t.Errorf("error %v", err)
	}
}

func TestRecoverStopsWhereAKillCutTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "spill")
	whole := makeOutcome("whole", 1).appendTo(nil)
	cut := makeOutcome("cut", 2).appendTo(nil)
	if err := os.WriteFile(path, append(whole, cut[:len(cut)-3]...), 0o644); err != nil {
		t.Fatal(err)
	}
	var ids []string
	err := Recover(path, func(o *Outcome) error { ids = append(ids, o.ID); return nil })
	if err != nil || len(ids) != 1 || ids[0] != "whole" {
		t.Errorf("recovered %v: %v", ids, err)
	}
}
