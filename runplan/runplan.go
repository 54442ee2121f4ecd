// Package runplan defines the RunPlan: one fully resolved point of an experiment, as every task reads it. It contains
// only types, decoding and identity: nothing here resolves anything, and it does not know the experiment file.
package runplan

import "slices"

// Version and kind of the document.
const (
	APIVersion = "benchflow.io/v1alpha1"
	Kind       = "RunPlan"

	apiVersionAlias = "bflow.dev/v1alpha1"
)

// RunPlan is one point, with nothing left to look up. It never holds a credential, only names of Secrets.
type RunPlan struct {
	APIVersion   string            `json:"apiVersion"`
	Kind         string            `json:"kind"`
	Name         string            `json:"name"`             // name of the point, a valid RFC 1123 label
	Hash         string            `json:"hash,omitempty"`   // hex sha256 over what is measured; see Identify
	Digest       string            `json:"digest,omitempty"` // hex sha256 over the document without this field
	Experiment   string            `json:"experiment"`       // metadata.name as written
	Index        int               `json:"index"`            // place in the matrix, from 1
	Repeat       int               `json:"repeat,omitempty"` // copy of the point, from 1; 0 without matrix.repeat
	Axes         []AxisValue       `json:"axes,omitempty"`   // what tells this point from its siblings, in axis order
	Deployment   Deployment        `json:"deployment"`
	Measurements []Measurement     `json:"measurements"`
	SLO          *SLO              `json:"slo,omitempty"`
	Metrics      *Metrics          `json:"metrics,omitempty"`
	Sinks        Sinks             `json:"sinks"`
	Target       Target            `json:"target"`
	Queue        Queue             `json:"queue"`
	Timeouts     Timeouts          `json:"timeouts"`
	Images       map[string]string `json:"images,omitempty"` // task binary -> image reference, with digest where pinned
	Pins         *Pins             `json:"pins,omitempty"`
	Labels       map[string]string `json:"labels,omitempty"` // metadata.labels of the experiment
	Execution    Execution         `json:"execution"`
}

// AxisValue is one coordinate of a point: the dotted path below spec and the value it has here.
type AxisValue struct {
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// Execution holds the rules for carrying a plan out that do not change what is measured.
type Execution struct {
	VerifyCompletions bool   `json:"verifyCompletions"`
	OnInvalid         string `json:"onInvalid,omitempty"` // mark (default), fail, retry
	// how long the ended run stays on its cluster; nil = as the cluster has it
	TTLSeconds *int64 `json:"ttlSeconds,omitempty"`
	// how long the model server stays after the run that does not remove it; 0 = it is removed, or was there before
	KeepFor     Duration   `json:"keepFor,omitempty"`
	Phases      Phases     `json:"phases"`
	Profiling   *Profiling `json:"profiling,omitempty"`
	FailFast    bool       `json:"failFast,omitempty"`
	MaxParallel int        `json:"maxParallel,omitempty"`
}

// What an invalid measurement does to the run: Execution.OnInvalid.
const (
	InvalidMark  = "mark"  // it is marked
	InvalidFail  = "fail"  // and the exit code says so
	InvalidRetry = "retry" // it is measured again, and fails when it stays invalid
)

// Phases says which parts of a run happen.
type Phases struct {
	Download  bool `json:"download"`
	Deploy    bool `json:"deploy"`
	Benchmark bool `json:"benchmark"`
	Collect   bool `json:"collect"` // Prometheus queries; the report is always made
	Cleanup   bool `json:"cleanup"`
}

// Profiling is the worker profiler of platform rhoai.
type Profiling struct {
	CallRanges  string `json:"callRanges"`
	IdleSeconds int    `json:"idleSeconds,omitempty"`
}

// Metrics is what collect asks Prometheus for over the load window, placeholders already replaced except
// those that depend on the run ($release).
type Metrics struct {
	Profile       string            `json:"profile"`
	PrometheusURL string            `json:"prometheusURL"`
	QueryStep     Duration          `json:"queryStep"`
	QueryTimeout  Duration          `json:"queryTimeout"`
	VerifyTLS     bool              `json:"verifyTLS"`
	Queries       map[string]string `json:"queries"`
}

// Sinks are the places results go to besides the run directory.
type Sinks struct {
	MLflow MLflow `json:"mlflow"`
}

// MLflow names the experiment; the tracking URI and credentials come from the environment of the task.
type MLflow struct {
	Experiment string            `json:"experiment"`
	Version    string            `json:"version,omitempty"`
	Tags       map[string]string `json:"tags,omitempty"`
}

// Target is the cluster where the model servers run.
type Target struct {
	// "local" = the cluster of the run itself; "any" = one of several
	Name             string            `json:"name"`
	AnyOf            []string          `json:"anyOf,omitempty"`    // targets that the run may go to, by name
	Selector         map[string]string `json:"selector,omitempty"` // and by the labels of targets
	Namespace        string            `json:"namespace"`
	ServiceAccount   string            `json:"serviceAccount"`
	KubeconfigSecret string            `json:"kubeconfigSecret,omitempty"`
	HostAliases      map[string]string `json:"hostAliases,omitempty"` // host name -> IP
}

// On is the plan of a run that was let start on a target: where the plan leaves that open, its name is put in. The plan
// itself, and its digest, stay as they are.
func (p *RunPlan) On(target string) *RunPlan {
	if target == "" || !p.Target.Open() {
		return p
	}
	placed := *p
	placed.Target.Name = target
	return &placed
}

// Open says whether the plan leaves its target to the controller.
func (t Target) Open() bool { return len(t.AnyOf) > 0 || len(t.Selector) > 0 }

// Queue is what the run asks of Kueue.
type Queue struct {
	Name      string            `json:"name"`
	Requests  map[string]string `json:"requests"` // resource -> quantity
	Priority  string            `json:"priority,omitempty"`
	Isolation string            `json:"isolation"` // shared or exclusive
	SetupKey  string            `json:"setupKey,omitempty"`
}

// Timeouts are computed from the plan, never constants: see generator/plan.
type Timeouts struct {
	Pipeline Duration `json:"pipeline"`
	Tasks    Duration `json:"tasks"`
	Finally  Duration `json:"finally"`
	Ready    Duration `json:"ready"` // until the right model answers
	// per pipeline task, keyed by task name (load-gen: "load-gen-<n>")
	Task        map[string]Duration `json:"task"`
	Measurement []Duration          `json:"measurements"` // expected length of each measurement, all samples
}

// Pins records the immutable names that were asked for and used.
type Pins struct {
	Images         map[string]string `json:"images,omitempty"`
	ModelRevisions map[string]string `json:"modelRevisions,omitempty"`
	Repos          map[string]string `json:"repos,omitempty"`
	Datasets       map[string]string `json:"datasets,omitempty"`
	Require        string            `json:"require,omitempty"` // none, warn, all
}

// Triton says whether the server under test may speak Triton's own protocol alone, which has no list of models.
func (p *RunPlan) Triton() bool {
	return p.Deployment.Engine.Kind == "triton" ||
		slices.ContainsFunc(p.Measurements, func(m Measurement) bool { return m.API.Type == APITriton })
}
