package soak

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"bflow.dev/bflow/runplan/contract"
)

// Hub is the cluster of that name in events; every other one is the target of its name.
const Hub = "hub"

// Judge knows all that was told, and finds what must not be.
type Judge struct {
	gpus  map[string]int64 // that there are, by cluster
	lives map[string]*life // by cluster and UID
	pods  map[string]map[string]*life
	upto  map[stream]Event
	later []question
	cut   map[string]*Event            // clusters that are off the network
	dirty map[string]map[string]*Event // by target, namespace/run: when it was first named there
	tasks map[string]*life             // by owner and task
	// orphans are TaskRuns that were made after the end of their matrix, by UID: the sentence about each.
	orphans map[string]string
	runs    map[string][]*life // attempts, by namespace/run
	asks    []Object
	wrong   []string
	checks  int
}

// stream is what one watch tells.
type stream struct{ cluster, kind string }

// question is one that can be answered once streams have told everything until a revision, or for long enough.
type question struct {
	cluster  string
	revision int64
	after    time.Time // where nothing else compares two clusters
	kinds    []string
	answer   func() string // what is wrong
}

// New is a judge of clusters with so many GPUs each.
func New(gpus map[string]int64) *Judge {
	return &Judge{gpus: gpus, lives: map[string]*life{}, pods: map[string]map[string]*life{}, upto: map[stream]Event{},
		cut:   map[string]*Event{},
		dirty: map[string]map[string]*Event{}, tasks: map[string]*life{}, orphans: map[string]string{},
		runs: map[string][]*life{}}
}

// Wrong returns what must not be, as sentences, in the order in which it was found.
func (j *Judge) Wrong() []string { return slices.Clone(j.wrong) }

// See takes events that were told at once: one of a watch, or all that a list has shown to be different.
func (j *Judge) See(events ...Event) {
	clusters := map[string]bool{}
	for i := range events {
		e := &events[i]
		j.take(e)
		if e.Kind == Pod {
			clusters[e.Cluster] = true
		}
	}
	for _, e := range events { // all of them first: a list says several things of one revision
		at := stream{e.Cluster, e.Kind}
		if was := j.upto[at]; e.Verb != Mark && (e.Revision > was.Revision || e.At.After(was.At)) {
			e.Revision = max(e.Revision, was.Revision)
			j.upto[at] = e
		}
	}
	for _, cluster := range slices.Sorted(maps.Keys(clusters)) {
		j.note(j.enough(cluster, events[len(events)-1].At))
	}
	j.settle(false)
}

// End answers the questions that are open, when every stream has told what there was, and says what has not ended.
func (j *Judge) End() {
	j.settle(true)
	for _, l := range j.Open() {
		j.note(fmt.Sprintf("%s, made at %s, has not ended", l, stamp(l.Created)))
	}
	for _, l := range j.inOrder(j.isLeft) {
		j.note(j.orphans[l.UID] + ", which nobody deletes")
	}
}

// Open are the runs and matrices that are there and not over: not done, let start and not released, or to be tried
// again.
func (j *Judge) Open() (open []Object) {
	for _, l := range j.inOrder(func(l *life) bool { return l.Kind == PipelineRun && l.gone == nil }) {
		if l.done == nil || l.admitted != nil && l.released == nil || l.deleting != nil || l.again() {
			open = append(open, l.Object)
		}
	}
	return open
}

// Asks returns, once each, the runs that were released on other targets than the hub: the judge wants a Mark of each.
func (j *Judge) Asks() []Object {
	asks := j.asks
	j.asks = nil
	return asks
}

// take learns what an event tells.
func (j *Judge) take(e *Event) {
	switch e.Verb {
	case Cut:
		j.cut[e.Cluster] = e
	case Back:
		delete(j.cut, e.Cluster)
	case Mark:
		if l := j.lives[Hub+" "+e.UID]; l != nil {
			j.emptied(l, e.Cluster, e.Revision)
		}
	case Seen, Gone:
		key := e.Cluster + " " + e.UID
		l, known := j.lives[key]
		if !known {
			if e.Verb == Gone {
				return
			}
			l = &life{cluster: e.Cluster, number: len(j.lives)}
			j.lives[key] = l
		}
		was := *l
		l.learn(e)
		j.changed(was, l, e)
	}
}

// changed applies the rules of a kind to an object that has changed.
func (j *Judge) changed(was life, l *life, e *Event) {
	if was.first == nil && l.served() {
		j.wanted(l)
	}
	switch l.Kind {
	case Pod:
		if was.first == nil {
			if j.pods[l.cluster] == nil {
				j.pods[l.cluster] = map[string]*life{}
			}
			j.pods[l.cluster][l.UID] = l
			j.note(j.single(l))
		}
		if !l.alive() {
			delete(j.pods[l.cluster], l.UID)
		}
		j.note(j.idle(l))
	case TaskRun:
		if was.first == nil {
			j.once(l)
		}
	case Flavor:
		if j.dirty[l.Name] == nil {
			j.dirty[l.Name] = map[string]*Event{}
		}
		for _, entry := range l.marks() {
			if j.dirty[l.Name][entry] == nil {
				j.dirty[l.Name][entry] = e
			}
		}
	case Workload:
		if was.Holds && (!l.Holds || l.gone != nil) && was.gone == nil {
			j.kept(l, e)
		}
	case PipelineRun:
		if l.isRun() {
			j.run(was, l)
		}
	}
}

// note keeps a sentence, unless it is none.
func (j *Judge) note(sentence string) {
	j.checks++
	if sentence != "" && !slices.Contains(j.wrong, sentence) {
		j.wrong = append(j.wrong, sentence)
	}
}

// ask has a question answered as soon as that is possible.
func (j *Judge) ask(q question) { j.later = append(j.later, q) }

// settle answers the questions that can be answered, or all. An answer may be a further question.
func (j *Judge) settle(all bool) {
	for again := true; again; {
		questions := j.later
		j.later, again = nil, false
		for _, q := range questions {
			if !all && !j.isAnswerable(q) {
				j.later = append(j.later, q)
				continue
			}
			again = true
			j.note(q.answer())
		}
	}
}

// isAnswerable says whether a question can be answered.
func (j *Judge) isAnswerable(q question) bool {
	return !slices.ContainsFunc(q.kinds, func(kind string) bool {
		upto := j.upto[stream{q.cluster, kind}]
		return upto.Revision < q.revision || upto.At.Before(q.after)
	})
}

func (j *Judge) inOrder(which func(*life) bool) (found []*life) {
	for _, l := range j.lives {
		if which(l) {
			found = append(found, l)
		}
	}
	slices.SortFunc(found, func(a, b *life) int { return a.number - b.number })
	return found
}

// listed is objects and the times at which they were first told of, in one sentence.
func listed(all []*life) string {
	var words []string
	for _, l := range all {
		words = append(words, fmt.Sprintf("%s (%d GPUs, run %s, attempt %d, since %s)",
			l, l.GPUs, l.Labels[contract.LabelRun], l.attempt(), stamp(l.first.At)))
	}
	return strings.Join(words, ", ")
}
