package spec

import (
	"time"

	"bflow.dev/bflow/load"
)

// ExperimentSpec is the body of an Experiment. `default` tags are filled in by the loader; `implied` ones are
// resolved later, because a profile or the platform may say otherwise.
type ExperimentSpec struct {
	Model             Model        `json:"model" req:"true" doc:"the model under test"`
	DeploymentProfile Axis[string] `json:"deployment_profile,omitempty" req:"true" doc:"name of a DeploymentProfile; required even for an existing endpoint"`
	BenchmarkProfile  Axis[string] `json:"benchmark_profile,omitempty" doc:"name of a BenchmarkProfile; optional if load is given"`
	MetricsProfile    Axis[string] `json:"metrics_profile,omitempty" default:"detailed" doc:"name of a MetricsProfile with the queries to run after the load"`
	Namespace         string       `json:"namespace,omitempty" is:"label" implied:"benchflow" doc:"namespace of all objects; overrides the profile's"`
	ServiceAccount    string       `json:"service_account,omitempty" is:"subdomain" implied:"bflow-runner" doc:"service account of the pipeline pods, not of the model pods; on a cluster it must be labelled for runs"`
	TTLSeconds        *int64       `json:"ttl_seconds_after_finished,omitempty" min:"0" implied:"--keep-runs of bflow bootstrap" unit:"s" doc:"how long to keep a finished run on its cluster; it is kept at least until its results are fetched or pushed"`
	Stages            Phases       `json:"stages,omitempty" doc:"phases to run"`
	MLflow            MLflow       `json:"mlflow,omitempty" doc:"where to track results"`
	Execution         Execution    `json:"execution,omitempty" doc:"how to execute the run"`
	Target            Target       `json:"target,omitempty" doc:"an existing endpoint, or which URL of the deployed server to use"`
	TargetCluster     Cluster      `json:"target_cluster,omitempty" doc:"remote cluster where model servers run"`
	Overrides         Overrides    `json:"overrides,omitempty" doc:"values that override the profiles"`
	// ModelOverrides is applied once a point has one model; lists on axes are refused there.
	ModelOverrides map[string]Overrides `json:"model_overrides,omitempty" doc:"overrides by model name; lists do not make axes here"`

	Matrix         Matrix            `json:"matrix,omitempty" doc:"additional axes, and how to run the points"`
	SLO            *SLO              `json:"slo,omitempty" doc:"service level objectives, judged for each measured stage"`
	Load           *load.NativeBlock `json:"load,omitempty" doc:"native load; replaces the profile's tool block"`
	ToolRunner     string            `json:"tool_runner,omitempty" default:"auto" enum:"auto|native|external" doc:"load generator: load-gen (native) or, in local runs, the original tool (external); auto = load-gen, unless tool_venv is set and the tool has an option that load-gen does not support"`
	ToolVenv       string            `json:"tool_venv,omitempty" implied:"the tool on PATH" doc:"virtual environment of the original tool on this machine, for local runs; overrides the profile's"`
	Engine         *Engine           `json:"engine,omitempty" doc:"server under test; its keys override those of the profile's engine"`
	TargetClusters []ClusterAt       `json:"target_clusters,omitempty" doc:"clusters to run on, as one more axis, which varies slowest"`
	Queue          *Queue            `json:"queue,omitempty" doc:"queueing of the run"`
	Pins           *Pins             `json:"pins,omitempty" doc:"immutable versions of images, models, repositories and datasets"`
}

// Model names what is served.
type Model struct {
	Name Axis[string] `json:"name" req:"true" is:"model" doc:"Hugging Face model id; also the served model name, the model folder and the key in model_overrides"`

	TokenSecret *load.SecretKey `json:"token_secret,omitempty" doc:"Secret with a token of the model hub, for a model that not everybody may download; model servers have it as HF_TOKEN"`
}

// Phases says which parts of a run happen.
type Phases struct {
	Download  bool `json:"download" default:"true" doc:"download the model files"`
	Deploy    bool `json:"deploy" default:"true" doc:"deploy the model server"`
	Benchmark bool `json:"benchmark" default:"true" doc:"run the load"`
	Collect   bool `json:"collect" default:"true" doc:"query metrics after the load"`
	Cleanup   bool `json:"cleanup" default:"true" doc:"delete the model server"`
}

// MLflow says where results are tracked.
type MLflow struct {
	Experiment string            `json:"experiment,omitempty" implied:"<model>-<benchmark profile>" doc:"name of the MLflow experiment"`
	Version    string            `json:"version,omitempty" implied:"by platform" doc:"version label of the software under test"`
	Tags       map[string]string `json:"tags,omitempty" keys:"tag" doc:"tags of the MLflow run; accelerator also selects the llm-d image family"`
}

// Execution says how a run is carried out.
type Execution struct {
	Timeout           time.Duration `json:"timeout,omitempty" default:"3h" doc:"timeout of the whole run"`
	VerifyCompletions bool          `json:"verify_completions" default:"true" doc:"send a real completion request before the load"`
	Profiling         *Profiling    `json:"profiling,omitempty" doc:"profiling of the workers; platform rhoai only"`
	ShareDeployment   bool          `json:"share_deployment,omitempty" default:"false" doc:"use one deployment for points that differ only in their measurement"`
	Samples           int           `json:"samples,omitempty" default:"1" min:"1" max:"1000" doc:"repetitions on the same deployment"`
	SamplePause       time.Duration `json:"sample_pause,omitempty" zero:"true" doc:"pause between samples, outside the measured windows"`
	KeepFor           time.Duration `json:"keep_for,omitempty" implied:"4h" doc:"with stages.cleanup: false: how long the model server stays after the run, at most as long as the cluster allows"`
	OnInvalid         string        `json:"on_invalid,omitempty" default:"mark" enum:"mark|fail|retry" doc:"what to do about an invalid measurement"`
}

// Profiling captures ranges of execute_model calls per process.
type Profiling struct {
	Enabled     bool   `json:"enabled,omitempty" default:"false" doc:"enable profiling"`
	CallRanges  string `json:"call_ranges,omitempty" alias:"profiling_ranges" implied:"100-150" doc:"ranges a-b of execute_model calls to capture, comma-separated; with idle_seconds, a single count"`
	IdleSeconds int    `json:"idle_seconds,omitempty" min:"1" unit:"s" doc:"start a capture on the first call after an idle time this long"`
}

// Target is an existing endpoint when BaseURL is set.
type Target struct {
	BaseURL        string `json:"base_url,omitempty" secret:"true" is:"url" doc:"URL of an existing endpoint; nothing is downloaded, deployed or deleted"`
	Path           string `json:"path,omitempty" is:"abspath" implied:"/v1/models" doc:"path of the readiness check"`
	MetricsRelease string `json:"metrics_release_name,omitempty" doc:"release name for metric queries; without it no metrics are collected"`
	EndpointScope  string `json:"endpoint_scope,omitempty" enum:"external|internal" doc:"which URL of a deployed server to use; overrides the profile's"`
}

// Cluster is a remote cluster, or several of which the controller chooses one.
type Cluster struct {
	AnyOf            []string          `json:"any_of,omitempty" is:"subdomain" doc:"targets of the hub to choose from: one that has the weights, otherwise the one with the fewest waiting runs"`
	Selector         map[string]string `json:"selector,omitempty" keys:"labelkey" is:"labelvalue" doc:"choose from the targets with these labels (bflow target add --label)"`
	KubeconfigSecret string            `json:"kubeconfig_secret,omitempty" is:"secret" doc:"Secret in the namespace with the key kubeconfig; also the name of the queue"`
	Kubeconfig       string            `json:"kubeconfig,omitempty" doc:"path to a kubeconfig; only for local commands"`
	HostAliases      map[string]string `json:"host_aliases,omitempty" keys:"host" is:"ip" doc:"IP addresses by host name, for pods"`
}

// ClusterAt is one value of the axis target_clusters; a bare word is its name.
type ClusterAt struct {
	Name             string            `json:"name" req:"true" is:"subdomain" doc:"name of the target; local = the hub itself"`
	KubeconfigSecret string            `json:"kubeconfig_secret,omitempty" is:"secret" implied:"the name" doc:"Secret with the key kubeconfig"`
	Namespace        string            `json:"namespace,omitempty" is:"label" doc:"namespace on the target"`
	HostAliases      map[string]string `json:"host_aliases,omitempty" keys:"host" is:"ip" doc:"IP addresses by host name, for pods"`
	Queue            string            `json:"queue,omitempty" is:"subdomain" doc:"queue of the target"`
}

// Shorthand is the field that a bare text sets.
func (ClusterAt) Shorthand() string { return "name" }
