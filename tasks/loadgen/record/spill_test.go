package record

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"bflow.dev/bflow/internal/eventually"
	"bflow.dev/bflow/report"
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
		early.LateBy(int64(i%4) * 1e6)
	}
	s.Add(late)
	s.Add(early)
	var got []Outcome
	err = s.Each(func(i int, o *Outcome) error {
		c := *o
		c.Gaps, c.Tokens, c.Late = slices.Clone(o.Gaps), slices.Clone(o.Tokens), slices.Clone(o.Late)
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

func TestAServerThatIsNeverAtALossForWordsFillsNoMemory(t *testing.T) {
	s, err := CreateSpill(filepath.Join(t.TempDir(), "spill"), "p")
	if err != nil {
		t.Fatal(err)
	}
	const n = maxWords + 1000
	for i := range n {
		o := makeOutcome(int64(i))
		o.Finish = strconv.Itoa(i)
		s.Add(o)
	}
	if kept := len(s.words.words); kept > maxWords+1 {
		t.Errorf("%d words are kept, want at most %d", kept, maxWords+1)
	}
	err = s.Each(func(i int, o *Outcome) error {
		if want := strconv.Itoa(i); o.Status != report.StatusOK ||
			o.Finish != want && (i < maxWords-10 || o.Finish != otherWord) {
			return fmt.Errorf("outcome %d is %q, and ended by %q", i, o.Status, o.Finish)
		}
		return nil
	})
	if err := errors.Join(err, s.Remove()); err != nil {
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
	defer s.Close()
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
	defer s.Close()
	whole, cut := makeOutcome(1), makeOutcome(2)
	whole.Session, whole.Turn = 7, 1
	s.Add(whole)
	s.Add(cut)
	s.Sync()
	s.Sync()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, data[:len(data)-3], 0o644); err != nil {
		t.Fatal(err)
	}
	var ids []string
	err = Recover(path, func(prefix string, o *Outcome) error {
		ids = append(ids, string(o.AppendID(nil, prefix)))
		return nil
	})
	if err != nil || len(ids) != 1 || ids[0] != "run-s0-7-1" {
		t.Errorf("recovered %v: %v", ids, err)
	}
}

// typical is an outcome of one event, as the load has them by the hundred thousand.
func typical(o *Outcome, i int64) {
	o.Reset()
	o.Index, o.Session, o.Slot = i, i, i%32
	o.Intended, o.Send = i*10_000, i*10_000+2_000
	o.Sent, o.FirstByte = o.Send+3_000, o.Send+80_000
	o.Token(o.Send+81_000, 1)
	o.Content, o.End = o.First, o.Send+82_000
	o.HTTPStatus, o.InAsked, o.In = 200, 128, 128
	o.OutAsked, o.Out, o.BytesOut = 1, 1, 1100
	o.BytesIn, o.Conn, o.Reused = 420, i%32, 1
	o.Status, o.Finish = report.StatusOK, "length"
	o.TokenSource, o.PromptHash = "usage", uint64(i)*0x9e3779b97f4a7c15
	o.Kernel, o.LagMax = true, 9_000+i%1000
}

func BenchmarkAdd(b *testing.B) {
	s, err := CreateSpill(filepath.Join(b.TempDir(), "spill"), "run-1-m0-r0-s0")
	if err != nil {
		b.Fatal(err)
	}
	o := new(Outcome)
	b.ReportAllocs()
	i := int64(0)
	typical(o, 0)
	for b.Loop() {
		o.Intended += 10_000
		o.Session++
		i++
		s.Add(o)
	}
	if err := s.Remove(); err != nil {
		b.Fatal(err)
	}
}

func FuzzDecode(f *testing.F) {
	o := new(Outcome)
	typical(o, 7)
	o.Token(o.Last+5_000, 3)
	o.LateBy(7_000)
	f.Add(o.appendTo(nil, [5]uint64{1, 0, 2, 0, 3})[frameHead:])
	f.Fuzz(func(t *testing.T, b []byte) {
		words := []string{"a", "b", "c"}
		var o, again Outcome
		if o.decode(b, words) != nil {
			return
		}
		var numbers [5]uint64
		for i, p := range o.words() {
			if *p != "" {
				numbers[i] = uint64(strings.Index("abc", *p)) + 1
			}
		}
		if err := again.decode(o.appendTo(nil, numbers)[frameHead:], words); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(o, again, cmpopts.EquateEmpty()); diff != "" {
			t.Fatal(diff)
		}
	})
}

func TestSyncFromAnyGoroutineLosesNothing(t *testing.T) {
	path := filepath.Join(t.TempDir(), "spill")
	s, err := CreateSpill(path, "p")
	if err != nil {
		t.Fatal(err)
	}
	stop := make(chan struct{})
	var syncs sync.WaitGroup
	for range 3 {
		syncs.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
					s.Sync()
				}
			}
		})
	}
	o, long := new(Outcome), strings.Repeat("e", 3*spillBuffer)
	const n = 20_000
	for i := range int64(n) {
		if typical(o, i); i == n/2 { // larger than any buffer
			o.Error = long
		}
		s.Add(o)
	}
	close(stop)
	syncs.Wait()
	seen := int64(0)
	if err := s.Each(func(i int, o *Outcome) error {
		if o.Session != int64(i) || (i == n/2) != (o.Error == long) {
			t.Errorf("outcome %d is that of session %d", i, o.Session)
		}
		seen++
		return nil
	}); err != nil || seen != n {
		t.Errorf("%d outcomes: %v", seen, err)
	}
	if err := s.Remove(); err != nil {
		t.Error(err)
	}
}

func TestAFullDiskIsToldOnce(t *testing.T) {
	s, err := CreateSpill("/dev/full", "p")
	if err != nil {
		t.Skip("it needs /dev/full")
	}
	defer s.Close()
	o := new(Outcome)
	typical(o, 1)
	for range 10_000 { // more than the buffers hold: adding goes on and blocks nobody
		s.Add(o)
	}
	eventually.Receive(t, "the news of a full disk", s.Failed())
	if err := s.Each(func(int, *Outcome) error { return nil }); err == nil {
		t.Error("what was lost is read")
	}
}

func TestAddTakesNoMemory(t *testing.T) {
	s := spillOf(t, t.TempDir(), 10, typical)
	o := new(Outcome)
	typical(o, 5)
	if n := testing.AllocsPerRun(10_000, func() { s.Add(o) }); n > 0 {
		t.Errorf("%v allocations", n)
	}
	if err := s.Remove(); err != nil {
		t.Error(err)
	}
}
