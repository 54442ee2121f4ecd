package spec

// Versions of the format, and its kinds.
const (
	APIVersion      = "benchflow.io/v1alpha1"
	APIVersionAlias = "bflow.dev/v1alpha1"

	KindExperiment = "Experiment"
	KindDeployment = "DeploymentProfile"
	KindBenchmark  = "BenchmarkProfile"
	KindMetrics    = "MetricsProfile"
	KindRunPlan    = "RunPlan"
)

// Metadata names an object.
type Metadata struct {
	Name   string            `json:"name" req:"true" doc:"name of the object; any text"`
	Labels map[string]string `json:"labels,omitempty" keys:"labelkey" is:"labelvalue" doc:"labels for every object created from it"`
}

// Experiment is the file a person writes.
type Experiment struct {
	Doc        `json:"-"`
	APIVersion string         `json:"apiVersion" doc:"version of the format"`
	Kind       string         `json:"kind" doc:"Experiment"`
	Metadata   Metadata       `json:"metadata" req:"true" doc:"name and labels"`
	Spec       ExperimentSpec `json:"spec" req:"true" doc:"what to measure, and where"`
}

// DeploymentProfile says how a model server is deployed.
type DeploymentProfile struct {
	Doc        `json:"-"`
	APIVersion string         `json:"apiVersion" doc:"version of the format"`
	Kind       string         `json:"kind" doc:"DeploymentProfile"`
	Metadata   Metadata       `json:"metadata" req:"true" doc:"name and labels"`
	Spec       DeploymentSpec `json:"spec" req:"true" doc:"how the model server is deployed"`
}

// BenchmarkProfile says what load is put on it.
type BenchmarkProfile struct {
	Doc        `json:"-"`
	APIVersion string        `json:"apiVersion" doc:"version of the format"`
	Kind       string        `json:"kind" doc:"BenchmarkProfile"`
	Metadata   Metadata      `json:"metadata" req:"true" doc:"name and labels"`
	Spec       BenchmarkSpec `json:"spec" req:"true" doc:"the load on the server"`
}

// MetricsProfile says what Prometheus is asked afterwards.
type MetricsProfile struct {
	Doc        `json:"-"`
	APIVersion string      `json:"apiVersion" doc:"version of the format"`
	Kind       string      `json:"kind" doc:"MetricsProfile"`
	Metadata   Metadata    `json:"metadata" req:"true" doc:"name and labels"`
	Spec       MetricsSpec `json:"spec" req:"true" doc:"Prometheus queries to run after the load"`
}
