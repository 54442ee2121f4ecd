package soak

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var (
	teams = []string{"a", "b", "c"}
	both  = []string{"local", "worker"}
)

func TestOneSeedIsOnePlan(t *testing.T) {
	people, faults := Plan(7, 10*time.Minute, teams, both)
	again, broken := Plan(7, 10*time.Minute, teams, both)
	if diff := cmp.Diff(people, again) + cmp.Diff(faults, broken); diff != "" {
		t.Error(diff)
	}
	other, _ := Plan(8, 10*time.Minute, teams, both)
	if cmp.Equal(people, other) {
		t.Error("another seed is the same plan")
	}
}

func TestTenMinutesHaveEveryFaultAndEveryAct(t *testing.T) {
	for seed := range uint64(20) {
		people, faults := Plan(seed, 10*time.Minute, teams, both)
		seen := map[Act]bool{}
		var last time.Duration
		for _, lane := range [][]Action{people, faults} {
			last = 0
			for _, a := range lane {
				if a.At < last || a.At >= 10*time.Minute {
					t.Errorf("seed %d: %s at %s, after one at %s", seed, a, a.At, last)
				}
				last = a.At
				seen[a.Do] = true
			}
		}
		for _, act := range []Act{Submit, Cancel, Abort, Delete, KillLeader, PauseLeader, SkewLeader, KillTekton,
			PauseManager, KillServer, KillStore, KillWorker, CutWorker, LoseTarget, LoseNamespace} {
			if !seen[act] {
				t.Errorf("seed %d: ten minutes have no %q", seed, act)
			}
		}
	}
}

func TestRunsOfOneNameAreAlikeInEveryNamespace(t *testing.T) {
	people, _ := Plan(3, time.Hour, teams, both)
	shapes, where := map[string]Action{}, map[string]map[string]bool{}
	for _, a := range people {
		if a.Do != Submit {
			continue
		}
		if where[a.Name] == nil {
			where[a.Name] = map[string]bool{}
		}
		where[a.Name][a.Namespace] = true
		a.At, a.Namespace = 0, ""
		if shape, ok := shapes[a.Name]; ok && shape != a {
			t.Errorf("%s is %s, and %s", a.Name, shape, a)
		}
		shapes[a.Name] = a
	}
	for name, namespaces := range where {
		if len(namespaces) != len(teams) {
			t.Errorf("%s is in %v alone", name, namespaces)
		}
	}
}

func TestWithoutAWorkerNothingOfItBreaks(t *testing.T) {
	_, faults := Plan(1, time.Hour, teams, both[:1])
	for _, a := range faults {
		switch a.Do {
		case KillWorker, CutWorker, LoseTarget:
			t.Errorf("%s", a)
		}
	}
}
