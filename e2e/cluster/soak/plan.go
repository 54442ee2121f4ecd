package soak

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// Act is what somebody does, or what breaks.
type Act string

// What people do.
const (
	Submit  Act = "submit"  // a run, or a matrix
	Cancel  Act = "cancel"  // with its end, as bflow cancel does
	Abort   Act = "abort"   // without it, as tkn pipelinerun cancel does
	Delete  Act = "delete"  // as kubectl delete does
	Release Act = "release" // by force, as bflow cancel --force does
)

// What breaks.
const (
	KillLeader    Act = "kill leader"
	PauseLeader   Act = "pause leader" // for longer than its lease
	SkewLeader    Act = "skew leader"  // its clock alone
	KillTekton    Act = "kill Tekton's controller"
	PauseManager  Act = "pause kube-controller-manager"
	KillServer    Act = "kill API server"
	KillStore     Act = "kill etcd"
	KillWorker    Act = "kill worker's API server"
	CutWorker     Act = "cut worker off"
	LoseTarget    Act = "lose target's Secret"
	LoseNamespace Act = "delete namespace"
)

func (a Act) ofPeople() bool {
	return slices.Contains([]Act{Submit, Cancel, Abort, Delete, Release}, a)
}

// Action is one of them.
type Action struct {
	At        time.Duration // after the beginning, or when the one before is over
	Do        Act
	Namespace string        // of Submit and LoseNamespace
	Name      string        // of Submit: runs of all namespaces share few names, and those of one name are alike
	For       time.Duration // that a fault lasts, a load goes on, or by which a clock is off
	Target    string        // of Submit
	GPUs      int           // of Submit
	Priority  string        // of Submit
	Points    int           // of Submit: more than one is a matrix
	Pick      uint64        // which of the runs that are there
}

// String is the action for a person.
func (a Action) String() string {
	words := []string{string(a.Do)}
	if a.Namespace != "" {
		words = append(words, a.Namespace)
	}
	if a.Do == Submit {
		words = append(words, a.Name, fmt.Sprintf("%d GPUs on %s, %s priority", a.GPUs, a.Target, a.Priority))
		if a.Points > 1 {
			words = append(words, fmt.Sprintf("%d points", a.Points))
		}
	}
	if a.For != 0 {
		words = append(words, "for", a.For.String())
	}
	return strings.Join(words, " ")
}

// Priorities are those of runs, the first one the highest.
func Priorities() []string { return []string{"soak-high", "soak-low"} }

// Plan is what happens in a time: what people do and what breaks, which go beside each other. One seed is one plan.
func Plan(seed uint64, length time.Duration, namespaces, targets []string) (people, faults []Action) {
	p := newPlanner(seed, namespaces, targets)
	for at := p.upTo(2 * time.Second); at < length; at += 2*time.Second + p.upTo(10*time.Second) {
		people = append(people, p.person(at))
	}
	var deck []Act
	for at := 20*time.Second + p.upTo(10*time.Second); at < length; at += 10*time.Second + p.upTo(20*time.Second) {
		if len(deck) == 0 {
			deck = p.deck()
		}
		faults = append(faults, p.fault(at, deck[0]))
		deck = deck[1:]
	}
	return people, faults
}

// names is how many names runs have: who needs a thirteenth takes the first one again.
const names = 12

// planner draws.
type planner struct {
	*rand.Rand
	namespaces, targets []string
	shapes              [names]Action  // of the runs of a name
	submitted           map[string]int // by namespace
}

func newPlanner(seed uint64, namespaces, targets []string) *planner {
	p := &planner{
		Rand: rand.New(rand.NewPCG(seed, 0)), namespaces: namespaces, targets: targets, submitted: map[string]int{},
	}
	for i := range p.shapes {
		a := Action{
			Do: Submit, Name: fmt.Sprintf("nightly-%d", i+1), Target: p.oneOf(p.targets),
			Priority: p.oneOf(Priorities()), Points: 1,
		}
		a.GPUs = []int{1, 2, 4, 4, 8}[p.IntN(5)]
		a.For = time.Duration(1+p.IntN(15)) * time.Second
		if i%6 == 5 {
			a.Points, a.GPUs = 2, 2
		}
		p.shapes[i] = a
	}
	return p
}

func (p *planner) upTo(most time.Duration) time.Duration {
	return time.Duration(p.Int64N(int64(most))).Round(100 * time.Millisecond)
}

func (p *planner) oneOf(of []string) string { return of[p.IntN(len(of))] }

// person submits about two times of three, and else ends a run in one of the ways.
func (p *planner) person(at time.Duration) Action {
	a := Action{At: at, Pick: p.Uint64()}
	switch p.IntN(18) {
	case 0, 1:
		a.Do = Cancel
	case 2, 3:
		a.Do = Abort
	case 4, 5:
		a.Do = Delete
	case 6:
		a.Do = Release
	default:
		namespace := p.oneOf(p.namespaces)
		a = p.shapes[p.submitted[namespace]%names]
		a.At, a.Namespace = at, namespace
		p.submitted[namespace]++
	}
	return a
}

// deck is every fault once, those that tell most more often, in an order of chance.
func (p *planner) deck() []Act {
	deck := []Act{
		KillLeader, KillLeader, PauseLeader, PauseLeader, SkewLeader, KillTekton, PauseManager, KillServer, KillStore,
		LoseNamespace, LoseNamespace,
	}
	if len(p.targets) > 1 {
		deck = append(deck, KillWorker, CutWorker, CutWorker, LoseTarget)
	}
	p.Shuffle(len(deck), func(i, k int) { deck[i], deck[k] = deck[k], deck[i] })
	return deck
}

func (p *planner) fault(at time.Duration, do Act) Action {
	a := Action{At: at, Do: do, Pick: p.Uint64()}
	switch do {
	case PauseLeader:
		a.For = time.Duration(10+p.IntN(15)) * time.Second
	case SkewLeader:
		a.For = time.Duration(p.IntN(41)-20) * time.Minute
	case PauseManager:
		a.For = time.Duration(10+p.IntN(20)) * time.Second
	case CutWorker:
		a.For = time.Duration(5+p.IntN(85)) * time.Second
	case LoseTarget:
		a.For = time.Duration(5+p.IntN(30)) * time.Second
	case LoseNamespace:
		a.Namespace = p.oneOf(p.namespaces)
	}
	return a
}
