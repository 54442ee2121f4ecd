package soak

import (
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// Verb is what an event tells of its object.
type Verb string

// Verbs.
const (
	Seen Verb = "seen" // it is there, and it is like this
	Gone Verb = "gone" // it is not there any more; this is how it was last
	Upto Verb = "upto" // whatever happened to objects of its kind until the revision has been told
	Mark Verb = "mark" // the release of its run, on the hub, came before the revision, of the target's cluster
	Cut  Verb = "cut"  // its cluster is off the network
	Back Verb = "back" // its cluster is on the network again
)

// Kinds of objects that are judged.
const (
	PipelineRun = "PipelineRun"
	TaskRun     = "TaskRun"
	Workload    = "Workload"
	Flavor      = "ResourceFlavor"
	Pod         = "Pod"
	Deployment  = "Deployment"
	Job         = "Job"
)

// Event is what was told of an object.
type Event struct {
	At       time.Time `json:"at"` // when it was told
	Cluster  string    `json:"cluster"`
	Verb     Verb      `json:"verb"`
	Revision int64     `json:"revision,omitempty"` // of the store of the cluster, which counts every change of anything
	Object
}

// Object is what is judged of an object.
type Object struct {
	Kind        string            `json:"kind,omitempty"`
	Namespace   string            `json:"namespace,omitempty"`
	Name        string            `json:"name,omitempty"`
	UID         string            `json:"uid,omitempty"`
	Created     time.Time         `json:"created,omitzero"` // by the API server, in whole seconds
	Deleting    bool              `json:"deleting,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`      // of bflow and Tekton
	Annotations map[string]string `json:"annotations,omitempty"` // of bflow
	Owner       string            `json:"owner,omitempty"`       // UID of the one that manages it
	// how it has ended: the phase of a pod, the reason of a PipelineRun
	Done  string `json:"done,omitempty"`
	Node  string `json:"node,omitempty"`  // of a pod
	GPUs  int64  `json:"gpus,omitempty"`  // that a pod asks for
	Holds bool   `json:"holds,omitempty"` // of a Workload: it holds quota
}

// String is the object for a person.
func (o Object) String() string {
	if o.Namespace == "" {
		return o.Kind + " " + o.Name
	}
	return o.Kind + " " + o.Namespace + "/" + o.Name
}

// stamp is a time for a person.
func stamp(t time.Time) string { return t.UTC().Format("15:04:05.000") }

// Write appends events to a log, one a line.
func Write(w io.Writer, events ...Event) error {
	lines := json.NewEncoder(w)
	for _, e := range events {
		if err := lines.Encode(e); err != nil {
			return fmt.Errorf("writing an event of %s: %w", e.Object, err)
		}
	}
	return nil
}

// Read returns the events of a log.
func Read(r io.Reader) (events []Event, err error) {
	for lines := json.NewDecoder(r); lines.More(); {
		var e Event
		if err := lines.Decode(&e); err != nil {
			return events, fmt.Errorf("reading event %d of a log: %w", len(events)+1, err)
		}
		events = append(events, e)
	}
	return events, nil
}
