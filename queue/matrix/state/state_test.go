package state

import (
	"slices"
	"testing"
	"time"
)

func TestOutcomesComeBack(t *testing.T) {
	for _, row := range []struct {
		name string
		all  []Outcome
		text string
	}{
		{"none", []Outcome{None, None, None}, "3."},
		{"some", []Outcome{Passed, Passed, Failed, Made, None, None}, "2pFo2."},
		{"every letter", []Outcome(".opfFiInNcds"), ".opfFiInNcds"},
	} {
		t.Run(row.name, func(t *testing.T) {
			text := Encode(row.all)
			back, err := Decode(text, len(row.all))
			if text != row.text || err != nil || !slices.Equal(back, row.all) {
				t.Errorf("%q, %s, %v", text, back, err)
			}
		})
	}
}

func TestOutcomesThatAreNone(t *testing.T) {
	for _, text := range []string{"x", "5p", "99999999999999999999p", "ppp", "2p2."} {
		if all, err := Decode(text, 2); err == nil {
			t.Errorf("%q is read as %s", text, all)
		}
	}
	if all, err := Decode("p", 3); err != nil || Encode(all) != "p2." {
		t.Errorf("%s, %v: what is not told is waiting", all, err)
	}
}

func FuzzOutcomes(f *testing.F) {
	f.Add("3p2.F", 10)
	f.Fuzz(func(t *testing.T, text string, n int) {
		all, err := Decode(text, min(max(n, 0), 1000))
		if err != nil {
			return
		}
		back, err := Decode(Encode(all), len(all))
		if err != nil || !slices.Equal(all, back) {
			t.Errorf("%s, %s, %v", all, back, err)
		}
	})
}

func TestTheVerdictOfAllIsTheWorst(t *testing.T) {
	for _, row := range []struct{ name, all, want string }{
		{"all passed", "ppp", "pass"},
		{"one breached, green", "ppf", "fail"},
		{"a failure is worse than an invalid one", "pIF", "fail"},
		{"one invalid", "pin", "invalid"},
		{"one was cancelled", "ppc", "inconclusive"},
	} {
		t.Run(row.name, func(t *testing.T) {
			if got := Tally([]Outcome(row.all)).Verdict(); got != row.want {
				t.Errorf("%s, want %s", got, row.want)
			}
		})
	}
}

func TestSentences(t *testing.T) {
	now := time.Unix(1000, 0)
	s := &State{Points: 9, Counts: Counts{Passed: 3, Running: 2, Waiting: 4}, Finish: now.Add(25 * time.Minute),
		Waits: []string{`queue "a": all are in use`}}
	if got, want := s.Sentence(now),
		`9 points: 3 passed, 2 running, 4 waiting; about 25m left; queue "a": all are in use`; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	for d, want := range map[time.Duration]string{0: "1s", 80 * time.Second: "80s", 65 * time.Minute: "1h10m",
		13 * time.Hour: "13h"} {
		if got := Rough(d); got != want {
			t.Errorf("%s is about %s, want %s", d, got, want)
		}
	}
}
