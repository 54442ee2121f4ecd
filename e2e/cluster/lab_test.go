//go:build e2e

package cluster

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"bflow.dev/bflow/e2e/cluster/turns"
)

// lab is a cluster with bflow on it, which a test has for its time.
type lab struct {
	*site
	t       *testing.T
	dir     string // working directory of commands
	runs    string // folder of local runs
	watched bool   // what is read now may come from watches
}

// need is what a test needs of the clusters beside a share of a hub.
type need func(*turns.Need)

// Needs of tests. What hurts a hub, takes all of its GPUs, or counts what everybody holds there, is alone on it.
// What kills controllers bears others that do. Who has more than one run at once on a shared hub says how many.
func rough(n *turns.Need)         { n.Hub = turns.Rough }
func alone(n *turns.Need)         { n.Hub = turns.Whole }
func onEveryHub(n *turns.Need)    { n.Hub = turns.Every }
func withWorker(n *turns.Need)    { n.Worker = turns.Share }
func runs(most int) need          { return func(n *turns.Need) { n.Runs = most } }
func aloneOnWorker(n *turns.Need) { n.Worker = turns.Whole }

// clusters are those of this process.
var clusters = struct {
	sync.Mutex
	pool  *turns.Pool
	spent []spent
}{}

// hubVariables name a hub.
type hubVariables struct{ name, kubeconfig, audit string }

// spent is how long a test has waited for its turn, and how long that took.
type spent struct {
	name, where  string
	waited, took time.Duration
}

// theHubs are those that the environment names.
func theHubs() (all []hubVariables) {
	for _, h := range []hubVariables{
		{"hub", os.Getenv("BFLOW_E2E_KUBECONFIG"), os.Getenv("BFLOW_E2E_AUDIT")},
		{"hub2", os.Getenv("BFLOW_E2E_SECOND_KUBECONFIG"), os.Getenv("BFLOW_E2E_SECOND_AUDIT")},
	} {
		if h.kubeconfig != "" {
			all = append(all, h)
		}
	}
	return all
}

// newLab waits until the test may have a share of a hub, or what else it needs, until its end. Tests with a lab go
// beside each other.
func newLab(t *testing.T, needs ...need) *lab {
	t.Helper()
	return newLabs(t, needs...)[0]
}

// newLabs is newLab for a test that uses several hubs.
func newLabs(t *testing.T, needs ...need) (labs []*lab) {
	t.Helper()
	if os.Getenv("BFLOW_E2E_KUBECONFIG") == "" {
		t.Skip("BFLOW_E2E_KUBECONFIG names no cluster to try this on")
	}
	t.Parallel()
	want := turns.Need{Hub: turns.Share}
	for _, n := range needs {
		n(&want)
	}
	hubs := theHubs()
	asked := time.Now()
	numbers, release := pool(t, len(hubs)).Take(want)
	began := time.Now()
	for _, i := range numbers {
		l := &lab{t: t, site: siteOf(t, hubs[i].name, hubs[i].kubeconfig, hubs[i].audit), dir: t.TempDir(), runs: t.TempDir()}
		labs = append(labs, l)
	}
	t.Cleanup(func() {
		release()
		clusters.Lock()
		defer clusters.Unlock()
		clusters.spent = append(clusters.spent, spent{t.Name(), labs[0].name, began.Sub(asked), time.Since(began)})
	})
	for _, l := range labs {
		l.mlflow().track()
	}
	return labs
}

// pool hands the clusters out. BFLOW_E2E_BESIDE is how many runs those that share a hub may have there.
func pool(t *testing.T, hubs int) *turns.Pool {
	t.Helper()
	clusters.Lock()
	defer clusters.Unlock()
	if clusters.pool == nil {
		most, err := strconv.Atoi(cmp.Or(os.Getenv("BFLOW_E2E_BESIDE"), "2"))
		if err != nil {
			t.Fatalf("reading BFLOW_E2E_BESIDE: %v", err)
		}
		clusters.pool = turns.New(hubs, most)
		time.AfterFunc(time.Second, clusters.pool.Begin) // by then all tests have asked
	}
	return clusters.pool
}

// printSpent tells where the time has gone: what go test says of a test has its wait for a turn in it.
func printSpent() {
	slices.SortFunc(clusters.spent, func(a, b spent) int { return cmp.Compare(b.took, a.took) })
	for _, s := range clusters.spent {
		fmt.Fprintf(os.Stderr, "turn: %4.0fs on %-4s after %4.0fs: %s\n", s.took.Seconds(), s.where,
			s.waited.Seconds(), s.name)
	}
}

// beside is the lab of another cluster that the same test uses.
func (l *lab) beside(name, kubeconfig, audit string) *lab {
	l.t.Helper()
	return &lab{t: l.t, site: siteOf(l.t, name, kubeconfig, audit), dir: l.dir, runs: l.runs}
}

// in is the lab for a test inside another, which goes on when that has ended.
func (l *lab) in(t *testing.T) *lab {
	inner := *l
	inner.t = t
	return &inner
}
