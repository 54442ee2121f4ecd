package spec

import "time"

// ExperimentSpec is the body of an Experiment. `default` tags are filled in by the loader; `implied` ones are
// resolved later, because a profile or the platform may say otherwise.
type ExperimentSpec struct {
	Model             Model        `json:"model" req:"true" doc:"the model under test"`
	DeploymentProfile Axis[string] `json:"deployment_profile,omitempty" req:"true" doc:"DeploymentProfile by name; needed even for an existing endpoint"`
	BenchmarkProfile  Axis[string] `json:"benchmark_profile,omitempty" doc:"BenchmarkProfile by name; optional when load is given"`
	MetricsProfile    Axis[string] `json:"metrics_profile,omitempty" default:"detailed" doc:"MetricsProfile by name: what is queried afterwards"`
	Namespace         string       `json:"namespace,omitempty" is:"label" implied:"benchflow" doc:"namespace where everything runs; beats the profile's"`
	ServiceAccount    string       `json:"service_account,omitempty" is:"subdomain" implied:"benchflow-runner" doc:"account of the pipeline pods, not of the model pods; on a cluster one that is marked for runs"`
	TTLSeconds        *int64       `json:"ttl_seconds_after_finished,omitempty" min:"0" implied:"what bflow bootstrap was told to keep" unit:"s" doc:"how long a finished run stays on its cluster, at least until its results are fetched or pushed"`
	Stages            Phases       `json:"stages,omitempty" doc:"which phases run"`
	MLflow            MLflow       `json:"mlflow,omitempty" doc:"where results are tracked"`
	Execution         Execution    `json:"execution,omitempty" doc:"how the run is carried out"`
	Target            Target       `json:"target,omitempty" doc:"an existing endpoint, or the scope of the deployed one"`
	TargetCluster     Cluster      `json:"target_cluster,omitempty" doc:"the remote cluster where model servers run"`
	Overrides         Overrides    `json:"overrides,omitempty" doc:"values that beat the profiles"`
	// ModelOverrides is applied once a point has one model; lists on axes are refused there.
	ModelOverrides map[string]Overrides `json:"model_overrides,omitempty" doc:"overrides per model name, without lists on axes"`

	Matrix         Matrix      `json:"matrix,omitempty" doc:"more axes, and how points run"`
	SLO            *SLO        `json:"slo,omitempty" doc:"objectives, judged per measured stage"`
	Load           *LoadBlock  `json:"load,omitempty" doc:"native load block: replaces the profile's tool block"`
	ToolRunner     string      `json:"tool_runner,omitempty" default:"auto" enum:"auto|native|external" doc:"who makes the load: load-gen, or in local runs the real tool; auto = load-gen, unless tool_venv names the tool that a word needs"`
	ToolVenv       string      `json:"tool_venv,omitempty" implied:"the tool on PATH" doc:"virtual environment of the real tool on this host, for local runs; beats the profile's"`
	Engine         *Engine     `json:"engine,omitempty" doc:"the server under test; merged over the profile's engine by key"`
	TargetClusters []ClusterAt `json:"target_clusters,omitempty" doc:"one more axis, slowest of all: the clusters to run on"`
	Queue          *Queue      `json:"queue,omitempty" doc:"what the run asks of its queue"`
	Pins           *Pins       `json:"pins,omitempty" doc:"immutable names of what is used"`
}

// Model names what is served.
type Model struct {
	Name Axis[string] `json:"name" req:"true" is:"model" doc:"Hugging Face id; also served model name, model folder and key into model_overrides"`
}

// Phases says which parts of a run happen.
type Phases struct {
	Download  bool `json:"download" default:"true" doc:"fetch the model files"`
	Deploy    bool `json:"deploy" default:"true" doc:"start the model server"`
	Benchmark bool `json:"benchmark" default:"true" doc:"put load on it"`
	Collect   bool `json:"collect" default:"true" doc:"query metrics afterwards"`
	Cleanup   bool `json:"cleanup" default:"true" doc:"remove the model server"`
}

// MLflow says where results are tracked.
type MLflow struct {
	Experiment string            `json:"experiment,omitempty" implied:"<model>-<benchmark profile>" doc:"name of the MLflow experiment"`
	Version    string            `json:"version,omitempty" implied:"by platform" doc:"free label of the software under test"`
	Tags       map[string]string `json:"tags,omitempty" keys:"tag" doc:"tags of the MLflow run; accelerator also selects the llm-d image family"`
}

// Execution says how a run is carried out.
type Execution struct {
	Timeout           time.Duration `json:"timeout,omitempty" default:"3h" doc:"limit of the whole run"`
	VerifyCompletions bool          `json:"verify_completions" default:"true" doc:"send a real completion before the load"`
	Profiling         *Profiling    `json:"profiling,omitempty" doc:"worker profiler, platform rhoai only"`
	ShareDeployment   bool          `json:"share_deployment,omitempty" default:"false" doc:"points that differ only in their measurement share one deployment"`
	Samples           int           `json:"samples,omitempty" default:"1" min:"1" max:"1000" doc:"repetitions on the same deployment"`
	SamplePause       time.Duration `json:"sample_pause,omitempty" zero:"true" doc:"pause between samples, outside every window"`
	OnInvalid         string        `json:"on_invalid,omitempty" default:"mark" enum:"mark|fail|retry" doc:"what an invalid measurement does to the run"`
}

// Profiling captures ranges of execute_model calls per process.
type Profiling struct {
	Enabled     bool   `json:"enabled,omitempty" default:"false" doc:"switch it on"`
	CallRanges  string `json:"call_ranges,omitempty" alias:"profiling_ranges" implied:"100-150" doc:"comma list of a-b in execute_model calls; with idle_seconds one count"`
	IdleSeconds int    `json:"idle_seconds,omitempty" min:"1" unit:"s" doc:"a capture starts on the first call after such a gap"`
}

// Target is an existing endpoint when BaseURL is set.
type Target struct {
	BaseURL        string `json:"base_url,omitempty" secret:"true" is:"url" doc:"URL of an existing endpoint: nothing is downloaded, deployed or cleaned up"`
	Path           string `json:"path,omitempty" is:"abspath" implied:"/v1/models" doc:"readiness path of the endpoint"`
	MetricsRelease string `json:"metrics_release_name,omitempty" doc:"release used in metric queries; without it nothing is collected"`
	EndpointScope  string `json:"endpoint_scope,omitempty" enum:"external|internal" doc:"which URL of a deployed server is used; beats the profile's"`
}

// Cluster is a remote cluster, or several of which the controller chooses one.
type Cluster struct {
	AnyOf            []string          `json:"any_of,omitempty" is:"subdomain" doc:"names of targets of the hub; the run goes to one of them: where its weights are, else where the fewest wait"`
	Selector         map[string]string `json:"selector,omitempty" keys:"labelkey" is:"labelvalue" doc:"the same, by the labels of targets (bflow target add --label)"`
	KubeconfigSecret string            `json:"kubeconfig_secret,omitempty" is:"secret" doc:"Secret in the namespace with key kubeconfig; also the queue's name"`
	Kubeconfig       string            `json:"kubeconfig,omitempty" doc:"path of a kubeconfig file, for local commands only"`
	HostAliases      map[string]string `json:"host_aliases,omitempty" keys:"host" is:"ip" doc:"host name to IP, for pods"`
}

// ClusterAt is one value of the axis target_clusters; a bare word is its name.
type ClusterAt struct {
	Name             string            `json:"name" req:"true" is:"subdomain" doc:"name of the target; local = the own cluster"`
	KubeconfigSecret string            `json:"kubeconfig_secret,omitempty" is:"secret" implied:"the name" doc:"Secret with key kubeconfig"`
	Namespace        string            `json:"namespace,omitempty" is:"label" doc:"namespace there"`
	HostAliases      map[string]string `json:"host_aliases,omitempty" keys:"host" is:"ip" doc:"host name to IP, for pods"`
	Queue            string            `json:"queue,omitempty" is:"subdomain" doc:"queue of this target"`
}

func (ClusterAt) shorthand() string { return "name" }
