package record

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"bflow.dev/bflow/tasks/report"
)

func makeOutcome(intended int64) *Outcome {
	o := new(Outcome)
	o.Reset()
	o.Intended, o.Status = intended, report.StatusOK
	return o
}

func TestOutcomesRoundTripInOrderOfTheirIntendedSend(t *testing.T) {
	s, err := CreateSpill(filepath.Join(t.TempDir(), "spill"), "p")
	if err != nil {
		t.Fatal(err)
	}
	late, early := makeOutcome(200), makeOutcome(100)
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
		c.Gaps, c.Tokens = append([]int32(nil), o.Gaps...), append([]int64(nil), o.Tokens...)
		got = append(got, c)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Outcome{*early, *late}, got, cmpopts.EquateEmpty()); diff != "" {
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
	s, err := CreateSpill("/dev/full", "p")
	if err != nil {
		t.Fatal(err)
	}
	s.Add(makeOutcome(1))
	s.Sync()
	if err := s.Err(); err == nil || !strings.Contains(err.Error(), "no space left on device") {
		t.Errorf("error %v", err)
	}
}

func TestRecoverStopsWhereAKillCutTheFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "spill")
	s, err := CreateSpill(path, "run-s0")
	if err != nil {
		t.Fatal(err)
	}
	whole, cut := makeOutcome(1), makeOutcome(2)
	whole.Session, whole.Turn = 7, 1
	s.Add(whole)
	s.Add(cut)
	s.Sync()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data[:len(data)-3], 0o644); err != nil {
		t.Fatal(err)
	}
	var ids []string
	err = Recover(path, func(prefix string, o *Outcome) error { ids = append(ids, string(o.AppendID(nil, prefix))); return nil })
	if err != nil || len(ids) != 1 || ids[0] != "run-s0-7-1" {
		t.Errorf("recovered %v: %v", ids, err)
	}
}
