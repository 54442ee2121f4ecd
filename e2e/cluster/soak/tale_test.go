package soak

import (
	"maps"
	"strings"
	"time"

	"github.com/tektoncd/pipeline/pkg/apis/pipeline"

	"bflow.dev/bflow/runplan/contract"
)

// tale is what was told, an event a second.
type tale struct {
	events []Event
	last   map[string]Object
}

func newTale() *tale { return &tale{last: map[string]Object{}} }

// tell adds an event of an object; its UID is its name unless it has one.
func (t *tale) tell(cluster string, verb Verb, o Object) *tale {
	if o.UID == "" {
		o.UID = o.String()
	}
	n := len(t.events) + 1
	at := time.Unix(int64(n), 0).UTC()
	if was, ok := t.last[cluster+o.UID]; ok {
		o.Created = was.Created
	} else {
		o.Created = at
	}
	t.last[cluster+o.UID] = o
	t.events = append(t.events, Event{At: at, Cluster: cluster, Verb: verb, Revision: int64(n), Object: o})
	return t
}

func (t *tale) list(objects ...Object) *tale {
	for _, o := range objects {
		t.tell(Hub, Seen, o)
	}
	return t
}

func (t *tale) gone(o Object) *tale { return t.tell(Hub, Gone, o) }

func (t *tale) there(verb Verb, objects ...Object) *tale {
	for _, o := range objects {
		t.tell("worker", verb, o)
	}
	return t
}

// mark is the answer to what the judge asks of a run on the worker.
func (t *tale) mark(o Object) *tale {
	o.UID = o.String()
	return t.tell("worker", Mark, Object{UID: o.UID})
}

// later lets so many seconds pass, in which nothing happens.
func (t *tale) later(seconds int) *tale {
	for range seconds {
		t.tell(Hub, Upto, Object{Kind: TaskRun, UID: "-"})
	}
	return t
}

// Objects of the rows. All runs are of namespace a.
func aRun(name string, annotations ...string) Object {
	o := Object{
		Kind: PipelineRun, Namespace: "a", Name: name, Labels: map[string]string{contract.LabelPlanHash: "h",
			contract.LabelRun: name}, Annotations: map[string]string{},
	}
	for i := 0; i < len(annotations); i += 2 {
		o.Annotations[annotations[i]] = annotations[i+1]
	}
	return o
}

func started(name, target string) Object {
	return aRun(name, contract.AnnotationAdmitted, "t0", contract.AnnotationAdmittedTo, target)
}

func (o Object) and(key, value string) Object {
	o.Annotations = maps.Clone(o.Annotations)
	o.Annotations[key] = value
	return o
}

func (o Object) as(key, value string) Object {
	o.Labels = maps.Clone(o.Labels)
	o.Labels[key] = value
	return o
}

func (o Object) withEnd(reason string) Object { o.Done = reason; return o }

func (o Object) ends() Object { o.Deleting = true; return o }

func released(name, target string) Object {
	return started(name, target).and(contract.AnnotationReleased, "t1").withEnd("Succeeded")
}

func engine(name, of string, gpus int64) Object {
	return Object{
		Kind: Pod, Namespace: "a", Name: name, GPUs: gpus,
		Labels: map[string]string{contract.LabelRun: of, contract.LabelRelease: "r", contract.LabelAttempt: "1"},
	}
}

func deployment(name, of string) Object {
	o := engine(name, of, 0)
	o.Kind = Deployment
	return o
}

func taskRun(name, task, owner string) Object {
	return Object{
		Kind: TaskRun, Namespace: "a", Name: name, Owner: owner,
		Labels: map[string]string{pipeline.PipelineTaskLabelKey: task},
	}
}

func aMatrix(uid string) Object {
	return Object{Kind: PipelineRun, Namespace: "a", Name: "nightly", UID: uid, Done: "True",
		Labels: map[string]string{contract.LabelRole: contract.RoleMatrix}}
}

// again is task begin of a matrix that was started once more, under its old name.
func again(name, owner string) Object {
	o := taskRun(name, "begin", owner)
	o.UID = "again-" + name
	return o
}

func podOf(t Object) Object {
	return Object{Kind: Pod, Namespace: t.Namespace, Name: t.Name + "-pod", Owner: t.UID, Labels: t.Labels}
}

func taskPod(name, task, of string) Object {
	return Object{Kind: Pod, Namespace: "a", Name: name, Owner: "taskrun-" + name, Labels: map[string]string{
		contract.LabelRun: of, pipeline.PipelineTaskLabelKey: task, pipeline.TaskRunLabelKey: name,
	}}
}

func flavor(target string, dirty ...string) Object {
	return Object{
		Kind: Flavor, Name: target, Annotations: map[string]string{contract.AnnotationDirty: strings.Join(dirty, ",")},
	}
}

func workload(of Object, holds bool) Object {
	return Object{Kind: Workload, Namespace: "a", Name: "pipelinerun-" + of.Name, Owner: of.String(), Holds: holds}
}
