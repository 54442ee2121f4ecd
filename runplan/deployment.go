package runplan

import (
	"encoding/json"
	"path"
	"strings"
)

// Deployment is the server under test: deployed by provision, or an existing endpoint.
type Deployment struct {
	Profile          string            `json:"profile,omitempty"`
	Platform         string            `json:"platform"`
	Mode             string            `json:"mode"`
	Model            Model             `json:"model"`
	Engine           Engine            `json:"engine"`
	Endpoint         *Endpoint         `json:"endpoint,omitempty"` // set = nothing is deployed
	EndpointPath     string            `json:"endpointPath"`       // readiness path, "/v1/models"
	EndpointScope    string            `json:"endpointScope"`      // external or internal
	Replicas         int               `json:"replicas"`
	TensorParallel   int               `json:"tensorParallel"`
	Args             []string          `json:"args,omitempty"` // vllm arguments in effect, --max-model-len last
	Env              map[string]string `json:"env,omitempty"`
	SchedulerImage   string            `json:"schedulerImage,omitempty"`
	ProxyImage       string            `json:"proxyImage,omitempty"`
	SchedulerProfile string            `json:"schedulerProfile,omitempty"`
	RepoURL          string            `json:"repoURL,omitempty"`
	RepoRef          string            `json:"repoRef,omitempty"`
	Gateway          string            `json:"gateway,omitempty"`
	PlatformVersion  string            `json:"platformVersion,omitempty"`
	PlatformChannel  string            `json:"platformChannel,omitempty"`
	ModelStorage     *ModelStorage     `json:"modelStorage,omitempty"`
	// Runtime and Options keep the pod-level settings of the format that only a cluster deployment reads
	// (host_paths, tolerations, resources, EPP configuration), in the words of the format.
	Runtime json.RawMessage `json:"runtime,omitempty"`
	Options json.RawMessage `json:"options,omitempty"`
}

// Type says in a word what is measured: an existing endpoint, an engine other than vLLM, or how vLLM is deployed, as in
// "llm-d-inference-scheduling".
func (d *Deployment) Type() string {
	switch {
	case d.Endpoint != nil:
		return "endpoint"
	case d.Engine.Kind != "vllm":
		return d.Engine.Kind
	}
	return d.Platform + "-" + d.Mode
}

// Model is what is served.
type Model struct {
	Name     string `json:"name"`
	Revision string `json:"revision,omitempty"`
}

// ModelStorage says where the model files lie on a cluster.
type ModelStorage struct {
	PVCName      string `json:"pvcName"`
	CacheDir     string `json:"cacheDir"`
	MountPath    string `json:"mountPath"`
	ModelSubpath string `json:"modelSubpath,omitempty"`
}

// ModelFolder is the name of a model as that of a folder.
func ModelFolder(model string) string { return strings.ReplaceAll(model, "/", "-") }

// ModelPath is where the files of the model lie in the container of its server, or the name of the model where they lie
// nowhere.
func (d *Deployment) ModelPath() string {
	s := d.ModelStorage
	if s == nil {
		return d.Model.Name
	}
	folder := s.ModelSubpath
	if folder == "" {
		folder = ModelFolder(d.Model.Name)
	}
	return path.Join(s.MountPath, s.CacheDir, folder)
}

// Endpoint is an existing server.
type Endpoint struct {
	BaseURL        string `json:"baseURL"` // without a trailing slash
	MetricsRelease string `json:"metricsRelease,omitempty"`
}

// Engine is the server program.
type Engine struct {
	Kind        string   `json:"kind"` // vllm, sglang, triton, tgi, sim, command
	Image       string   `json:"image,omitempty"`
	Command     []string `json:"command,omitempty"`
	Args        []string `json:"args,omitempty"`
	Port        int      `json:"port"` // of the container; on this host 0 = a free one, and $(port) in args is replaced
	HealthPath  string   `json:"healthPath"`
	MetricsPath string   `json:"metricsPath"`
	MetricsPort int      `json:"metricsPort,omitempty"`
	Sim         *Sim     `json:"sim,omitempty"`
}

// Sim configures the simulated engine. Without PrefillTokensPerS and DecodeTokensPerS its timing is exact:
// the first token of a request leaves TTFT after its arrival, the others ITL apart. With both set it models a batch.
type Sim struct {
	TTFT              Duration `json:"ttft,omitempty"`
	TTFTStdev         Duration `json:"ttft_stdev,omitempty"`
	ITL               Duration `json:"itl,omitempty"`
	ITLStdev          Duration `json:"itl_stdev,omitempty"`
	MaxNumSeqs        int      `json:"max_num_seqs,omitempty"`
	MaxModelLen       int      `json:"max_model_len,omitempty"`
	Seed              int64    `json:"seed,omitempty"`
	FailureRate       float64  `json:"failure_rate,omitempty"`
	PrefillTokensPerS float64  `json:"prefill_tokens_per_s,omitempty"`
	DecodeTokensPerS  float64  `json:"decode_tokens_per_s,omitempty"`
	KVTokens          int      `json:"kv_tokens,omitempty"`
	PrefixCache       bool     `json:"prefix_cache,omitempty"`
	Startup           Duration `json:"startup,omitempty"`   // delay before the port is open
	NotReady          Duration `json:"not_ready,omitempty"` // then 503 on /health for this long
	Faults            []Fault  `json:"faults,omitempty"`
}

// Fault is one misbehaviour of the simulated engine.
type Fault struct {
	Kind     string   `json:"kind"`
	Share    float64  `json:"share,omitempty"`    // of requests, 0 means all
	After    Duration `json:"after,omitempty"`    // since the engine was ready
	Duration Duration `json:"duration,omitempty"` // 0 = until the end
}
